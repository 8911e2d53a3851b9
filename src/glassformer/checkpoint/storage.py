"""How a model's numbers are stored: float32, float16, or int8 with one scale per row.

Only matrices are made smaller; norms and biases are few and stay float32. A row is what gives one output
channel of a linear map, or the vector of one token.

An int8 row is ``number ≈ integer × scale``. Scales have 16 significant bits, so that every product with an
integer up to 127 is an exact float32: restoring rounds nothing, and storing what was restored gives the same
bytes.
"""

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from glassformer.checkpoint.tensor_file import RawTensor, TensorType
from glassformer.errors import CheckpointError

Storage = Literal["float32", "float16", "int8"]
STORAGES: tuple[Storage, ...] = get_args(Storage)

_SCALE = ".scale"
_SCALE_BITS = 16
_LARGEST = 127
_LARGEST_SCALE = 2.0**120  # 127 times it is still a float32
_SMALLEST_SCALE = 2.0**-100  # far from where float32 loses digits; rows below it are nothing but zeros


def store(name: str, values: NDArray[np.float32], storage: Storage) -> dict[str, RawTensor]:
    """One parameter as the tensors that hold it in a file."""
    if storage == "float32" or values.ndim < 2:
        return {name: RawTensor("F32", values)}
    if storage == "float16":
        with np.errstate(over="ignore"):
            halves = values.astype(np.float16)
        if not np.isfinite(halves).all():
            raise _too_large(name, storage)
        return {name: RawTensor("F16", halves)}
    scales = row_scales(values)
    if scales.max(initial=0) > _LARGEST_SCALE:
        raise _too_large(name, storage)
    integers = np.rint(values / _beside(scales, values.ndim)).astype(np.int8)
    return {name: RawTensor("I8", integers), name + _SCALE: RawTensor("F32", scales)}


def restore(name: str, tensors: Mapping[str, RawTensor]) -> NDArray[np.float32]:
    """The float32 numbers of a parameter."""
    values = tensors[name].float32()
    if tensors[name].dtype != "I8":
        return values
    with np.errstate(over="ignore", invalid="ignore"):  # a file may say anything; what is not finite is found
        values *= _beside(tensors[name + _SCALE].float32(), values.ndim)  # in place: they are a copy already
    return values


def stored_types(parameters: Mapping[str, tuple[int, ...]], storage: Storage) -> dict[str, TensorType]:
    """The tensors that a file must have for parameters of these shapes."""
    code = {"float32": "F32", "float16": "F16", "int8": "I8"}[storage]
    types = {}
    for name, shape in parameters.items():
        matrix = len(shape) >= 2
        types[name] = TensorType(code if matrix else "F32", shape)
        if matrix and storage == "int8":
            types[name + _SCALE] = TensorType("F32", shape[:1])
    return types


def row_scales(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """For each row, the least scale of 16 bits at which its largest number is at most 127 steps."""
    largest = np.abs(values).reshape(len(values), -1).max(axis=1, initial=0).astype(np.float64)
    mantissa, exponent = np.frexp(largest / _LARGEST)
    rounded = np.ldexp(np.ceil(np.ldexp(mantissa, _SCALE_BITS)), exponent - _SCALE_BITS)
    scales: NDArray[np.float32] = np.maximum(rounded, _SMALLEST_SCALE).astype(np.float32)
    return scales


def _too_large(name: str, storage: Storage) -> CheckpointError:
    return CheckpointError(f"{name}: a number is too large for {storage}; store the model as float32")


def _beside(scales: NDArray[np.float32], n_dimensions: int) -> NDArray[np.float32]:
    """Scales shaped to stand beside the rows they belong to."""
    return scales.reshape(-1, *[1] * (n_dimensions - 1))
