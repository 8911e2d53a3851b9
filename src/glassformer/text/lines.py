"""Lines of a file: UTF-8, plain or gzip, one at a time.

A line ends at a line feed and nowhere else: ``str.splitlines`` also cuts at form feeds and U+2028, and two
files that pair up line by line would no longer pair up. A carriage return before the line feed and a byte
order mark at the start of the file belong to the file, not to the text.
"""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path

from glassformer.errors import DataError

MAX_LINE_BYTES = 1 << 20
"""The longest line that is read; a longer one is no sentence, and holding it could exhaust the memory."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP_MAGIC = b"\x1f\x8b"


def read_lines(path: Path) -> Iterator[str]:
    """Every line of a file, without its end; the file is read as the lines are asked for."""
    with open_bytes(path) as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 2):  # one byte for the end of the line, one to notice
            number += 1
            if number == 1:
                line = line.removeprefix(_BYTE_ORDER_MARK)
                if not line:  # the mark was all there was
                    return
            yield _text(line, path, number)


@contextmanager
def open_bytes(path: Path) -> Iterator[BufferedIOBase]:
    """A file open for reading, unpacked on the way if its first bytes say that it is gzip."""
    try:
        with path.open("rb") as raw:
            if raw.peek(2)[:2] != _GZIP_MAGIC:
                yield raw
                return
            try:
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield unpacked
            except EOFError:
                raise DataError(
                    f"{path}: the gzip data ends early, after byte {raw.tell()}; copy the file again"
                ) from None
            except (zlib.error, gzip.BadGzipFile):
                raise DataError(
                    f"{path}: the gzip data is damaged before byte {raw.tell()}; copy the file again"
                ) from None
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise DataError(f"{path}: this is a directory; name a file of text") from None
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None


def _text(line: bytes, path: Path, number: int) -> str:
    line = line.removesuffix(b"\n")
    if len(line) > MAX_LINE_BYTES:
        raise DataError(f"{path}: line {number} is longer than {MAX_LINE_BYTES} bytes; split or remove it")
    try:
        return line.removesuffix(b"\r").decode()
    except UnicodeDecodeError as error:
        place = f"(byte 0x{line[error.start]:02x} at column {error.start + 1})"
        raise DataError(f"{path}: line {number} is not UTF-8 {place}") from None


def lone_surrogate(text: str) -> int | None:
    """Where half a character stands in a text, if anywhere: Python holds it, but no file of UTF-8 can."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None
