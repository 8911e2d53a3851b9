"""The layers of all three families: a lone stack uses Block, a decoder with an encoder CrossBlock.

Two classes, since only one of them takes a memory: leaving it out is then a type error.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from torch import nn

from glassformer.config import ModelConfig
from glassformer.nn.attention import MultiHeadAttention, Sight
from glassformer.nn.cache import KeysValuesCache
from glassformer.nn.dropout import Dropout
from glassformer.nn.feedforward import FeedForward
from glassformer.nn.norm import build_norm
from glassformer.nn.shapes import Hidden, KeysValues


class Block(nn.Module):
    """Self-attention, then feed-forward (section 3.1, the encoder's layer)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention = build_attention(config)
        self.attention_residual = Residual(config)
        self.feed_forward = build_feed_forward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Hidden, sight: Sight, cache: KeysValuesCache | None = None) -> Hidden:
        x = self.attention_residual(x, lambda y: self.attention(y, sight, cache=cache))
        return self.feed_forward_residual(x, self.feed_forward)

    if TYPE_CHECKING:
        __call__ = forward


class CrossBlock(nn.Module):
    """Self-attention, then attention to the memory, then feed-forward (the decoder's layer)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention = build_attention(config)
        self.attention_residual = Residual(config)
        self.cross_attention = build_attention(config)
        self.cross_attention_residual = Residual(config)
        self.feed_forward = build_feed_forward(config)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        x: Hidden,
        sight: Sight,
        memory: KeysValues,
        memory_sight: Sight,
        cache: KeysValuesCache | None = None,
    ) -> Hidden:
        x = self.attention_residual(x, lambda y: self.attention(y, sight, cache=cache))
        x = self.cross_attention_residual(x, lambda y: self.cross_attention(y, memory_sight, memory))
        return self.feed_forward_residual(x, self.feed_forward)

    if TYPE_CHECKING:
        __call__ = forward


class Residual(nn.Module):
    """The way around a sub-layer f, with the norm in one of three places.

    ``post``: norm(x + f(x)), as published; ``pre``: x + f(norm(x)); ``sandwich``: x + norm(f(norm(x))).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.placement = config.norm
        self.norm = build_norm(config)
        self.norm_after = build_norm(config) if config.norm == "sandwich" else None
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Hidden, sublayer: Callable[[Hidden], Hidden]) -> Hidden:
        if self.placement == "post":
            normed: Hidden = self.norm(self.dropout(sublayer(x), residual=x))
            return normed
        y = sublayer(self.norm(x))
        if self.norm_after is not None:
            y = self.norm_after(y)
        return self.dropout(y, residual=x)

    if TYPE_CHECKING:
        __call__ = forward


def build_attention(config: ModelConfig) -> MultiHeadAttention:
    """One attention of the configured widths."""
    return MultiHeadAttention(
        config.d_model,
        config.n_heads,
        n_key_heads=config.n_key_heads,
        d_k=config.d_key,
        d_v=config.d_value,
        bias=config.bias,
        dropout=config.attention_dropout,
    )


def build_feed_forward(config: ModelConfig) -> FeedForward:
    """One feed-forward network of the configured kind."""
    return FeedForward(
        config.d_model,
        config.d_ff,
        config.activation,
        gated=config.gated,
        bias=config.bias,
        dropout=config.activation_dropout,
    )
