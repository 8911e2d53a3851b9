"""Answers of the explorer in one block of bytes inside a page; see docs/explorer-api.md, section 12."""

import base64
import gzip
import json
import zlib
from typing import Any

from glassformer.explorer.answers import Answer, Json

MAGIC = b"GFT1"


class Blob:
    """Answers by their paths, counted as they are added."""

    def __init__(self, trace: str, run: str) -> None:
        self._trace, self._run = trace, run
        self._entries: dict[str, dict[str, Any]] = {}
        self._parts: list[bytes] = []
        self._length = 0
        self.packed = 0
        """About how many bytes it will take in the page."""

    def __contains__(self, path: str) -> bool:
        return path in self._entries

    def add(self, path: str, answer: Answer, room: int | None = None) -> bool:
        """Add an answer, unless it would take more than the room that is left."""
        content = answer.content()
        packed = self._packed(path, content)
        if room is not None and self.packed + packed > room:
            return False
        entry: dict[str, Any] = {"type": "json" if isinstance(answer, Json) else "binary"}
        if not isinstance(answer, Json):
            entry |= {"dtype": answer.dtype, "shape": answer.shape}
            if answer.headers:
                entry["headers"] = dict(answer.headers)
        self._entries[path] = entry | {"offset": self._length, "length": len(content)}
        padded = content + b"\0" * (-len(content) % 8)
        self._parts.append(padded)
        self._length += len(padded)
        self.packed += packed
        return True

    def to_base64(self) -> str:
        """As it stands in a page."""
        told = {"format": 1, "trace": self._trace, "run": self._run, "entries": self._entries}
        header = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
        header += b" " * (-len(header) % 8)
        content = b"".join([MAGIC, len(header).to_bytes(4, "little"), header, *self._parts])
        return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()

    @staticmethod
    def _packed(path: str, content: bytes) -> int:
        return (len(zlib.compress(content, 1)) + len(path) // 4 + 20) * 4 // 3


def unpack(text: str) -> tuple[dict[str, Any], bytes]:
    """The header and the payload of a blob."""
    content = gzip.decompress(base64.b64decode(text))
    if content[:4] != MAGIC:
        raise ValueError("this is no blob of an exported trace")
    length = int.from_bytes(content[4:8], "little")
    header: dict[str, Any] = json.loads(content[8 : 8 + length])
    return header, content[8 + length :]
