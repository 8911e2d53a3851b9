"""model.bin of CTranslate2: named arrays in one binary file, versions 2 to 6 read, version 6 written.

Little-endian. A version, the name and the revision of a specification, then variables: name, shape, type and
bytes each; then aliases, names for variables that have one already. Strings are a length of two bytes, which
counts a final NUL.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.checkpoint.files import Buffer
from glassformer.checkpoint.reading import read_bounded
from glassformer.errors import CheckpointError

Array = NDArray[Any]

VERSION = 6
_TYPES = (
    "<f4",
    "|i1",
    "<i2",
    "<i4",
    "<f2",
)  # in the order of the format's type numbers; bfloat16 is not read
_LIMIT = 8_000_000_000
_VARIABLES, _DIMENSIONS = 100_000, 4


@dataclass(frozen=True)
class Variables:
    """What a model.bin holds."""

    specification: str
    revision: int
    arrays: dict[str, Array]
    aliases: dict[str, str]

    def __getitem__(self, name: str) -> Array:
        """A variable by its name or by an alias."""
        return self.arrays[self.aliases.get(name, name)]

    def __contains__(self, name: object) -> bool:
        return name in self.arrays or name in self.aliases


def read_variables(path: Path) -> Variables:
    """The variables of a file; every size in it is checked against what is left of the file."""
    reader = _Reader(read_bounded(path, _LIMIT), path)
    version = reader.number("I")
    if not 2 <= version <= VERSION:
        raise CheckpointError(f"{path}: version {version} of the format is not one of 2 to {VERSION}")
    specification, revision = reader.string(), reader.number("I")
    arrays: dict[str, Array] = {}
    for _ in range(reader.count(_VARIABLES)):
        name = reader.string()
        if name in arrays:
            raise CheckpointError(f"{path}: variable {name!r} stands there twice")
        arrays[name] = reader.array(name, typed=version >= 4)
    aliases = {}
    for _ in range(reader.count(_VARIABLES) if version >= 3 else 0):
        alias, name = reader.string(), reader.string()
        if name not in arrays:
            raise CheckpointError(f"{path}: the alias {alias!r} is of {name!r}, which is not there")
        aliases[alias] = name
    if not reader.done:
        raise CheckpointError(f"{path}: there is something behind the last variable; the file is damaged")
    return Variables(specification, revision, arrays, aliases)


def binary_chunks(
    specification: str, revision: int, arrays: Mapping[str, Array], aliases: Mapping[str, str]
) -> Iterator[Buffer]:
    """The content of a file."""
    yield struct.pack("<I", VERSION) + _string(specification) + struct.pack("<II", revision, len(arrays))
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        kind = _TYPES.index(array.dtype.newbyteorder("<").str if array.itemsize > 1 else array.dtype.str)
        shape = struct.pack(f"<B{array.ndim}I", array.ndim, *array.shape)
        yield _string(name) + shape + struct.pack("<BI", kind, array.nbytes)
        yield array.tobytes()
    yield struct.pack("<I", len(aliases))
    for alias in sorted(aliases):
        yield _string(alias) + _string(aliases[alias])


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<H", len(encoded) + 1) + encoded + b"\0"


class _Reader:
    """Bytes from front to back, never past their end."""

    def __init__(self, data: bytes, path: Path) -> None:
        self._data, self._path, self._at = data, path, 0

    @property
    def done(self) -> bool:
        return self._at == len(self._data)

    def take(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise CheckpointError(f"{self._path}: the file ends too early; it is damaged or incomplete")
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self, code: str) -> int:
        (value,) = struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))
        return int(value)

    def count(self, most: int) -> int:
        value = self.number("I")
        if value > most:
            raise CheckpointError(f"{self._path}: {value} entries; {most} are read at most")
        return value

    def string(self) -> str:
        encoded = self.take(self.number("H")).removesuffix(b"\0")
        try:
            return encoded.decode()
        except UnicodeDecodeError:
            raise CheckpointError(f"{self._path}: a name is not UTF-8; the file is damaged") from None

    def array(self, name: str, *, typed: bool) -> Array:
        rank = self.number("B")
        if rank > _DIMENSIONS:
            raise CheckpointError(f"{self._path}: variable {name!r} has {rank} dimensions")
        shape = tuple(self.number("I") for _ in range(rank))
        if typed:
            kind, n_bytes = self.number("B"), self.number("I")
            layout = _TYPES[kind] if kind < len(_TYPES) else ""
        else:  # older files: the width of a number, then how many there are
            width = self.number("B")
            n_bytes = width * self.number("I")
            layout = {4: "<f4", 2: "<i2", 1: "|i1"}.get(width, "")
        if not layout or n_bytes != np.dtype(layout).itemsize * int(np.prod(shape, dtype=np.int64)):
            raise CheckpointError(f"{self._path}: variable {name!r} is not what its shape says")
        return np.frombuffer(self.take(n_bytes), layout).reshape(shape)
