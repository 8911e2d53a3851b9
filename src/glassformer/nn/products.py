"""Products of large matrices while training.

MKL, which PyTorch calls, keeps AVX-512 for Intel's processors; on others that have it our native library is
up to twice as fast. Each function here gives what PyTorch's gives, and hands over to it where the library
cannot help: not built, no AVX-512, another device or type, few rows.
"""

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

LEAST_ROWS = 128
"""With fewer, what Python adds to a call is more than the library saves."""

_SUFFIX = "dylib" if sys.platform == "darwin" else "so"
_LIBRARY = Path(__file__).parents[1] / "engine" / f"libglassformer.{_SUFFIX}"
_SIZE, _INT, _POINTER = ctypes.c_int64, ctypes.c_int32, ctypes.c_void_p
_FACTOR = (_POINTER, _SIZE, _INT)
FUNCTIONS = {
    "gf_product_available": (),
    "gf_product": (*3 * (_SIZE,), *2 * _FACTOR, _POINTER, _SIZE, _POINTER, _INT, _INT, _POINTER),
}
"""The functions of ``native/include/glassformer.h`` that are called here, and their arguments."""


class _Native(NamedTuple):
    product: Any
    parallel: int | None
    """PyTorch's own way to run something in its threads; without it there is one."""


@cache
def _native() -> _Native | None:
    """The library, if it is there and this processor can run it."""
    try:
        library = ctypes.CDLL(str(_LIBRARY))
        for name, arguments in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = ctypes.c_int32, arguments
        if not library.gf_product_available():
            return None
    except (OSError, AttributeError):  # not built, or of another version
        return None
    parallel = getattr(ctypes.CDLL(None), "GOMP_parallel", None)
    return _Native(library.gf_product, None if parallel is None else ctypes.cast(parallel, _POINTER).value)


def native_products() -> bool:
    """Whether float32 products of a training on this CPU come from the native library."""
    native = _native()
    return native is not None and (native.parallel is not None or torch.get_num_threads() == 1)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x Wᵀ + b`` over the last dimension of x."""
    rows = x.numel() // max(1, x.size(-1))
    learning = torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)
    if learning and rows >= LEAST_ROWS and _plain_floats(x, weight) and native_products():
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
    native = _native() if _plain_floats(a, b) and a.numel() and b.numel() else None
    threads = torch.get_num_threads()
    if native is None or (native.parallel is None and threads > 1):
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
    status = native.product(
        *(m, n, k),
        *_place(a),
        *_place(b),
        *(into.data_ptr(), into.stride(0)),
        *(None if bias is None else bias.data_ptr(), add, threads, native.parallel),
    )
    if status:
        raise MemoryError("there is not enough memory for a matrix product")
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


def _plain_floats(*tensors: Tensor) -> bool:
    """Whether these are float32 numbers in the memory of this process, to be computed with as they are."""
    return (
        all(
            type(one) in (Tensor, nn.Parameter) and one.dtype == torch.float32 and one.device.type == "cpu"
            for one in tensors
        )
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
    )


def _dense(x: Tensor) -> Tensor:
    """X with its rows or its columns in one piece."""
    return x if 1 in x.stride() else x.contiguous()


def _place(x: Tensor) -> tuple[int, int, bool]:
    """Where a matrix lies, how far its rows are apart, and whether it lies there transposed."""
    turned = x.stride(1) != 1
    return x.data_ptr(), x.stride(0 if not turned else 1), turned
