"""The file a command fills as it reads lines: there when it is whole; a try that was cut off is gone on with.

Beside the output stand, until it is whole, its lines so far (``.NAME.partial``) and what they are
(``.NAME.partial.json``): the command, its models, and how much of the input they answer.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import typer

from glassformer import __version__
from glassformer.cli.report import say
from glassformer.errors import DataError


class OutputFile:
    """Results on their way into a file, after a head for so many lines (as long for few as for many)."""

    def __init__(
        self, out: Path, job: dict[str, Any] | None, head: Callable[[int], bytes] = lambda _: b""
    ) -> None:
        self.out = out
        self.job = job
        """What makes the lines; None where the input cannot be read a second time."""
        self.done = 0
        """Lines of the input that are answered."""
        self.partial = out.with_name(f".{out.name}.partial")
        self._about = self.partial.with_name(f"{self.partial.name}.json")
        self._read = hashlib.sha256()
        self._head = head

    def __enter__(self) -> Self:
        try:
            self._file = os.fdopen(os.open(self.partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666), "r+b")
        except OSError as error:
            raise self._unwritable(error) from None
        if not self._ours_alone():
            self._file.close()
            raise DataError(f"{self.out}: another command is writing this file; wait for it")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if error is None:
            return
        if self.done and self.job is not None:
            say(f"{self.done:,} lines are done and kept; the same command goes on after them")
        elif self.done:
            say(f"the first {self.done:,} lines are in {self.partial}")
        elif not self._about.exists():  # else an earlier try has lines there
            self.partial.unlink(missing_ok=True)

    def take_up(self, lines: Callable[[], Iterator[str]]) -> Iterator[str]:
        """The lines that are still to be answered: all, or what an earlier try of the same job left."""
        kept, unread = self._kept(), lines()
        read, n_read = hashlib.sha256(), 0
        for line in islice(unread, kept.get("lines", 0)):
            read.update(_hashed(line))
            n_read += 1
        if kept and (kept["lines"], kept["digest"]) == (n_read, read.hexdigest()):
            self.done, self._read = n_read, read
            self._file.truncate(kept["bytes"])
            self._write_head()
            say(f"going on after {self.done:,} lines that are done")
        else:
            self.begin()
            unread = lines() if n_read else unread
        return unread

    def begin(self) -> None:
        """Forget what an earlier try left."""
        self._about.unlink(missing_ok=True)  # first: it must not vouch for what follows
        self._file.truncate(0)
        self._write_head()

    def add(self, answered: Sequence[str], results: bytes) -> None:
        """What some lines of the input give, on disk when this returns."""
        try:
            self._file.write(results)
            for line in answered:
                self._read.update(_hashed(line))
            self.done += len(answered)
            self._write_head()
            self._file.flush()
            if self.job is not None:
                os.fsync(self._file.fileno())
                self._note()
        except OSError as error:
            raise self._unwritable(error) from None

    def finish(self) -> None:
        """The file is whole: it gets its name."""
        try:
            self._file.flush()
            self.partial.replace(self.out)
        except OSError as error:
            raise self._unwritable(error) from None
        self._about.unlink(missing_ok=True)

    def _write_head(self) -> None:
        self._file.seek(0)
        self._file.write(self._head(self.done))
        self._file.seek(0, os.SEEK_END)

    def _ours_alone(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever held it may have finished since it was opened: then it is the output by now.
            return os.path.samestat(os.fstat(self._file.fileno()), self.partial.stat())
        except (BlockingIOError, FileNotFoundError):
            return False

    def _note(self) -> None:
        about = {"job": self.job, "lines": self.done, "digest": self._read.hexdigest()}
        # Always the same name: what a kill leaves of it is written over.
        fresh = self._about.with_name(f"{self._about.name}.new")
        fresh.write_text(json.dumps(about | {"bytes": self._file.tell()}), encoding="utf-8")
        fresh.replace(self._about)

    def _kept(self) -> dict[str, Any]:
        """What an earlier try noted, if it was this job and its lines are all there."""
        try:
            about: dict[str, Any] = json.loads(self._about.read_text(encoding="utf-8"))
            n_bytes = os.fstat(self._file.fileno()).st_size
            if self.job is not None and about["job"] == self.job and n_bytes >= about["bytes"] >= 0:
                return {"lines": int(about["lines"]), "digest": about["digest"], "bytes": int(about["bytes"])}
        except (OSError, ValueError, KeyError, TypeError):
            pass  # there was no earlier try, or nothing that can be trusted is left of it
        return {}

    def _unwritable(self, error: OSError) -> DataError:
        return DataError(f"{self.out}: cannot be written ({error.strerror})")


def _hashed(line: str) -> bytes:
    return f"{line}\n".encode()


def this_command(context: typer.Context) -> dict[str, Any]:
    """What decides the lines that come out: the command with its options, and the files of its models."""
    named = context.params["model"] or []
    models = [_files(model) for model in (named if isinstance(named, list) else [named])]
    job = {"version": __version__, "verb": context.info_name, "options": context.params, "models": models}
    found: dict[str, Any] = json.loads(json.dumps(job, default=str))  # as it will be read again
    return found


def _files(model: Path) -> list[list[Any]]:
    from glassformer.checkpoint import resolve_model_directory
    from glassformer.decoding.foreign import is_foreign

    place = model if is_foreign(model) else resolve_model_directory(model)
    found = ((path.name, path.stat()) for path in sorted(place.iterdir()) if path.is_file())
    return [[name, about.st_size, about.st_mtime_ns] for name, about in found]
