"""Marian, Pegasus, BART and mBART: encoder-decoders whose tensors are called alike."""

from collections.abc import Callable, Mapping
from typing import Literal

import torch
from torch import Tensor

from glassformer.config import ModelConfig
from glassformer.errors import CheckpointError
from glassformer.interop.recipe import Plan, Recipe, layer_norm, linear, permuted, rows_from, same
from glassformer.interop.settings import LAYERS, LENGTH, VOCABULARY, WIDTH, Settings
from glassformer.nn.positions import sinusoids

Activation = Literal["relu", "gelu", "gelu-tanh", "silu"]

ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "gelu_fast": "gelu-tanh",
    "silu": "silu",
    "swish": "silu",
}
"""Our names of their activations."""

_OFFSET = 2  # rows of their learned positions that no position uses
_ATTENTION = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}


def marian(settings: Settings, names: Mapping[str, object]) -> Plan:
    """MarianMT (OPUS-MT): the paper's post-norm Transformer.

    Its sines and cosines stand in two halves, ours take turns: the features are reordered once.
    """
    own_vocabulary = not settings.flag("share_encoder_decoder_embeddings", True)
    config = _config(settings, positions="sinusoidal", norm="post", embedding_norm=False)
    if own_vocabulary:
        decoder_ids = settings.size("decoder_vocab_size", VOCABULARY, config.vocab_size)
        tied = settings.flag("tie_word_embeddings", True)
        config = config.model_copy(
            update={
                "source_vocab_size": config.vocab_size,
                "vocab_size": decoder_ids,
                "tying": "two-way" if tied else "none",
            }
        )
    recipes = _body(config)
    d_model = config.d_model
    if own_vocabulary:
        source = same("model.encoder.embed_tokens.weight", config.n_source_ids, d_model)
        target = same("model.decoder.embed_tokens.weight", config.vocab_size, d_model)
        recipes |= {"source_embedding.weight": source, "target_embedding.weight": target}
        if config.tying == "none":
            recipes["output.weight"] = same("lm_head.weight", config.vocab_size, d_model)

    equal = {} if own_vocabulary else _ties("model.shared.weight")
    if own_vocabulary and config.tying == "two-way":
        equal = {"lm_head.weight": "model.decoder.embed_tokens.weight"}
    if config.tying == "none" and not own_vocabulary:
        config, recipes, equal = _untied(config, recipes, names)
    return Plan(
        config,
        permuted(recipes, turns_order(d_model)),
        equal,
        _tables(config),
    )


def pegasus(settings: Settings, names: Mapping[str, object]) -> Plan:
    """Pegasus: the pre-norm sister of Marian."""
    config = _config(settings, positions="sinusoidal", norm="pre", embedding_norm=False)
    recipes, equal = _body(config), _ties("model.shared.weight")
    for side in ("encoder", "decoder"):
        recipes |= layer_norm(f"{side}.norm", f"model.{side}.layer_norm", config.d_model)
    if config.tying == "none":
        config, recipes, equal = _untied(config, recipes, names)
    return Plan(config, permuted(recipes, turns_order(config.d_model)), equal, _tables(config))


def bart(settings: Settings, names: Mapping[str, object]) -> Plan:
    """BART: post-norm, learned positions, a norm over the embeddings."""
    settings.must("normalize_before", False, "BART normalises after each sub-layer; mBART before")
    config = _config(settings, positions="learned", norm="post", embedding_norm=True)
    return _with_learned_positions(config, names)


def mbart(settings: Settings, names: Mapping[str, object]) -> Plan:
    """The pre-norm sister of BART."""
    config = _config(settings, positions="learned", norm="pre", embedding_norm=True)
    return _with_learned_positions(config, names)


def halves_order(d_model: int) -> Tensor:
    """Our feature at each place of a model whose sines come first and then its cosines."""
    return torch.cat([torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)])


def turns_order(d_model: int) -> Tensor:
    """Their feature at each of our places."""
    return halves_order(d_model).argsort()


def _config(
    settings: Settings,
    *,
    positions: Literal["sinusoidal", "learned"],
    norm: Literal["pre", "post"],
    embedding_norm: bool,
) -> ModelConfig:
    def both(name: str, most: int) -> int:
        encoder, decoder = (settings.size(f"{side}_{name}", most) for side in ("encoder", "decoder"))
        if encoder != decoder:
            raise CheckpointError(
                f"{settings.where}: encoder_{name} = {encoder}, but decoder_{name} = {decoder}; "
                "only models whose sides are equally wide can be imported"
            )
        return encoder

    d_model, n_heads = settings.size("d_model", WIDTH), both("attention_heads", 1024)
    if d_model % n_heads:
        raise CheckpointError(
            f"{settings.where}: encoder_attention_heads = {n_heads} does not divide d_model = {d_model}"
        )
    if positions == "sinusoidal" and d_model % 2:
        raise CheckpointError(f"{settings.where}: d_model = {d_model} is odd, but sines and cosines pair up")
    activation = settings.word("activation_function", tuple(ACTIVATIONS), "gelu")
    return ModelConfig(
        vocab_size=settings.size("vocab_size", VOCABULARY),
        max_length=settings.size("max_position_embeddings", LENGTH, 1024),
        d_model=d_model,
        d_ff=both("ffn_dim", 8 * WIDTH),
        n_heads=n_heads,
        n_encoder_layers=settings.size("encoder_layers", LAYERS),
        n_decoder_layers=settings.size("decoder_layers", LAYERS),
        positions=positions,
        norm=norm,
        embedding_norm=embedding_norm,
        activation=ACTIVATIONS[activation],
        output_bias=True,
        tying="three-way" if settings.flag("tie_word_embeddings", True) else "none",
        scale_embedding=settings.flag("scale_embedding", False),
        dropout=settings.share("dropout", 0.1),
        attention_dropout=settings.share("attention_dropout"),
        activation_dropout=settings.share("activation_dropout"),
    )


