"""BERT and DistilBERT, with the head that fills blanks or with none; MiniLM and its like by their pooling."""

from collections.abc import Mapping, Sequence
from typing import Literal

from glassformer.config import ModelConfig
from glassformer.errors import CheckpointError
from glassformer.interop.bart import ACTIVATIONS, Activation
from glassformer.interop.recipe import Plan, Recipe, layer_norm, linear, same
from glassformer.interop.settings import LAYERS, LENGTH, VOCABULARY, WIDTH, Settings

Pooling = Literal["mean", "first"]

_WITHOUT_USE = ("pooler.dense.weight", "pooler.dense.bias", "position_ids")
_NEXT_SENTENCE = ("cls.seq_relationship.weight", "cls.seq_relationship.bias")


def bert(settings: Settings, names: Mapping[str, object], pooling: Pooling | None) -> Plan:
    """BERT. The vector of the first token type is added to every position: we read one text at a time."""
    settings.must("position_embedding_type", "absolute", "only absolute positions are read")
    settings.must("is_decoder", False, "only encoders are read")
    _refuse_other_heads(settings, names, ("classifier.", "qa_outputs."))
    head = _head(names, "cls.predictions.transform.dense.weight", pooling)
    config = _config(
        settings,
        head,
        pooling,
        ("hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers"),
        ACTIVATIONS[settings.word("hidden_act", tuple(ACTIVATIONS), "gelu")],
    )
    prefix = "bert." if "bert.embeddings.word_embeddings.weight" in names else ""
    d_model, d_ff, front = config.d_model, config.d_ff, f"{prefix}embeddings"
    types = settings.size("type_vocab_size", 1_000, 2)
    recipes = {
        "embedding.weight": same(f"{front}.word_embeddings.weight", config.vocab_size, d_model),
        "front.positions.weight": Recipe(
            {
                f"{front}.position_embeddings.weight": (config.max_length, d_model),
                f"{front}.token_type_embeddings.weight": (types, d_model),
            },
            lambda positions, kinds: positions + kinds[0],
        ),
        **layer_norm("front.norm", f"{front}.LayerNorm", d_model),
    }
    for i in range(config.n_encoder_layers):
        ours, theirs = f"encoder.blocks.{i}", f"{prefix}encoder.layer.{i}"
        for name in ("query", "key", "value"):
            recipes |= linear(f"{ours}.attention.{name}", f"{theirs}.attention.self.{name}", d_model, d_model)
        recipes |= linear(f"{ours}.attention.output", f"{theirs}.attention.output.dense", d_model, d_model)
        recipes |= layer_norm(
            f"{ours}.attention_residual.norm", f"{theirs}.attention.output.LayerNorm", d_model
        )
        recipes |= linear(f"{ours}.feed_forward.expand", f"{theirs}.intermediate.dense", d_ff, d_model)
        recipes |= linear(f"{ours}.feed_forward.contract", f"{theirs}.output.dense", d_model, d_ff)
        recipes |= layer_norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.output.LayerNorm", d_model)
    equal: dict[str, str] = {}
    without_use: tuple[str, ...] = (*_WITHOUT_USE, *_NEXT_SENTENCE)
    if head == "masked-lm":
        recipes |= linear("guess.dense", "cls.predictions.transform.dense", d_model, d_model)
        recipes |= layer_norm("guess.norm", "cls.predictions.transform.LayerNorm", d_model)
        recipes["output.bias"] = same("cls.predictions.bias", config.vocab_size)
        equal = {
            "cls.predictions.decoder.weight": f"{front}.word_embeddings.weight",
            "cls.predictions.decoder.bias": "cls.predictions.bias",
        }
    else:
        without_use = (*without_use, *_of(names, "cls.predictions."))
    return Plan(config, recipes, equal, without_use=without_use)


