"""The model card: what a model is, what it learned from, how well it does, in words and figures."""

from collections.abc import Mapping, Sequence

from glassformer import __version__
from glassformer.config import ModelConfig, RunConfig
from glassformer.nn import Transformer, parameter_count

NAMES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "loss": "loss (nats per token)",
    "ppl": "perplexity",
    "accuracy": "accuracy",
}


def model_card(
    name: str,
    config: RunConfig,
    model: Transformer,
    scores: Mapping[str, float],
    *,
    n_examples: int | None = None,
    averaged: Sequence[int] = (),
) -> str:
    """A README.md for a model directory."""
    languages = " → ".join(_languages(config))
    title = f"# {name}" + (f" ({languages})" if languages else "")
    files = ", ".join(f"`{path.rsplit('/', 1)[-1]}`" for path in config.data.train.paths)
    rows = [f"| {NAMES.get(key, key)} | {value:.2f} |" for key, value in scores.items()]
    figures = ["| validation | |", "|---|---|", *rows] if rows else ["Not validated."]
    parts = [
        title,
        "",
        f"{describe(config.model)}, {parameter_count(model):,} parameters.",
        f"Trained by Glassformer {__version__}.",
        "",
        f"- Data: {'' if n_examples is None else f'{n_examples:,} examples from '}{files}",
        f"- Training: {_length(config)} of about {config.train.batch_tokens:,} tokens, "
        f"{config.train.optimizer}, {config.train.schedule} schedule, seed {config.train.seed}",
        *([f"- Weights: the mean of steps {', '.join(map(str, averaged))}"] if averaged else []),
        "- Limits: it knows what its data knows; look at samples before you rely on it",
        "- Licence: to be stated by whoever trained it",
        "",
        *figures,
        "",
    ]
    return "\n".join(parts)


def _languages(config: RunConfig) -> Sequence[str]:
    """Source and target, all targets of a multilingual model together; as many of the two as are known."""
    langs, targets = config.data.langs, config.tokenizer.languages
    return (langs[0], ", ".join(targets)) if langs and len(targets) > 1 else langs


def _length(config: RunConfig) -> str:
    epochs, steps = config.train.epochs, config.train.steps
    return f"up to {steps:,} updates" if epochs is None else f"up to {epochs:,} epochs, updates"


def describe(config: ModelConfig) -> str:
    """An architecture in one line: ``encoder-decoder, 4+4 layers, d_model 256, 8 heads, d_ff 1024``."""
    layers = {
        "encoder-decoder": f"{config.n_encoder_layers}+{config.n_decoder_layers}",
        "decoder-only": str(config.n_decoder_layers),
        "encoder-only": str(config.n_encoder_layers),
    }[config.family]
    return (
        f"{config.family}, {layers} layers, d_model {config.d_model}, {config.n_heads} heads, "
        f"d_ff {config.d_ff}, {config.norm}-norm, {config.positions} positions"
    )
