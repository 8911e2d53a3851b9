"""Scaled dot-product attention (section 3.2), fast by default, explained on request."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn.cache import KeysValuesCache
from glassformer.nn.masks import causal_mask, combine
from glassformer.nn.positions import rotate
from glassformer.nn.products import Linear, linear
from glassformer.nn.shapes import (
    Bias,
    Heads,
    Hidden,
    Keys,
    KeysValues,
    Mask,
    Memory,
    Queries,
    Rotation,
    Values,
    Weights,
)
from glassformer.nn.short_attention import short_attention


class Sight(NamedTuple):
    """Who may look at whom in one pass, and how distance counts."""

    mask: Mask | None = None
    """Where a query may look; None: everywhere."""
    causal: bool = False
    """Besides, only at itself and before. Kept apart from the mask: the kernel then needs no n² mask."""
    bias: Bias | None = None
    """Added to the scores (ALiBi, relative buckets)."""
    rotation: Rotation | None = None
    """Turns queries and keys (rotary)."""


EVERYWHERE = Sight()

JOINED_ROWS = 512
"""From so many rows on, one product with joined weights replaces three."""

Observer = Callable[[Queries, Keys, Values, Sight, Heads], None]
"""Given q, k, v, the sight and the kernel's output of the forward pass that just ran."""


class MultiHeadAttention(nn.Module):
    """``n_heads`` attentions side by side: self-, masked self- and cross-attention alike."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_key_heads: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.n_key_heads = n_key_heads or n_heads
        self.d_k = d_k or d_model // n_heads
        self.d_v = d_v or d_model // n_heads
        self.dropout = dropout
        self.query = Linear(d_model, n_heads * self.d_k, bias)
        self.key = Linear(d_model, self.n_key_heads * self.d_k, bias)
        self.value = Linear(d_model, self.n_key_heads * self.d_v, bias)
        self.output = Linear(n_heads * self.d_v, d_model, bias)
        self.observe: Observer | None = None

    def forward(
        self,
        x: Hidden,
        sight: Sight = EVERYWHERE,
        memory: KeysValues | None = None,
        cache: KeysValuesCache | None = None,
    ) -> Hidden:
        """Each position of x looks at x itself, or at a memory that ``remember`` has projected.

        With a cache, x are the newest positions and look at all earlier ones too.
        """
        if memory is None:
            q, k, v = self._project(x)
            if sight.rotation is not None:
                q, k = rotate(q, sight.rotation), rotate(k, sight.rotation)
            if cache is not None:
                k, v = cache.append(KeysValues(k, v))
        else:
            q, (k, v) = self._split(self.query(x), self.d_k), memory
        heads = attention(q, k, v, sight, self.dropout if self.training else 0.0)
        observe = self.observe  # read once: another thread may be taking it away
        if observe is not None:  # sees what ran; never a second way to run
            observe(q, k, v, sight, heads)
        output: Hidden = self.output(heads.transpose(1, 2).flatten(2))  # (B, L, D)
        return output

    if TYPE_CHECKING:
        __call__ = forward

    def remember(self, memory: Memory) -> KeysValues:
        """Keys and values of a memory: computed once, looked at in every step."""
        weight = torch.cat([self.key.weight, self.value.weight])
        k, v = self._linear(memory, weight, self.key, self.value)
        return KeysValues(self._split(k, self.d_k), self._split(v, self.d_v))

    def _project(self, x: Hidden) -> tuple[Queries, Keys, Values]:
        """Queries, keys and values: of many rows by one matrix product, which is faster than three.

        Of few rows, as a decoding step has them, joining the weights would cost more than it saves.
        """
        if x.size(0) * x.size(1) < JOINED_ROWS:
            q, k, v = self.query(x), self.key(x), self.value(x)
        else:
            weight = torch.cat([self.query.weight, self.key.weight, self.value.weight])
            q, k, v = self._linear(x, weight, self.query, self.key, self.value)
        return self._split(q, self.d_k), self._split(k, self.d_k), self._split(v, self.d_v)

    @staticmethod
    def _linear(x: Hidden, weight: Tensor, *parts: nn.Linear) -> tuple[Tensor, ...]:
        biases: list[Tensor] = [part.bias for part in parts if part.bias is not None]
        joined = linear(x, weight, torch.cat(biases) if biases else None)
        return torch.split(joined, [part.out_features for part in parts], dim=-1)

    @staticmethod
    def _split(x: Tensor, width: int) -> Tensor:
        return x.view(*x.shape[:2], -1, width).transpose(1, 2)  # (B, H, L, K)


def attention(q: Queries, k: Keys, v: Values, sight: Sight = EVERYWHERE, dropout: float = 0.0) -> Heads:
    """softmax(QKᵀ/√d_k + mask) V by PyTorch's fused kernel, which never holds all weights at once.

    While training on short texts, by our own.
    """
    mask, causal = sight.mask, sight.causal and q.size(-2) > 1
    if sight.bias is None and not dropout:
        heads = short_attention(q, k, v, mask, causal=causal)
        if heads is not None:
            return heads
    if causal and (k.size(-2) > q.size(-2) or mask is not None or sight.bias is not None):
        # the kernel's own causal mode takes no other mask and knows no earlier keys
        mask = combine(mask, causal_mask(q.size(-2), k.size(-2) - q.size(-2), q.device))
        causal = False
    if sight.bias is not None:
        mask = sight.bias if mask is None else sight.bias.masked_fill(~mask, float("-inf"))
    grouped = q.size(1) != k.size(1)
    return F.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal=causal, enable_gqa=grouped)


def explained_attention(q: Queries, k: Keys, v: Values, sight: Sight = EVERYWHERE) -> tuple[Heads, Weights]:
    """Equation 1 as written, which also gives the weights that the fused kernel hides."""
    scores = attention_scores(q, k, sight)
    # Filled again for a query that may look nowhere: zeros as the kernel gives, not NaN.
    nowhere = scores.isneginf().all(-1, keepdim=True)
    weights = scores.masked_fill(nowhere, 0.0).softmax(-1).masked_fill(nowhere, 0.0)
    return weights @ _per_head(v, q.size(1)), weights


def attention_scores(q: Queries, k: Keys, sight: Sight = EVERYWHERE) -> Weights:
    """QKᵀ/√d_k with bias, and -inf where a query may not look."""
    scores = q @ _per_head(k, q.size(1)).transpose(-2, -1) / q.size(-1) ** 0.5  # (B, H, L, P)
    if sight.bias is not None:
        scores = scores + sight.bias
    causal = causal_mask(q.size(-2), k.size(-2) - q.size(-2), q.device) if sight.causal else None
    mask = combine(sight.mask, causal)
    return scores if mask is None else torch.masked_fill(scores, ~mask, float("-inf"))


def _per_head(x: Tensor, n_heads: int) -> Tensor:
    """Grouped keys or values, once for each query head that shares them."""
    repeated: Tensor = x.repeat_interleave(n_heads // x.size(1), dim=1)
    return repeated
