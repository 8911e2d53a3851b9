"""The page's files, read once and served from memory, modules without comments; edits show on reload."""

import gzip
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from glassformer.explorer.answers import Missing
from glassformer.explorer.guard import HEADERS

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
}
_COMMENT = re.compile(r"/\*\*.*?\*/|^[ \t]*//[^\n]*", re.DOTALL | re.MULTILINE)
"""A block that begins with two stars, or a line that is nothing else; no string may look like one."""
_MARGIN = re.compile(r"^[ \t]+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file."""

    content: bytes
    packed: bytes
    """The same by gzip."""
    type: str
    tag: str
    changed: int
    """When the file on disk was last written."""


def page_directory() -> Path:
    """Where the page's files are."""
    return Path(str(files("glassformer.explorer") / "page"))


class PageFiles:
    """Files by their path; nothing outside the directory has one."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = page_directory() if directory is None else directory
        self._files: dict[str, PageFile] = {}
        for path in sorted(self._directory.rglob("*")):
            if path.is_file() and path.suffix in TYPES:
                self._files[path.relative_to(self._directory).as_posix()] = _read(path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def get(self, name: str) -> PageFile:
        """The file of that name, read again where it was changed."""
        wanted = name or "index.html"
        if wanted not in self._files:
            raise Missing(f"there is no file {name!r}")
        path = self._directory / wanted
        known = self._files[wanted]
        if path.is_file() and path.stat().st_mtime_ns != known.changed:
            known = self._files[wanted] = _read(path)
        return known

    def response(self, name: str, request: Request) -> Response:
        """The file, or that it has not changed."""
        found = self.get(name)
        headers = {"ETag": found.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding", **HEADERS}
        if found.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(
                found.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=found.type
            )
        return Response(found.content, headers=headers, media_type=found.type)


def without_comments(module: str) -> str:
    """A module as a browser needs it, without indentation too; every line keeps its number."""
    return _MARGIN.sub("", _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), module))


def _read(path: Path) -> PageFile:
    changed, content = path.stat().st_mtime_ns, path.read_bytes()
    if path.suffix == ".js":
        content = without_comments(content.decode()).encode()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return PageFile(content, gzip.compress(content, 9, mtime=0), TYPES[path.suffix], tag, changed)
