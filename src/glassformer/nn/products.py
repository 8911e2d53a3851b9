"""Products of large matrices while training.

MKL, which PyTorch calls, keeps AVX-512 for Intel's processors; on others that have it our native library is
up to twice as fast. ``product`` and ``linear`` give what PyTorch's give, and hand over to them where the
library cannot help.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from glassformer.nn.native import native_for, native_for_learning

LEAST_ROWS = 128
"""With fewer, what Python adds to a call is more than the library saves."""


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x Wᵀ + b`` over the last dimension of x."""
    if x.numel() >= LEAST_ROWS * x.size(-1) and native_for_learning(x, weight) is not None:
        found: Tensor = _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
        return found
    return F.linear(x, weight, bias)


class Linear(nn.Linear):
    """``nn.Linear`` by ``linear``."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def product(
    a: Tensor, b: Tensor, *, bias: Tensor | None = None, out: Tensor | None = None, add: bool = False
) -> Tensor:
    """``a @ b`` of two matrices, plus ``bias`` in each row or, with ``add``, plus what is in ``out``."""
    given = [one for one in (a, b, bias, out) if one is not None]
    native = native_for(*given) if a.numel() and b.numel() else None
    if native is None:
        if out is not None and add:
            return out.addmm_(a, b)
        return torch.mm(a, b, out=out) if bias is None else torch.addmm(bias, a, b, out=out)
    (m, k), n = a.shape, b.size(1)
    fits = b.size(0) == k and (bias is None or bias.shape == (n,)) and (out is None or out.shape == (m, n))
    if not fits:
        raise ValueError(f"({m}, {k}) by {tuple(b.shape)} does not fit the bias or the place for the result")
    a, b = _dense(a), _dense(b)
    bias = None if bias is None else bias.contiguous()
    into = a.new_empty(m, n) if out is None else out
    if into.stride(1) != 1:
        raise ValueError("the rows of the result must lie in one piece")
    native.call(
        "gf_product",
        *(m, n, k),
        *_place(a),
        *_place(b),
        *(into.data_ptr(), into.stride(0)),
        *(None if bias is None else bias.data_ptr(), add),
        *native.team(),
    )
    return into


class _Linear(torch.autograd.Function):
    """The map and both its gradients: three products."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        y = product(x.reshape(-1, x.size(-1)), weight.T, bias=bias)
        return y.view(*x.shape[:-1], -1)

    @staticmethod
    @once_differentiable  # a second derivative would be silently wrong
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        rows = slope.reshape(-1, slope.size(-1))
        for_x = product(rows, weight).view(x.shape) if needs_x else None
        for_weight = product(rows.T, x.reshape(-1, x.size(-1))) if needs_weight else None
        return for_x, for_weight, rows.sum(0) if needs_bias else None


def _dense(x: Tensor) -> Tensor:
    """The same matrix with its rows or its columns in one piece."""
    return x if 1 in x.stride() else x.contiguous()


def _place(x: Tensor) -> tuple[int, int, bool]:
    """Where a matrix lies, how far its rows are apart, and whether it lies there transposed."""
    turned = x.stride(1) != 1
    return x.data_ptr(), x.stride(1 if turned else 0), turned
