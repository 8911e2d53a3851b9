"""The manifest: what makes a directory whole. It names each file with its size and SHA-256.

It stands inside the directory, so that a copy stays valid, and it is written last, so that a directory
without it was never finished.
"""

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from glassformer.checkpoint.reading import JSON_LIMIT, json_bytes, json_object, open_regular, read_bounded
from glassformer.errors import CheckpointError

MANIFEST = "manifest.json"
FORMAT = 1
"""Version of what we write; every version up to this one can be read."""

_MANIFEST_LIMIT = 2**20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_CHUNK = 2**20


class FileRecord(NamedTuple):
    """What a file must be."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The files of a directory, by name."""

    files: dict[str, FileRecord]
    format: int = FORMAT

    def __post_init__(self) -> None:
        for name in self.files:
            if not _NAME.fullmatch(name):  # such a name could lead out of the directory
                raise ValueError(f"{name!r} cannot be the name of a file in a manifest")

    def to_bytes(self) -> bytes:
        """The manifest as it stands on disk."""
        files = {name: record._asdict() for name, record in self.files.items()}
        return json_bytes({"format": self.format, "files": files})

    def record(self, directory: Path, name: str) -> FileRecord:
        """What a file must be that the directory has to have."""
        if name not in self.files:
            raise CheckpointError(
                f"{directory / MANIFEST}: {name} is not in it; this directory is not complete"
            )
        return self.files[name]

    def read(self, directory: Path, name: str, limit: int = JSON_LIMIT) -> bytes:
        """The bytes of a file, compared in the same reading with what was written."""
        data = read_bounded(directory / name, limit)
        found = FileRecord(len(data), hashlib.sha256(data).hexdigest())
        check_record(directory / name, found, self.record(directory, name))
        return data


def read_manifest(directory: Path) -> Manifest:
    """The manifest of a directory; the files it names are not looked at yet."""
    path = directory / MANIFEST
    data = read_bounded(path, _MANIFEST_LIMIT)
    table = json_object(data, str(path))
    version = table.get("format")
    if type(version) is int and version > FORMAT:
        raise CheckpointError(
            f"{path}: format {version} is newer than the {FORMAT} that this glassformer reads; upgrade it"
        )
    manifest = _parse(table)
    # Byte for byte what we would write: a change anywhere in the manifest is then a change that is seen.
    if manifest is None or manifest.to_bytes() != data:
        raise CheckpointError(
            f"{path}: this is not a manifest that glassformer wrote; it was changed or damaged"
        )
    return manifest


def verify(directory: Path, names: Iterable[str] | None = None) -> Manifest:
    """The manifest of a directory whose files, or those named, are exactly what was written."""
    manifest = read_manifest(directory)
    for name in manifest.files if names is None else names:
        record, path = manifest.record(directory, name), directory / name
        with open_regular(path) as descriptor:
            present = os.fstat(descriptor).st_size
            if present != record.size:  # however large it is, it need not be read
                check_record(path, FileRecord(present, ""), record)
            check_record(path, digest(descriptor), record)
    return manifest


def digest(descriptor: int) -> FileRecord:
    """What an open file is, from its beginning to its end."""
    content, size = hashlib.sha256(), 0
    while chunk := os.pread(descriptor, _CHUNK, size):
        content.update(chunk)
        size += len(chunk)
    return FileRecord(size, content.hexdigest())


def check_record(path: Path, found: FileRecord, expected: FileRecord) -> None:
    """Refuse a file that is not the one in the manifest."""
    if found.size != expected.size:
        raise CheckpointError(
            f"{path}: {found.size} bytes, but {expected.size} were written; the file is damaged or incomplete"
        )
    if found.sha256 != expected.sha256:
        raise CheckpointError(f"{path}: the content is not what was written (SHA-256 differs); it is damaged")


def _parse(table: dict[str, object]) -> Manifest | None:
    """The manifest in a JSON object, or None where it is not one."""
    version, files = table.get("format"), table.get("files")
    if type(version) is not int or version < 1 or not isinstance(files, dict):
        return None
    records = {}
    for name, entry in files.items():
        if not (_NAME.fullmatch(name) and isinstance(entry, dict)):
            return None
        size, sha256 = entry.get("size"), entry.get("sha256")
        if type(size) is not int or size < 0 or not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
            return None
        records[name] = FileRecord(size, sha256)
    return Manifest(records, version)