def _with_learned_positions(config: ModelConfig, names: Mapping[str, object]) -> Plan:
    d_model, rows = config.d_model, config.max_length + _OFFSET
    recipes, equal = _body(config), _ties("model.shared.weight")
    for ours, theirs in (("source", "encoder"), ("target", "decoder")):
        place = f"model.{theirs}"
        table = rows_from(f"{place}.embed_positions.weight", _OFFSET, rows, d_model)
        recipes[f"{ours}_front.positions.weight"] = table
        recipes |= layer_norm(f"{ours}_front.norm", f"{place}.layernorm_embedding", d_model)
        if config.norm == "pre":
            recipes |= layer_norm(f"{theirs}.norm", f"{place}.layer_norm", d_model)
    if config.tying == "none":
        config, recipes, equal = _untied(config, recipes, names)
    return Plan(config, recipes, equal)


def _tables(config: ModelConfig) -> dict[str, Callable[[], Tensor]]:
    """Positions that follow from a formula, and that some files have nevertheless."""

    def table() -> Tensor:
        return sinusoids(torch.arange(config.max_length), config.d_model)[:, halves_order(config.d_model)]

    return {f"model.{side}.embed_positions.weight": table for side in ("encoder", "decoder")}


def _untied(
    config: ModelConfig, recipes: dict[str, Recipe], names: Mapping[str, object]
) -> tuple[ModelConfig, dict[str, Recipe], dict[str, str]]:
    """One embedding for both sides and an output of its own: the embedding is then in our model twice."""
    both = same("model.shared.weight", config.vocab_size, config.d_model)
    if "lm_head.weight" not in names:  # said to be untied, stored as tied
        tied = config.model_copy(update={"tying": "three-way"})
        return tied, recipes, _ties("model.shared.weight")
    output = same("lm_head.weight", config.vocab_size, config.d_model)
    more = {"source_embedding.weight": both, "target_embedding.weight": both, "output.weight": output}
    equal = _ties("model.shared.weight")
    del equal["lm_head.weight"]
    return config, recipes | more, equal


def _ties(shared: str) -> dict[str, str]:
    twins = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")
    return dict.fromkeys(twins, shared)


def _body(config: ModelConfig) -> dict[str, Recipe]:
    """The blocks, the shared embedding and the bias of the output."""
    recipes = {
        "target_embedding.weight": same("model.shared.weight", config.vocab_size, config.d_model),
        "output.bias": Recipe(
            {"final_logits_bias": (1, config.vocab_size)}, lambda found: found.reshape(config.vocab_size)
        ),
    }
    for i in range(config.n_encoder_layers):
        recipes |= _block(f"encoder.blocks.{i}", f"model.encoder.layers.{i}", config)
    for i in range(config.n_decoder_layers):
        ours, theirs = f"decoder.blocks.{i}", f"model.decoder.layers.{i}"
        recipes |= _block(ours, theirs, config)
        recipes |= _attention(f"{ours}.cross_attention", f"{theirs}.encoder_attn", config)
        recipes |= layer_norm(
            f"{ours}.cross_attention_residual.norm", f"{theirs}.encoder_attn_layer_norm", config.d_model
        )
    return recipes


def _block(ours: str, theirs: str, config: ModelConfig) -> dict[str, Recipe]:
    d_model, d_ff = config.d_model, config.d_ff
    return {
        **_attention(f"{ours}.attention", f"{theirs}.self_attn", config),
        **layer_norm(f"{ours}.attention_residual.norm", f"{theirs}.self_attn_layer_norm", d_model),
        **linear(f"{ours}.feed_forward.expand", f"{theirs}.fc1", d_ff, d_model),
        **linear(f"{ours}.feed_forward.contract", f"{theirs}.fc2", d_model, d_ff),
        **layer_norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.final_layer_norm", d_model),
    }


def _attention(ours: str, theirs: str, config: ModelConfig) -> dict[str, Recipe]:
    recipes: dict[str, Recipe] = {}
    for own, other in _ATTENTION.items():
        recipes |= linear(f"{ours}.{own}", f"{theirs}.{other}", config.d_model, config.d_model)
    return recipes
