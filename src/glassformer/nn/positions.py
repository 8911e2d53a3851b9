"""How a token knows its place (section 3.5, and what came after).

Three ways in: *added* to embeddings (sinusoidal, learned), *turning* queries and keys (rotary),
*added to scores* (ALiBi, relative buckets).
"""

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from glassformer.errors import InputError
from glassformer.nn.shapes import Bias, Hidden, Places, Positions, Queries, Rotation


def sinusoids(positions: Tensor, d_model: int) -> Tensor:
    """The paper's formula: sin(pos / 10000^(2i/d)) at feature 2i, its cosine at 2i + 1, in float64."""
    even = torch.arange(0, d_model, 2, dtype=torch.float64, device=positions.device)
    angles = positions.double()[..., None] / 10_000.0 ** (even / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


class SinusoidalPositions(nn.Module):
    """Fixed waves, for any length. The table is computed once and grows when asked for more."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        # No buffer: double() would convert it, and float64 runs would see a table rounded to float32.
        self.table = sinusoids(torch.arange(256), d_model).float()

    def forward(self, positions: Positions, like: Hidden) -> Places:
        longest = int(positions.max()) + 1 if positions.numel() else 0
        table = self.table  # read once: threads that share a model may replace it meanwhile
        fits = table.dtype == like.dtype and table.device == like.device
        if longest > len(table) or not fits:
            size = max(len(table), 1 << max(longest - 1, 0).bit_length())
            table = sinusoids(torch.arange(size, device=like.device), self.d_model).to(like.dtype)
            self.table = table
        return table[positions]

    if TYPE_CHECKING:
        __call__ = forward


class LearnedPositions(nn.Module):
    """A learned vector per position, up to ``max_length``."""

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_length, d_model))

    def forward(self, positions: Positions, like: Hidden) -> Places:
        longest = int(positions.max()) + 1 if positions.numel() else 0
        if longest > len(self.weight):
            raise InputError(
                f"a sequence of {longest} tokens is longer than the {len(self.weight)} learned positions; "
                "split it, or train with a larger max_length"
            )
        return nn.functional.embedding(positions, self.weight).to(like.dtype)

    if TYPE_CHECKING:
        __call__ = forward


def rotation(positions: Positions, d_k: int, base: float, dtype: torch.dtype) -> Rotation:
    """Unit complex numbers that turn feature pair i of position p by the angle p / base^(2i/d_k)."""
    pairs = torch.arange(0, d_k, 2, dtype=torch.float64, device=positions.device)
    angles = positions.double()[:, None, :, None] / base ** (pairs / d_k)
    turned = torch.polar(torch.ones_like(angles), angles)
    return turned if dtype == torch.float64 else turned.to(torch.complex64)


def rotate(x: Queries, by: Rotation) -> Queries:
    """Turn feature i together with feature i + d_k/2 (the pairing of Llama)."""
    first, second = x.chunk(2, dim=-1)
    cosine, sine = by.real.to(x.dtype), by.imag.to(x.dtype)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


class AlibiBias(nn.Module):
    """Scores fall linearly with distance, each head at its own slope (Press et al. 2022); nothing learned."""

    slopes: Tensor

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.register_buffer(
            "slopes", torch.tensor(alibi_slopes(n_heads), dtype=torch.float64), persistent=False
        )

    def forward(self, length: int, size: int, like: Tensor) -> Bias:
        distance = _offsets(length, size, like.device).abs()
        return (-self.slopes[:, None, None] * distance)[None].to(like.dtype)

    if TYPE_CHECKING:
        __call__ = forward


def alibi_slopes(n_heads: int) -> list[float]:
    """Halving geometric slopes; for a number of heads between powers of two, every other one of the next."""
    power = 2 ** math.floor(math.log2(n_heads))
    slopes = [2.0 ** (-8.0 * (i + 1) / power) for i in range(power)]
    between = [2.0 ** (-4.0 * (2 * i + 1) / power) for i in range(n_heads - power)]
    return slopes + between


class RelativeBias(nn.Module):
    """A learned bias per head and bucket of distance (T5); shared by all layers of a stack."""

    def __init__(self, n_heads: int, n_buckets: int, max_distance: int, *, causal: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_buckets, n_heads))
        self.max_distance = max_distance
        self.causal = causal

    def forward(self, length: int, size: int, like: Tensor) -> Bias:
        offsets = _offsets(length, size, like.device)
        buckets = relative_buckets(offsets, len(self.weight), self.max_distance, causal=self.causal)
        return self.weight[buckets].permute(2, 0, 1)[None].to(like.dtype)  # (1, H, L, P)

    if TYPE_CHECKING:
        __call__ = forward


def relative_buckets(offsets: Tensor, n_buckets: int, max_distance: int, *, causal: bool) -> Tensor:
    """The bucket of each offset (key minus query): small distances alone, larger ones by logarithm.

    Looking both ways, half of the buckets are for keys that come later.
    """
    start = torch.zeros_like(offsets)
    if causal:
        distance = (-offsets).clamp(min=0)
    else:
        n_buckets //= 2
        start = (offsets > 0).long() * n_buckets
        distance = offsets.abs()
    exact = n_buckets // 2
    # float32, as every T5 implementation has it: the boundaries of buckets must fall alike
    ratio = (distance.clamp(min=1).float() / exact).log() / math.log(max_distance / exact)
    far = exact + (ratio * (n_buckets - exact)).long()
    return start + torch.where(distance < exact, distance, far.clamp(max=n_buckets - 1))


def _offsets(length: int, size: int, device: torch.device) -> Tensor:
    """Key position minus query position, the queries being the last ``length`` of ``size`` positions."""
    keys = torch.arange(size, device=device)
    return keys[None] - keys[size - length :, None]  # (L, P)
