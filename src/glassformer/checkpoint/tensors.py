"""Tensors on disk, exact to the bit: safetensors, never pickle."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from glassformer.checkpoint.manifest import FileRecord
from glassformer.checkpoint.tensor_file import (
    DTYPES,
    RawTensor,
    TensorType,
    check_types,
    open_tensors,
    write_tensors,
)

_CODES: dict[torch.dtype, str] = {getattr(torch, name): code for code, (name, _) in DTYPES.items()}


def save_tensors(
    path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors to a new file; the same tensors always give the same bytes."""
    write_tensors(path, {name: to_raw(tensor) for name, tensor in tensors.items()}, metadata or {})


def load_tensors(
    path: Path,
    *,
    expected: Mapping[str, TensorType] | None = None,
    record: FileRecord | None = None,
) -> dict[str, Tensor]:
    """The tensors of a file: exactly those expected, with exactly the content of the manifest, where given.

    Names, types and shapes are compared before memory is taken for them.
    """
    with open_tensors(path) as file:
        if expected is not None:
            check_types(path, file.types, expected)
        return {name: from_raw(raw) for name, raw in file.read(record).items()}


def types_of(tensors: Mapping[str, Tensor]) -> dict[str, TensorType]:
    """What ``load_tensors`` may expect of a file that is to replace these tensors."""
    return {name: TensorType(_CODES[tensor.dtype], tuple(tensor.shape)) for name, tensor in tensors.items()}


def not_finite(tensors: Mapping[str, Tensor]) -> list[str]:
    """Names of the tensors that have a NaN or an infinite number."""
    return [name for name, tensor in tensors.items() if not _is_finite(tensor)]


def to_raw(tensor: Tensor) -> RawTensor:
    """A tensor's numbers as numpy holds them, without a copy where they lie in a row."""
    plain = tensor.detach().cpu().contiguous()
    if plain.dtype not in _CODES:
        raise TypeError(f"tensors of {plain.dtype} cannot be stored")
    if plain.dtype == torch.bfloat16:
        return RawTensor("BF16", plain.view(torch.int16).numpy().view(np.uint16))
    return RawTensor(_CODES[plain.dtype], plain.numpy())


def from_raw(raw: RawTensor) -> Tensor:
    """A tensor on the memory of an array."""
    if raw.dtype == "BF16":
        return torch.from_numpy(raw.array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(raw.array)


def _is_finite(tensor: Tensor) -> bool:
    if not tensor.is_floating_point() or tensor.numel() == 0:
        return True
    low, high = torch.aminmax(tensor.detach())  # NaN wins both; ten times as fast as asking every number
    return bool(torch.isfinite(low) and torch.isfinite(high))
