"""Writing that loses nothing: a directory appears whole or not at all, and what was there stays until then.

A directory is written as ``.tmp-<uuid>`` beside its place: files, fsync, manifest, fsync, rename, fsync of
the parent. Whoever writes holds a lock on the temporary directory, so that what a dead process left behind
can be told from what a living one is writing.
"""

import ctypes
import errno
import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from glassformer.checkpoint.manifest import MANIFEST, FileRecord, Manifest, digest
from glassformer.checkpoint.reading import human_size
from glassformer.errors import CheckpointError

_TEMPORARY = ".tmp-"
_STALE_SECONDS = 60.0
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_RENAME_EXCHANGE = 2
_AT_FDCWD = -100
_CANNOT_EXCHANGE = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}
INTACT = "what was there before is intact"

Buffer = bytes | bytearray | memoryview


def write_directory(
    target: Path,
    write: Callable[[Path], None],
    *,
    replace: bool = False,
    expected_size: int = 0,
    assurance: str = INTACT,
) -> Manifest:
    """Have ``write`` fill a directory, and put it at ``target`` with a manifest once all of it is on disk.

    An error leaves everything as it was. With ``replace`` an existing directory gives way in one step.
    """
    if not replace and os.path.lexists(target):
        raise CheckpointError(f"{target}: this exists already; it is not overwritten")
    with telling(target.parent, expected_size, assurance):
        make_directory(target.parent)
        require_space(target.parent, expected_size, factor=1, assurance=assurance)
        temporary = _temporary_beside(target)
        try:
            temporary.mkdir()
            with _opened(temporary, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
                _hold(descriptor)
                write(temporary)
                manifest = _seal(temporary, descriptor)
                _move(temporary, target)
                _sync_directory(target.parent)
        finally:  # after the move this is the directory that was replaced, or nothing
            remove(temporary)
    return manifest


def write_file(path: Path, chunks: Iterable[Buffer]) -> None:
    """Write a new file, without asking for it to be on disk: its directory will."""
    with _opened(path, _NEW_FILE) as descriptor:
        for chunk in chunks:
            _write_all(descriptor, chunk)


def write_file_atomic(path: Path, data: Buffer) -> None:
    """Put a small file in place: readers see the old one or the new one, whole."""
    with telling(path.parent, len(data), INTACT):
        make_directory(path.parent)
        temporary = _temporary_beside(path)
        try:
            with _opened(temporary, _NEW_FILE) as descriptor:
                _hold(descriptor)
                _write_all(descriptor, data)
                os.fsync(descriptor)
                temporary.replace(path)
                _sync_directory(path.parent)
        finally:
            remove(temporary)


def link_or_copy(source: Path, target: Path) -> None:
    """A second name for the same bytes, which costs nothing; a copy where the file system has no links."""
    try:
        target.hardlink_to(source)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EROFS}:
            raise
        shutil.copyfile(source, target)


def make_directory(path: Path) -> None:
    """A directory and its parents, where they are missing; a new name is on disk before it is used."""
    if path.is_dir():
        return
    make_directory(path.parent)
    with suppress(FileExistsError):
        path.mkdir()
        _sync_directory(path.parent)


def remove(path: Path) -> None:
    """Delete a file or directory as far as that is possible."""
    with suppress(OSError):
        path.unlink()
        return
    shutil.rmtree(path, ignore_errors=True)


def discard(path: Path) -> None:
    """Delete a directory such that a crash on the way leaves no half of it under its name."""
    with telling(path.parent, 0, INTACT):
        temporary = _temporary_beside(path)
        path.rename(temporary)
        remove(temporary)


def remove_stale(folder: Path, older_than: float = _STALE_SECONDS) -> list[str]:
    """Delete temporary files and directories whose writer is dead; gives their names."""
    removed = []
    for path in sorted(folder.glob(f"{_TEMPORARY}*")):
        if _is_abandoned(path, older_than):
            remove(path)
            removed.append(path.name)
    return removed


def require_space(folder: Path, expected_size: int, *, factor: float = 2, assurance: str = INTACT) -> None:
    """Refuse to begin what does not fit; twice the size leaves room for the next before one is deleted."""
    free = shutil.disk_usage(folder).free
    if free < factor * expected_size:
        raise _disk_full(folder, int(factor * expected_size), free, assurance)


@contextmanager
def telling(where: Path, size: int, assurance: str) -> Iterator[None]:
    """Turn what the system says about a failed write into one line for the user."""
    try:
        yield
    except OSError as error:
        match error.errno:
            case errno.ENOSPC | errno.EDQUOT:
                raise _disk_full(where, size, _free(where), assurance) from None
            case errno.EROFS:
                what = "this file system is read-only"
            case errno.EACCES | errno.EPERM:
                what = "no permission to write here"
            case errno.ENOTDIR:
                what = "a file stands where a directory is needed"
            case _:
                what = f"cannot write ({error.strerror or type(error).__name__})"
        raise CheckpointError(f"{where}: {what}; {assurance}") from None


def _disk_full(where: Path, size: int, free: int, assurance: str) -> CheckpointError:
    needs = f"needs about {human_size(size)}, " if size else ""
    return CheckpointError(f"{where}: disk is full ({needs}{human_size(free)} free); {assurance}")


def _free(folder: Path) -> int:
    with suppress(OSError):
        return shutil.disk_usage(folder).free
    return 0


def _temporary_beside(path: Path) -> Path:
    return path.with_name(_TEMPORARY + uuid.uuid4().hex)


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _hold(descriptor: int) -> None:
    """Mark a temporary thing as being written; without locks nobody deletes it, which is safe too."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _write_all(descriptor: int, data: Buffer) -> None:
    rest = memoryview(data).cast("B") if len(data) else memoryview(b"")
    while len(rest):  # a single call may write less than it was given
        rest = rest[os.write(descriptor, rest) :]


def _seal(directory: Path, descriptor: int) -> Manifest:
    """Bring every file of a directory to disk, and then the manifest that vouches for them."""
    records = {path.name: _sync_file(path) for path in sorted(directory.iterdir())}
    manifest = Manifest(records)
    write_file(directory / MANIFEST, [manifest.to_bytes()])
    _sync_file(directory / MANIFEST)
    _sync_descriptor(descriptor)
    return manifest


def _sync_file(path: Path) -> FileRecord:
    with _opened(path, os.O_RDONLY) as descriptor:
        os.fsync(descriptor)
        return digest(descriptor)


def _sync_directory(path: Path) -> None:
    with _opened(path, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        _sync_descriptor(descriptor)


def _sync_descriptor(directory: int) -> None:
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # file systems that order renames themselves
            raise


def _move(temporary: Path, target: Path) -> None:
    if not os.path.lexists(target):
        temporary.rename(target)
        return
    if exchange(temporary, target):
        return
    # Without an exchange there is an instant between two renames; both directories are complete all through
    # it, and the earlier one keeps a name that nothing here deletes.
    earlier = target.with_name(f".old-{target.name}-{uuid.uuid4().hex}")
    target.rename(earlier)
    try:
        temporary.rename(target)
    except BaseException:
        earlier.rename(target)
        raise
    remove(earlier)


def exchange(one: Path, other: Path) -> bool:
    """Let two paths change places in one step; False where the system cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(other))


def _is_abandoned(path: Path, older_than: float) -> bool:
    """Whether nobody holds the lock on it. The age covers the moment between making and locking it."""
    try:
        with _opened(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return time.time() - os.fstat(descriptor).st_mtime > older_than
    except OSError:
        return False
