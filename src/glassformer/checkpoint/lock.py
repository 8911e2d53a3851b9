"""One trainer per run directory."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from glassformer.checkpoint.files import make_directory, telling
from glassformer.errors import CheckpointError

_LOCK_FILE = ".lock"


class RunLock:
    """Held while a process trains in a directory; the system frees it however that process ends."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        with telling(self.directory, 0, "nothing was changed"):
            make_directory(self.directory)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self.directory / _LOCK_FILE, flags, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise CheckpointError(
                f"{self.directory}: another process (pid {holder or 'unknown'}) is training here; "
                "wait for it, or choose another --name"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor
        _held.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _held.discard(self)
        self._close()

    def _close(self) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None


_held: set[RunLock] = set()


def _let_go_in_child() -> None:
    """A forked data worker must not keep the lock when its parent has been killed."""
    for lock in _held:
        lock._close()
    _held.clear()


os.register_at_fork(after_in_child=_let_go_in_child)