def distilbert(settings: Settings, names: Mapping[str, object], pooling: Pooling | None) -> Plan:
    """DistilBERT: BERT without token types."""
    _refuse_other_heads(settings, names, ("pre_classifier.", "classifier.", "qa_outputs."))
    head = _head(names, "vocab_transform.weight", pooling)
    config = _config(
        settings,
        head,
        pooling,
        ("dim", "hidden_dim", "n_heads", "n_layers"),
        ACTIVATIONS[settings.word("activation", tuple(ACTIVATIONS), "gelu")],
    )
    prefix = "distilbert." if "distilbert.embeddings.word_embeddings.weight" in names else ""
    d_model, d_ff, front = config.d_model, config.d_ff, f"{prefix}embeddings"
    recipes = {
        "embedding.weight": same(f"{front}.word_embeddings.weight", config.vocab_size, d_model),
        "front.positions.weight": same(f"{front}.position_embeddings.weight", config.max_length, d_model),
        **layer_norm("front.norm", f"{front}.LayerNorm", d_model),
    }
    for i in range(config.n_encoder_layers):
        ours, theirs = f"encoder.blocks.{i}", f"{prefix}transformer.layer.{i}"
        for name, other in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "out")):
            recipes |= linear(f"{ours}.attention.{name}", f"{theirs}.attention.{other}_lin", d_model, d_model)
        recipes |= layer_norm(f"{ours}.attention_residual.norm", f"{theirs}.sa_layer_norm", d_model)
        recipes |= linear(f"{ours}.feed_forward.expand", f"{theirs}.ffn.lin1", d_ff, d_model)
        recipes |= linear(f"{ours}.feed_forward.contract", f"{theirs}.ffn.lin2", d_model, d_ff)
        recipes |= layer_norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.output_layer_norm", d_model)
    equal: dict[str, str] = {}
    without_use: tuple[str, ...] = _WITHOUT_USE
    if head == "masked-lm":
        recipes |= linear("guess.dense", "vocab_transform", d_model, d_model)
        recipes |= layer_norm("guess.norm", "vocab_layer_norm", d_model)
        recipes["output.bias"] = same("vocab_projector.bias", config.vocab_size)
        equal = {"vocab_projector.weight": f"{front}.word_embeddings.weight"}
    else:
        without_use = (*without_use, *_of(names, "vocab_"))
    return Plan(config, recipes, equal, without_use=without_use)


def _head(
    names: Mapping[str, object], guesses: str, pooling: Pooling | None
) -> Literal["masked-lm", "embedding"]:
    """Sentence encoders are known by their pooling; others are for what their tensors are for."""
    return "masked-lm" if pooling is None and guesses in names else "embedding"


def _config(
    settings: Settings,
    head: Literal["masked-lm", "embedding"],
    pooling: Pooling | None,
    keys: tuple[str, str, str, str],
    activation: Activation,
) -> ModelConfig:
    width, inner, heads, layers = keys
    d_model, n_heads = settings.size(width, WIDTH), settings.size(heads, 1024)
    if d_model % n_heads:
        raise CheckpointError(f"{settings.where}: {heads} = {n_heads} does not divide {width} = {d_model}")
    return ModelConfig(
        family="encoder-only",
        vocab_size=settings.size("vocab_size", VOCABULARY),
        max_length=settings.size("max_position_embeddings", LENGTH, 512),
        d_model=d_model,
        d_ff=settings.size(inner, 8 * WIDTH),
        n_heads=n_heads,
        n_encoder_layers=settings.size(layers, LAYERS),
        positions="learned",
        embedding_norm=True,
        norm_epsilon=settings.number("layer_norm_eps", 1e-12),
        activation=activation,
        output_bias=head == "masked-lm",
        tying="two-way",
        scale_embedding=False,
        dropout=settings.share("hidden_dropout_prob", settings.share("dropout", 0.1)),
        attention_dropout=settings.share("attention_probs_dropout_prob", settings.share("attention_dropout")),
        head=head,
        pooling=pooling or "mean",
    )


def _of(names: Mapping[str, object], prefix: str) -> tuple[str, ...]:
    return tuple(name for name in names if name.startswith(prefix))


def _refuse_other_heads(settings: Settings, names: Mapping[str, object], prefixes: Sequence[str]) -> None:
    for prefix in prefixes:
        if found := _of(names, prefix):
            raise CheckpointError(
                f"{settings.where}: the head of {found[0]!r} cannot be imported; "
                "import the encoder without it and train a classifier on top"
            )
