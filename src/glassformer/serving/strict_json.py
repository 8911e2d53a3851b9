"""JSON as the standard has it and no other: one meaning, bounded depth and size, whole characters."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NoReturn

from glassformer.serving.limits import Limits
from glassformer.serving.problems import Problem

_MARKS = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
_HALF_CHARACTER = re.compile(r"\\u[dD][89abAB]|\\u[dD][c-fC-F]")


def read_json(data: bytes, limits: Limits) -> Any:
    """The value of a JSON text; a byte order mark before it is allowed."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _wrong(f"byte 0x{data[error.start]:02x} at position {error.start} is not UTF-8") from None
    _check_depth(text, limits.max_json_depth)
    reader = _Reader(limits.max_json_digits)
    try:
        value = json.loads(
            text,
            parse_int=reader.integer,
            parse_float=reader.float,
            parse_constant=reader.constant,
            object_pairs_hook=reader.object,
        )
    except json.JSONDecodeError as error:
        raise _wrong(f"{error.msg} at character {error.pos}") from None
    if _HALF_CHARACTER.search(text):
        _check_characters(value)
    return value


def write_json(value: Any) -> bytes:
    """The bytes of a JSON text; numbers that JSON does not have are an error of ours."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _wrong(what: str) -> Problem:
    return Problem(
        "invalid_json", f"body: {what}", hint='send one JSON object, for example {"text": "Hello."}'
    )


def _check_depth(text: str, deepest: int) -> None:
    depth = 0
    for mark in _MARKS.finditer(text):
        character = text[mark.start()]
        depth += (character in "[{") - (character in "]}")
        if depth > deepest:
            raise _wrong(f"lists and objects are more than {deepest} deep")


def _check_characters(value: Any) -> None:
    try:
        for text in _texts(value):
            text.encode()
    except UnicodeEncodeError:
        raise _wrong("a text has half a character (a lone surrogate); send whole ones") from None


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from _texts(each)


class _Reader:
    """What is made of numbers and objects."""

    def __init__(self, digits: int) -> None:
        self._digits = digits

    def integer(self, text: str) -> int:
        return int(self._short(text))

    def float(self, text: str) -> float:
        return float(self._short(text))  # 1e999 is inf, which no field takes

    def constant(self, text: str) -> NoReturn:
        raise _wrong(f"{text} is no JSON")

    def object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
            raise _wrong(f"the key {twice[:40]!r} occurs twice in one object")
        return found

    def _short(self, text: str) -> str:
        if len(text) > self._digits:
            raise _wrong(f"a number has {len(text)} characters; {self._digits} are read")
        return text
