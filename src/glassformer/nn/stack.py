"""Blocks on top of each other: an encoder or a lone decoder is a Stack, one with memory a CrossStack."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar, cast

import torch
from torch import nn

from glassformer.config import ModelConfig
from glassformer.nn.attention import Sight
from glassformer.nn.block import Block, CrossBlock
from glassformer.nn.cache import Cache
from glassformer.nn.masks import without_padding
from glassformer.nn.norm import build_norm
from glassformer.nn.positions import AlibiBias, RelativeBias, rotation
from glassformer.nn.shapes import Hidden, Memory, PaddingMask, Positions

M = TypeVar("M", bound=nn.Module)


def _modules(modules: Iterable[M]) -> list[M]:
    """A ModuleList, typed by what is in it: torch knows only that they are modules."""
    return cast("list[M]", nn.ModuleList(modules))


class SelfSight(nn.Module):
    """What the self-attentions of a stack see in a pass: made once, shared by its layers."""

    def __init__(self, config: ModelConfig, *, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.rotary = config.positions == "rotary"
        self.rotary_base = config.rotary_base
        self.d_k = config.d_key
        self.bias: AlibiBias | RelativeBias | None = None
        if config.positions == "alibi":
            self.bias = AlibiBias(config.n_heads)
        elif config.positions == "relative":
            buckets, distance = config.relative_buckets, config.relative_max_distance
            self.bias = RelativeBias(config.n_heads, buckets, distance, causal=causal)

    def forward(self, x: Hidden, mask: PaddingMask | None, positions: Positions, past: int = 0) -> Sight:
        length = x.size(1)
        bias = None if self.bias is None else self.bias(length, past + length, x)
        turn = rotation(positions, self.d_k, self.rotary_base, x.dtype) if self.rotary else None
        return Sight(mask, self.causal, bias, turn)

    if TYPE_CHECKING:
        __call__ = forward


class Stack(nn.Module):
    """Blocks of self-attention and feed-forward; causal for a language model."""

    def __init__(self, config: ModelConfig, n_layers: int, *, causal: bool) -> None:
        super().__init__()
        self.sight = SelfSight(config, causal=causal)
        self.blocks: list[Block] = _modules(Block(config) for _ in range(n_layers))
        self.norm = None if config.norm == "post" else build_norm(config)
        self.layer_drop = config.layer_drop

    def forward(
        self, x: Hidden, mask: PaddingMask | None, positions: Positions, cache: Cache | None = None
    ) -> Hidden:
        past = 0 if cache is None else cache.length
        x = without_padding(x, None if mask is None else mask[..., past:])
        sight = self.sight(x, mask, positions, past)
        for i in layers_to_run(len(self.blocks), self.layer_drop if self.training else 0.0):
            x = self.blocks[i](x, sight, None if cache is None else cache.layers[i])
        return x if self.norm is None else self.norm(x)

    if TYPE_CHECKING:
        __call__ = forward


class CrossStack(nn.Module):
    """Blocks of causal self-attention, attention to a memory, and feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.sight = SelfSight(config, causal=True)
        self.blocks: list[CrossBlock] = _modules(CrossBlock(config) for _ in range(config.n_decoder_layers))
        self.norm = None if config.norm == "post" else build_norm(config)
        self.layer_drop = config.layer_drop

    def forward(
        self, x: Hidden, positions: Positions, cache: Cache, mask: PaddingMask | None = None
    ) -> Hidden:
        """The newest positions of a target, whose past and whose memory are in the cache."""
        sight = self.sight(x, mask, positions, cache.length)
        memory_sight = Sight(cache.memory_mask)
        for i in layers_to_run(len(self.blocks), self.layer_drop if self.training else 0.0):
            x = self.blocks[i](x, sight, cache.memory[i], memory_sight, cache.layers[i])
        return x if self.norm is None else self.norm(x)

    if TYPE_CHECKING:
        __call__ = forward

    def remember(self, memory: Memory, mask: PaddingMask | None = None) -> Cache:
        """A fresh cache that looks at this memory: its keys and values for every layer."""
        memory = without_padding(memory, mask)
        keys_values = [block.cross_attention.remember(memory) for block in self.blocks]
        return Cache(len(self.blocks), keys_values, mask)


def layers_to_run(n_layers: int, drop: float) -> Iterator[int]:
    """Every layer, less those that layer drop skips in this pass (Fan et al. 2020)."""
    if not drop:
        yield from range(n_layers)
        return
    keep = torch.rand(n_layers) >= drop
    yield from (i for i in range(n_layers) if keep[i])
