"""Attention over short texts while training.

PyTorch's kernel is made for long ones; of fifteen words most of its time goes into getting ready. The native
library does all heads of a batch in one call and keeps the weights for the way back, which are few.
"""

import ctypes
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from glassformer.nn.native import Attention, Heads, native_for_learning, native_library
from glassformer.nn.shapes import Keys, Mask, Queries, Values

MOST_KEYS = 128
"""With more, the weights that are kept would take more memory than all other activations."""
_LANES = 16


def short_attention(q: Queries, k: Keys, v: Values, mask: Mask | None, *, causal: bool) -> Tensor | None:
    """softmax(QKᵀ/√d_k + mask) V, or None where PyTorch must do it."""
    batch, keys = len(q), k.size(2)
    per_key = ((batch, 1, 1, keys), (1, 1, 1, keys))
    fits = (  # the library believes what it is told of sizes
        keys <= MOST_KEYS
        and q.shape[:2] == k.shape[:2]
        and k.shape[:3] == v.shape[:3]
        and q.size(3) == k.size(3)
        and q.size(3) % _LANES == v.size(3) % _LANES == 0
        and (mask is None or (mask.dtype == torch.bool and mask.shape in per_key))
        and (not causal or q.size(2) == keys)
    )
    if not fits or not q.numel() or not k.numel() or native_for_learning(q, k, v) is None:
        return None
    heads: Tensor = _ShortAttention.apply(q, k, v, mask, causal)  # type: ignore[no-untyped-call]
    return heads


class _ShortAttention(torch.autograd.Function):
    """The library's forward pass, and its backward pass with the weights of the first."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        q, k, v = (_whole_vectors(x) for x in (q, k, v))
        seen = None if mask is None else mask[:, 0, 0].contiguous()  # (B|1, P)
        padded = -(-k.size(2) // _LANES) * _LANES
        weights, out = q.new_empty(*q.shape[:3], padded), _by_position(q, v.size(3))
        call = _Call(q, k, v, seen, causal=causal)
        call("gf_attend", [q, k, v], weights, [out])
        ctx.save_for_backward(q, k, v, weights, seen)
        ctx.causal = causal
        return out

    @staticmethod
    @once_differentiable  # a second derivative would be silently wrong
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights, seen = ctx.saved_tensors
        gradients = [_by_position(x, x.size(3)) for x in (q, k, v)]
        call = _Call(q, k, v, seen, causal=ctx.causal)
        call("gf_attend_back", [q, k, v], weights, [_whole_vectors(slope), *gradients])
        return (*gradients, None, None)


class _Call:
    """The shape of an attention, as the library wants to be told it."""

    def __init__(self, q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None, *, causal: bool) -> None:
        native = native_library()
        if native is None:
            raise RuntimeError("the native library has gone between two calls")
        self.native = native
        self.shape = Attention(
            *q.shape[:3],
            *(k.size(2), q.size(3), v.size(3)),
            None if seen is None else seen.data_ptr(),
            0 if seen is None or len(seen) == 1 else seen.stride(0),
            causal,
            *native.team(),
        )

    def __call__(self, name: str, given: list[Tensor], weights: Tensor, rest: list[Tensor]) -> None:
        before, after = ([_heads(x) for x in part] for part in (given, rest))
        self.native.call(name, ctypes.byref(self.shape), *before, weights.data_ptr(), *after)


def _heads(x: Tensor) -> Any:
    return ctypes.byref(Heads(x.data_ptr(), *x.stride()[:3]))


def _whole_vectors(x: Tensor) -> Tensor:
    """The same with the features of a position in one piece."""
    return x if x.stride(3) == 1 else x.contiguous()


def _by_position(like: Tensor, width: int) -> Tensor:
    """Room for (B, H, L, width), the heads of a position side by side, as what follows wants them."""
    batch, heads, length, _ = like.shape
    return like.new_empty(batch, length, heads, width).transpose(1, 2)
