"""Named arrays in one file, in the safetensors format, without torch.

An 8-byte length, a JSON header (name, type, shape, place of each tensor), then the numbers. We read and write
it ourselves to open a file once, to check its header before any memory is taken, to hash what is read in the
same pass, and to write tensors one by one. Files are byte for byte those of the safetensors library.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from glassformer.checkpoint.files import Buffer, write_file
from glassformer.checkpoint.manifest import FileRecord, check_record
from glassformer.checkpoint.reading import human_size, json_object, open_regular
from glassformer.errors import CheckpointError

Array = NDArray[Any]

DTYPES: dict[str, tuple[str, str]] = {  # in the order of the library: wide types first keep all aligned
    "I64": ("int64", "<i8"),
    "F64": ("float64", "<f8"),
    "F32": ("float32", "<f4"),
    "I32": ("int32", "<i4"),
    "BF16": ("bfloat16", "<u2"),  # numpy has no bfloat16: these are its bits
    "F16": ("float16", "<f2"),
    "I16": ("int16", "<i2"),
    "I8": ("int8", "|i1"),
    "U8": ("uint8", "|u1"),
    "BOOL": ("bool", "|b1"),
}
"""Each type's code in a file, its name and how numpy holds it."""

_ORDER = list(DTYPES)
_ITEM_BYTES = {code: np.dtype(layout).itemsize for code, (_, layout) in DTYPES.items()}
_HEADER_LIMIT = 8_000_000  # more than 50,000 tensors
_LENGTH_BYTES = 8
_DIMENSIONS = 8
_NUMBERS = 2**59
_SHOWN = 3


