"""Small models of text in float64, of every family and switch, and a pass that shares no code with theirs."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from glassformer.config import ModelConfig
from glassformer.decoding import LanguageModel, TextEncoder, Translator
from glassformer.nn import DecoderOnly, EncoderDecoder, EncoderOnly, Transformer, build_model
from glassformer.nn.positions import relative_buckets
from glassformer.probe import Subject
from tests.unit.decoding.texts import SMALL, tokenizer

TEXT = "The cat sat on the mat."
BLANK = "The [MASK] sat on the mat."
NORMS = ("post", "pre", "sandwich")


@cache
def subject(family: str, *, double: bool = True, **settings: object) -> Subject:
    """Something that takes text, with random weights that hide nothing."""
    torch.manual_seed(7)
    table = {**SMALL, "relative_buckets": 8, "relative_max_distance": 12, "family": family, **settings}
    model = build_model(ModelConfig.model_validate({"vocab_size": tokenizer().size, **table}))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model = model.double() if double else model
    match model:
        case EncoderDecoder():
            return Translator(model, tokenizer())
        case DecoderOnly():
            return LanguageModel(model, tokenizer())
        case EncoderOnly():
            return TextEncoder(model, tokenizer())


def options(family: str, n_tokens: int = 7) -> dict[str, Any]:
    """What makes a decoded output short."""
    return {} if family == "encoder-only" else {"max_length": n_tokens}


def text_for(family: str) -> str:
    return BLANK if family == "encoder-only" else TEXT


class Plain(NamedTuple):
    """What the plain pass computes."""

    weights: dict[tuple[str, int], Tensor]
    contexts: dict[tuple[str, int], Tensor]
    outputs: dict[str, Tensor]
    """What leaves each stack."""


def plain_pass(model: Transformer, source: tuple[int, ...], target: tuple[int, ...]) -> Plain:
    """The paper's formulas over the state dict, one sentence, no module of ours."""
    found = Plain({}, {}, {})
    numbers = dict(model.state_dict())
    both = isinstance(model, EncoderDecoder)
    if source:
        table = numbers["source_embedding.weight" if both else "embedding.weight"]
        x = _front(model, numbers, table, "source_front" if both else "front", source)
        _stack(model, numbers, x, "enc", found)
    if target:
        table = numbers["target_embedding.weight" if both else "embedding.weight"]
        x = _front(model, numbers, table, "target_front" if both else "front", target)
        _stack(model, numbers, x, "dec", found)
    return found


