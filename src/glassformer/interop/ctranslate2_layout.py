"""The variables of a CTranslate2 model, and which parameters of ours stand in each."""

from collections.abc import Iterator
from typing import NamedTuple

from glassformer.config import ModelConfig


class Variable(NamedTuple):
    """A variable of theirs and the parameters of ours that stand in it, one below the other."""

    name: str
    parameters: tuple[str, ...]


def variables_of(config: ModelConfig) -> Iterator[Variable]:
    """Everything that both sides have, by the names of both."""
    for side, layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        front = "source_front" if side == "encoder" else "target_front"
        if config.embedding_norm:
            yield from _norm(config, f"{side}/layernorm_embedding", f"{front}.norm")
        if config.norm == "pre":
            yield from _norm(config, f"{side}/layer_norm", f"{side}.norm")
        for i in range(layers):
            theirs, ours = f"{side}/layer_{i}", f"{side}.blocks.{i}"
            yield from _attention(config, f"{theirs}/self_attention", f"{ours}.attention")
            if side == "decoder":
                yield from _attention(config, f"{theirs}/attention", f"{ours}.cross_attention")
            yield from _feed_forward(config, f"{theirs}/ffn", f"{ours}.feed_forward")


def _attention(config: ModelConfig, theirs: str, ours: str) -> Iterator[Variable]:
    """Queries, keys and values in one; in cross-attention the queries apart."""
    yield from _norm(config, f"{theirs}/layer_norm", f"{ours}_residual.norm")
    query, key, value = (f"{ours}.{name}" for name in ("query", "key", "value"))
    joined = [(query,), (key, value)] if ours.endswith("cross_attention") else [(query, key, value)]
    for place, names in enumerate([*joined, (f"{ours}.output",)]):
        yield from _linear(config, f"{theirs}/linear_{place}", *names)


def _feed_forward(config: ModelConfig, theirs: str, ours: str) -> Iterator[Variable]:
    yield from _norm(config, f"{theirs}/layer_norm", f"{ours}_residual.norm")
    if config.gated:  # their first map is the one that the activation acts on
        yield from _linear(config, f"{theirs}/linear_0", f"{ours}.gate")
        yield from _linear(config, f"{theirs}/linear_0_noact", f"{ours}.expand")
    else:
        yield from _linear(config, f"{theirs}/linear_0", f"{ours}.expand")
    yield from _linear(config, f"{theirs}/linear_1", f"{ours}.contract")


def _norm(config: ModelConfig, theirs: str, ours: str) -> Iterator[Variable]:
    yield Variable(f"{theirs}/gamma", (f"{ours}.weight",))
    if config.norm_kind == "layer":
        yield Variable(f"{theirs}/beta", (f"{ours}.bias",))


def _linear(config: ModelConfig, theirs: str, *ours: str) -> Iterator[Variable]:
    for kind in ("weight", "bias") if config.bias else ("weight",):
        yield Variable(f"{theirs}/{kind}", tuple(f"{name}.{kind}" for name in ours))