class TensorType(NamedTuple):
    """The type and the shape of a tensor."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return math.prod(self.shape)

    @property
    def n_bytes(self) -> int:
        """How many bytes they take."""
        return self.size * _ITEM_BYTES[self.dtype]

    def __str__(self) -> str:
        return f"{DTYPES[self.dtype][0]} {self.shape}"


class RawTensor(NamedTuple):
    """Numbers as numpy holds them, and the code of their real type."""

    dtype: str
    array: Array

    @property
    def type(self) -> TensorType:
        """The type and the shape."""
        return TensorType(self.dtype, self.array.shape)

    def float32(self) -> NDArray[np.float32]:
        """The numbers as float32, whatever they are stored in."""
        if self.dtype == "BF16":  # the upper half of a float32
            return (self.array.astype(np.uint32) << 16).view(np.float32)
        return self.array.astype(np.float32, copy=False)


@dataclass(frozen=True)
class TensorFile:
    """An open file of tensors whose header has been read and found sound."""

    path: Path
    types: dict[str, TensorType]
    metadata: dict[str, str]
    _descriptor: int
    _header: bytes
    _starts: dict[str, int]

    def read(self, record: FileRecord | None = None) -> dict[str, RawTensor]:
        """All tensors, from the descriptor that is open since the header; of the content in the manifest."""
        data = bytearray(sum(found.n_bytes for found in self.types.values()))
        _fill(self._descriptor, memoryview(data), self.path)
        if record is not None:
            digest = hashlib.sha256(self._header)
            digest.update(data)
            size = len(self._header) + len(data)
            check_record(self.path, FileRecord(size, digest.hexdigest()), record)
        tensors = {}
        for name, found in self.types.items():
            layout = np.dtype(DTYPES[found.dtype][1])
            array: Array = np.ndarray(found.shape, layout, data, self._starts[name])
            tensors[name] = RawTensor(found.dtype, array if array.flags.aligned else array.copy())
        return tensors


@contextmanager
def open_tensors(path: Path) -> Iterator[TensorFile]:
    """A file of tensors, its header checked against the size of the file before any number is read."""
    with open_regular(path) as descriptor:
        size = os.fstat(descriptor).st_size
        length_bytes = _read(descriptor, min(size, _LENGTH_BYTES), path)
        length = int.from_bytes(length_bytes, "little")
        if size < _LENGTH_BYTES or length > size - _LENGTH_BYTES:
            raise CheckpointError(f"{path}: the file ends inside its header; it is damaged or incomplete")
        if length > _HEADER_LIMIT:
            raise CheckpointError(
                f"{path}: a header of {human_size(length)}; it may have {human_size(_HEADER_LIMIT)} at most"
            )
        header = _read(descriptor, length, path)
        types, starts, metadata = _parse_header(
            json_object(header, str(path)), size - _LENGTH_BYTES - length, str(path)
        )
        yield TensorFile(path, types, metadata, descriptor, length_bytes + header, starts)


def write_tensors(path: Path, tensors: Mapping[str, RawTensor], metadata: Mapping[str, str]) -> None:
    """Write a new file; the same tensors always give the same bytes."""
    names = sorted(tensors, key=lambda name: (_ORDER.index(tensors[name].dtype), name))
    header: dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    place = 0
    for name in names:
        code, shape = tensors[name].type
        end = place + tensors[name].type.n_bytes
        header[name] = {"dtype": code, "shape": list(shape), "data_offsets": [place, end]}
        place = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _LENGTH_BYTES)  # so that the numbers are aligned
    write_file(path, _chunks(text, (tensors[name] for name in names)))


def check_types(path: Path, found: Mapping[str, TensorType], expected: Mapping[str, TensorType]) -> None:
    """Refuse tensors that are not exactly the ones expected; the message names the first of each kind."""
    missing = [repr(name) for name in expected if name not in found]
    unexpected = [repr(name) for name in found if name not in expected]
    different = [
        f"{name!r} is {found[name]}, not {expected[name]}"
        for name in expected
        if name in found and found[name] != expected[name]
    ]
    if missing or unexpected or different:
        findings = [_some("missing: ", missing), _some("unexpected: ", unexpected), _some("", different)]
        raise CheckpointError(f"{path}: made for another model; {'; '.join(filter(None, findings))}")


def _some(title: str, names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{title}{', '.join(names[:_SHOWN])}{more}" if names else ""


def _chunks(header: bytes, tensors: Iterable[RawTensor]) -> Iterator[Buffer]:
    yield len(header).to_bytes(_LENGTH_BYTES, "little") + header
    for tensor in tensors:
        layout = DTYPES[tensor.dtype][1]
        yield np.ascontiguousarray(tensor.array, layout).reshape(-1).view(np.uint8).data


def _read(descriptor: int, size: int, path: Path) -> bytes:
    data = bytearray(size)
    _fill(descriptor, memoryview(data), path)
    return bytes(data)


def _fill(descriptor: int, into: memoryview, path: Path) -> None:
    while len(into):
        count = os.readv(descriptor, [into])
        if count == 0:
            raise CheckpointError(f"{path}: the file became shorter while it was read")
        into = into[count:]


def _parse_header(
    header: dict[str, object], data_size: int, where: str
) -> tuple[dict[str, TensorType], dict[str, int], dict[str, str]]:
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise CheckpointError(f"{where}: the header's metadata are not texts; the file is damaged")
    types: dict[str, TensorType] = {}
    places: dict[str, tuple[int, int]] = {}
    for name, entry in header.items():
        types[name], places[name] = _parse_entry(name, entry, where)
    end = 0
    for name in sorted(places, key=places.__getitem__):  # no gap, no overlap, nothing left over
        start, stop = places[name]
        if start != end or stop - start != types[name].n_bytes:
            raise CheckpointError(
                f"{where}: tensor {name!r} is not where its shape says; the file is damaged"
            )
        end = stop
    if end != data_size:
        raise CheckpointError(
            f"{where}: {data_size} bytes of tensors, but the header speaks of {end}; "
            "the file is damaged or incomplete"
        )
    return types, {name: start for name, (start, _) in places.items()}, metadata


def _parse_entry(name: str, entry: object, where: str) -> tuple[TensorType, tuple[int, int]]:
    if isinstance(entry, dict) and set(entry) == {"dtype", "shape", "data_offsets"}:
        code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if isinstance(code, str) and code not in DTYPES:
            raise CheckpointError(f"{where}: tensor {name!r} has the unknown type {code!r}")
        if isinstance(code, str) and _is_shape(shape) and _are_sizes(offsets) and len(offsets) == 2:
            return TensorType(code, tuple(shape)), (offsets[0], offsets[1])
    raise CheckpointError(f"{where}: the header's entry of tensor {name!r} is malformed; the file is damaged")


def _are_sizes(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _is_shape(value: object) -> TypeGuard[list[int]]:
    """Whether numpy could hold it; a 0 among huge sizes would need no bytes and still fail."""
    return (
        _are_sizes(value)
        and len(value) <= _DIMENSIONS
        and math.prod(max(size, 1) for size in value) < _NUMBERS
    )
