"""A file system that fails at the k-th call, by an error or by the death of the process."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CALLS = ("open", "write", "fsync", "rename", "replace", "mkdir", "link", "unlink", "rmdir")


class Crash(BaseException):
    """The end of the process, as far as code that catches errors can tell."""


@contextmanager
def failing(at: int | None, fail: Callable[[], BaseException]) -> Iterator[list[str]]:
    """Let the call number ``at`` fail, and after a crash all later ones too; gives the names of the calls.

    A write that fails has written half of its bytes: that is what a full disk and a power cut leave.
    """
    calls: list[str] = []
    dead: list[BaseException] = []

    def failing_call(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if dead:
                raise dead[0]
            calls.append(name)
            if len(calls) == at:
                if name == "write":
                    real(args[0], args[1][: len(args[1]) // 2])
                error = fail()
                if isinstance(error, Crash):
                    dead.append(error)
                raise error
            return real(*args, **kwargs)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, failing_call(name, getattr(os, name)))
        yield calls


@contextmanager
def written_down() -> Iterator[list[tuple[str, str]]]:
    """The calls that decide what survives a power cut, each with the name of its file."""
    events: list[tuple[str, str]] = []

    def noted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(first: Any, *args: Any, **kwargs: Any) -> Any:
            path = str(Path(f"/proc/self/fd/{first}").readlink()) if isinstance(first, int) else str(first)
            events.append((name, Path(path).name))
            return real(first, *args, **kwargs)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("write", "fsync", "rename"):
            patch.setattr(os, name, noted(name, getattr(os, name)))
        yield events
