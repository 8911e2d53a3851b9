"""Matrix products of training, by the faster of PyTorch's two libraries.

PyTorch multiplies float32 matrices on a CPU by MKL, which has no AVX-512 kernels for processors other than
Intel's. oneDNN has, and is in PyTorch too; there a training step takes its products from oneDNN. Without
gradients, in other types and on other machines everything is PyTorch's own ``linear``, which is also the twin
that the tests compare with.
"""

import functools
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from glassformer.nn.shapes import Rows


class Linear(nn.Linear):
    """``nn.Linear`` by the products of this module."""

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``x @ weight.T + bias``, whose gradients come from the same library."""
    if not (torch.is_grad_enabled() and prefers_onednn() and _plain(x, weight)):
        return F.linear(x, weight, bias)
    mapped: Tensor = _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return mapped


def product(left: Rows, right: Tensor, bias: Tensor | None = None) -> Rows:
    """``left @ right.T + bias`` for whoever computes the gradients himself."""
    if prefers_onednn() and _plain(left, right):
        return _onednn(left, right, bias)
    return F.linear(left, right, bias)


class _Linear(torch.autograd.Function):
    """A linear map all of whose products oneDNN computes, but those that MKL is faster at."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rows = x.reshape(-1, x.size(-1))
        ctx.save_for_backward(rows, weight)
        return _onednn(rows, weight, bias).view(*x.shape[:-1], -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight = ctx.saved_tensors
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        slopes = slope.reshape(-1, slope.size(-1)).contiguous()  # the slope of a sum is one number, expanded
        grad_x = _onednn(slopes, weight.T, None).view(*slope.shape[:-1], -1) if needs_x else None
        grad_weight = _weight_gradient(slopes, rows) if needs_weight else None
        return grad_x, grad_weight, slopes.sum(0) if needs_bias else None


def _weight_gradient(slopes: Rows, rows: Rows) -> Tensor:
    """``slopes.T @ rows``: by oneDNN if one side of it is longer, and that one last; squares by MKL."""
    if slopes.size(1) == rows.size(1):
        return torch.mm(slopes.T, rows)
    if slopes.size(1) < rows.size(1):
        return _onednn(slopes.T, rows.T, None)
    return _onednn(rows.T, slopes.T, None).T


@functools.cache
def prefers_onednn() -> bool:
    """Whether this processor has AVX-512 that MKL leaves unused. The same on every run: bits depend on it."""
    return (
        torch.backends.mkldnn.is_available()
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and "AuthenticAMD" in _processor()
    )


def _processor() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""


def _plain(left: Tensor, right: Tensor) -> bool:
    """Whether both are float32 on a CPU with something in them, and nothing is to be rounded to bfloat16."""
    return (
        left.dtype == right.dtype == torch.float32
        and left.device.type == right.device.type == "cpu"
        and left.numel() > 0
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()  # the compiler chooses for itself
    )


def _onednn(left: Rows, right: Tensor, bias: Tensor | None) -> Rows:
    found: Rows = torch.ops.mkldnn._linear_pointwise(left, right, bias, "none", [], "")
    return found
