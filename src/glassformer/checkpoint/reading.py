"""Files that may come from anybody: opened once, bounded, never waited for, never outside their directory."""

import errno
import json
import math
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glassformer.errors import CheckpointError

JSON_LIMIT = 16_000_000
"""Bytes of JSON that are read at most; what we write ourselves is far below."""
JSON_DEPTH = 16
"""How deep objects and lists may stand in each other."""
_NUMBER_DIGITS = 64
_UNITS = ("bytes", "kB", "MB", "GB", "TB")

# Strings are matched first, so that brackets inside them do not count. A string without end matches up to
# the end of the text: the scan stays linear whatever the text is.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


@contextmanager
def open_regular(path: Path) -> Iterator[int]:
    """A descriptor of the file itself: not of a link to elsewhere, nor of a pipe that would never answer."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise CheckpointError(f"{path}: this is not a regular file")
            yield descriptor
        finally:
            os.close(descriptor)
    except OSError as error:
        raise CheckpointError(f"{path}: {_reason(error)}") from None


def read_bounded(path: Path, limit: int = JSON_LIMIT) -> bytes:
    """All bytes of a file that may have so many at most."""
    with open_regular(path) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > limit:
            raise CheckpointError(f"{path}: {human_size(size)}; it may have {human_size(limit)} at most")
        chunks = []
        while chunk := os.read(
            descriptor, size + 1
        ):  # one more than expected, so that the end is seen at once
            chunks.append(chunk)
        return b"".join(chunks)


def read_json(path: Path, limit: int = JSON_LIMIT) -> dict[str, object]:
    """The object in a JSON file, read strictly."""
    return json_object(read_bounded(path, limit), str(path))


def json_object(data: bytes, where: str) -> dict[str, object]:
    """A JSON object without anything that two readers could understand differently.

    Python's reader alone takes NaN, infinite numbers and keys given twice, and fails inside on deep nesting.
    """
    try:
        text = data.decode("utf-8")
        _check_depth(text)
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_bounded_int,
        )
    except ValueError as error:
        raise CheckpointError(f"{where}: not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{where}: not valid JSON: an object is expected")
    return value


def json_bytes(value: object) -> bytes:
    """JSON in one way only: the same value always gives the same bytes."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=2)
    return text.encode("utf-8") + b"\n"


def human_size(size: int) -> str:
    """A number of bytes as people say it: ``12 MB``."""
    value, thousands = float(size), 0
    while value >= 999.5 and thousands < len(_UNITS) - 1:
        value, thousands = value / 1000, thousands + 1
    digits = 1 if thousands and value < 9.95 else 0
    return f"{value:.{digits}f} {_UNITS[thousands]}"


def _reason(error: OSError) -> str:
    match error.errno:
        case errno.ENOENT:
            return "there is no such file"
        case errno.ELOOP:
            return "this is a symbolic link; put the file itself there"
        case _:
            return error.strerror or type(error).__name__


def _check_depth(text: str) -> None:
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        match found[0]:
            case "[" | "{":
                depth += 1
            case "]" | "}":
                depth -= 1
            case _:
                continue
        if depth > JSON_DEPTH:
            raise ValueError(f"nested deeper than {JSON_DEPTH}")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table: dict[str, object] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"key {key!r} appears twice")
        table[key] = value
    return table


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a number of JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"number {digits[:20]} is too large")
    return value


def _bounded_int(digits: str) -> int:
    if len(digits) > _NUMBER_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits is too large")
    return int(digits)
