"""What the native library does for training on a CPU, found and called.

PyTorch serves wherever the library cannot: not built, no AVX-512, another device or type. Each function that
is called from here has a twin in plain PyTorch, and a test that compares them.
"""

import ctypes
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

_SUFFIX = "dylib" if sys.platform == "darwin" else "so"
LIBRARY = Path(__file__).parents[1] / "engine" / f"libglassformer.{_SUFFIX}"

_SIZE, _INT, _POINTER = ctypes.c_int64, ctypes.c_int32, ctypes.c_void_p
_FACTOR = (_POINTER, _SIZE, _INT)
_TEAM = (_INT, _POINTER)


class Heads(ctypes.Structure):
    """``gf_heads``."""

    _fields_ = [
        ("data", _POINTER),
        ("batch_stride", _SIZE),
        ("head_stride", _SIZE),
        ("position_stride", _SIZE),
    ]


class Attention(ctypes.Structure):
    """``gf_attention``."""

    _fields_ = [
        ("batch", _SIZE),
        ("heads", _SIZE),
        ("queries", _SIZE),
        ("keys", _SIZE),
        ("d_k", _SIZE),
        ("d_v", _SIZE),
        ("seen", _POINTER),
        ("seen_stride", _SIZE),
        ("causal", _INT),
        ("threads", _INT),
        ("parallel", _POINTER),
    ]


_HEADS = ctypes.POINTER(Heads)
_ATTENTION = ctypes.POINTER(Attention)
FUNCTIONS: Mapping[str, Sequence[Any]] = {
    "gf_training_available": (),
    "gf_product": (*3 * (_SIZE,), *2 * _FACTOR, _POINTER, _SIZE, _POINTER, _INT, *_TEAM),
    "gf_attend": (_ATTENTION, *3 * (_HEADS,), _POINTER, _HEADS),
    "gf_attend_back": (_ATTENTION, *3 * (_HEADS,), _POINTER, *4 * (_HEADS,)),
    "gf_smoothed_loss": (_POINTER, _SIZE, _SIZE, _POINTER, ctypes.c_float, _POINTER, _POINTER, *_TEAM),
}
"""The functions of ``native/include/glassformer.h`` that are called here, and their arguments."""

_NO_MEMORY = 3


class Team(NamedTuple):
    """PyTorch's own threads, and how to put them to work."""

    threads: int
    parallel: int | None


class Native(NamedTuple):
    """The library, if there is one for this processor."""

    library: ctypes.CDLL
    parallel: int | None
    """OpenMP's function that PyTorch's threads come from; without it there is one thread."""

    def team(self) -> Team:
        """As many threads as PyTorch uses."""
        return Team(torch.get_num_threads(), self.parallel)

    def call(self, name: str, *arguments: object) -> None:
        """Call a function that gives a status."""
        status = getattr(self.library, name)(*arguments)
        if status == _NO_MEMORY:
            raise MemoryError(f"{name}: there is not enough memory")
        if status:
            raise ValueError(f"{name}: the native library refuses these arguments (status {status})")


@cache
def _load(path: Path) -> Native | None:
    try:
        library = ctypes.CDLL(str(path))
        for name, arguments in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = ctypes.c_int32, arguments
        if not library.gf_training_available():
            return None
    except (OSError, AttributeError):  # not built, or of another version
        return None
    parallel = getattr(ctypes.CDLL(None), "GOMP_parallel", None)
    return Native(library, None if parallel is None else ctypes.cast(parallel, _POINTER).value)


def native_library() -> Native | None:
    """The library, unless PyTorch has several threads that it could not use."""
    native = _load(LIBRARY)
    if native is None or (native.parallel is None and torch.get_num_threads() > 1):
        return None
    return native


def native_for(*tensors: Tensor) -> Native | None:
    """The library, if these are float32 numbers in this process, to be computed with as they are."""
    plain = all(
        type(one) in (Tensor, nn.Parameter) and one.dtype == torch.float32 and one.device.type == "cpu"
        for one in tensors
    )
    if not plain or torch.is_autocast_enabled("cpu") or torch.compiler.is_compiling():
        return None
    return native_library()


def native_for_learning(*tensors: Tensor) -> Native | None:
    """The same where gradients are wanted; other passes are PyTorch's alone."""
    if not torch.is_grad_enabled() or not any(one.requires_grad for one in tensors):
        return None
    return native_for(*tensors)