def _front(
    model: Transformer, numbers: dict[str, Tensor], table: Tensor, name: str, ids: tuple[int, ...]
) -> Tensor:
    config = model.config
    x = table[list(ids)] * math.sqrt(config.d_model)
    if config.positions == "sinusoidal":
        for at in range(len(ids)):
            for i in range(config.d_model // 2):
                angle = at / 10_000 ** (2 * i / config.d_model)
                # the model's table is float32 until a float64 pass asks for more
                x[at, 2 * i] += math.sin(angle)
                x[at, 2 * i + 1] += math.cos(angle)
    if config.positions == "learned":
        x = x + numbers[f"{name}.positions.weight"][: len(ids)]
    return x


def _stack(model: Transformer, numbers: dict[str, Tensor], x: Tensor, kind: str, found: Plain) -> None:
    config, path = model.config, "encoder" if kind == "enc" else "decoder"
    n_layers = config.n_encoder_layers if kind == "enc" else config.n_decoder_layers
    for layer in range(n_layers):
        block = f"{path}.blocks.{layer}"

        def attend(y: Tensor, layer: int = layer, block: str = block) -> Tensor:
            bias = _bias(model, numbers, f"{path}.sight", len(y), causal=kind == "dec")
            context, weights = _attention(model, numbers, f"{block}.attention", y, y, bias, kind == "dec")
            found.weights[kind, layer], found.contexts[kind, layer] = weights, context
            return _linear(numbers, f"{block}.attention.output", context.transpose(0, 1).flatten(1))

        def look(y: Tensor, layer: int = layer, block: str = block) -> Tensor:
            memory = found.outputs["enc"]
            name = f"{block}.cross_attention"
            context, weights = _attention(model, numbers, name, y, memory, None, causal=False, cross=True)
            found.weights["cross", layer], found.contexts["cross", layer] = weights, context
            return _linear(numbers, f"{name}.output", context.transpose(0, 1).flatten(1))

        def think(y: Tensor, block: str = block) -> Tensor:
            inner = _linear(numbers, f"{block}.feed_forward.expand", y).clamp(min=0)
            return _linear(numbers, f"{block}.feed_forward.contract", inner)

        x = _residual(model, numbers, f"{block}.attention_residual", x, attend)
        if kind == "dec" and isinstance(model, EncoderDecoder):
            x = _residual(model, numbers, f"{block}.cross_attention_residual", x, look)
        x = _residual(model, numbers, f"{block}.feed_forward_residual", x, think)
    if config.norm != "post":
        x = _norm(model, numbers, f"{path}.norm", x)
    found.outputs[kind] = x


def _attention(
    model: Transformer,
    numbers: dict[str, Tensor],
    name: str,
    x: Tensor,
    memory: Tensor,
    bias: Tensor | None,
    causal: bool,
    cross: bool = False,
) -> tuple[Tensor, Tensor]:
    config = model.config
    q = _linear(numbers, f"{name}.query", x).view(len(x), config.n_heads, -1)
    k = _linear(numbers, f"{name}.key", memory).view(len(memory), config.n_key_heads, -1)
    v = _linear(numbers, f"{name}.value", memory).view(len(memory), config.n_key_heads, -1)
    if config.positions == "rotary" and not cross:
        q, k = _rotated(q, config.rotary_base), _rotated(k, config.rotary_base)
    group = config.n_heads // config.n_key_heads
    contexts, weights = [], []
    for head in range(config.n_heads):
        scores = q[:, head] @ k[:, head // group].T / math.sqrt(config.d_key)
        if bias is not None:
            scores = scores + bias[head]
        if causal:
            later = torch.ones(len(x), len(memory), dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, float("-inf"))
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        weights.append(powers / powers.sum(-1, keepdim=True))
        contexts.append(weights[-1] @ v[:, head // group])
    return torch.stack(contexts), torch.stack(weights)


def _rotated(x: Tensor, base: float) -> Tensor:
    turned = x.clone()
    half = x.size(-1) // 2
    for at in range(len(x)):
        for i in range(half):
            angle = at / base ** (2 * i / x.size(-1))
            a, b = x[at, :, i], x[at, :, i + half]
            turned[at, :, i] = a * math.cos(angle) - b * math.sin(angle)
            turned[at, :, i + half] = b * math.cos(angle) + a * math.sin(angle)
    return turned


def _bias(
    model: Transformer, numbers: dict[str, Tensor], name: str, length: int, *, causal: bool
) -> Tensor | None:
    config = model.config
    offsets = torch.arange(length)[None] - torch.arange(length)[:, None]
    if config.positions == "alibi":
        slopes = [2.0 ** (-8 * (head + 1) / config.n_heads) for head in range(config.n_heads)]
        return torch.stack([-slope * offsets.abs().double() for slope in slopes])
    if config.positions == "relative":
        buckets = relative_buckets(
            offsets, config.relative_buckets, config.relative_max_distance, causal=causal
        )
        return numbers[f"{name}.bias.weight"][buckets].permute(2, 0, 1)
    return None


def _residual(
    model: Transformer, numbers: dict[str, Tensor], name: str, x: Tensor, f: Callable[[Tensor], Tensor]
) -> Tensor:
    match model.config.norm:
        case "post":
            return _norm(model, numbers, f"{name}.norm", x + f(x))
        case "pre":
            return x + f(_norm(model, numbers, f"{name}.norm", x))
        case "sandwich":
            inner = f(_norm(model, numbers, f"{name}.norm", x))
            return x + _norm(model, numbers, f"{name}.norm_after", inner)


def _norm(model: Transformer, numbers: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    if model.config.norm_kind == "layer":
        x = x - x.mean(-1, keepdim=True)
    scale = (x.square().mean(-1, keepdim=True) + model.config.norm_epsilon).sqrt()
    return x / scale * numbers[f"{name}.weight"] + numbers.get(f"{name}.bias", torch.zeros(1))


def _linear(numbers: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    return x @ numbers[f"{name}.weight"].T + numbers.get(f"{name}.bias", torch.zeros(1))
