"""What a run tells the world: listeners, metrics on disk, and signals that ask it to stop."""

import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType, TracebackType
from typing import NamedTuple, Protocol

from glassformer.checkpoint.files import write_file_atomic
from glassformer.training.step import Update


class Sample(NamedTuple):
    """A validation sentence and what the model makes of it."""

    source: str
    reference: str
    hypothesis: str
    score: float


class Validation(NamedTuple):
    """What a validation found."""

    step: int
    scores: Mapping[str, float]
    """loss (nats per token), ppl, and what the task has: bleu, chrf, accuracy."""
    samples: tuple[Sample, ...]
    improved: bool


class Progress(Protocol):
    """Whoever wants to show a run. The library itself prints nothing."""

    def stepped(self, step: int, total: int, update: Update, tokens_per_second: float) -> None:
        """An update is done."""

    def validated(self, validation: Validation) -> None:
        """A validation is done."""

    def saved(self, path: Path, seconds: float) -> None:
        """A checkpoint is on disk."""

    def warned(self, message: str) -> None:
        """Something the user should know, though the run goes on."""


class Silent:
    """Shows nothing."""

    def stepped(self, step: int, total: int, update: Update, tokens_per_second: float) -> None:
        """Nothing."""

    def validated(self, validation: Validation) -> None:
        """Nothing."""

    def saved(self, path: Path, seconds: float) -> None:
        """Nothing."""

    def warned(self, message: str) -> None:
        """Nothing."""


class Several:
    """Tells several listeners the same."""

    def __init__(self, *listeners: Progress) -> None:
        self.listeners = listeners

    def stepped(self, step: int, total: int, update: Update, tokens_per_second: float) -> None:
        """To all."""
        for listener in self.listeners:
            listener.stepped(step, total, update, tokens_per_second)

    def validated(self, validation: Validation) -> None:
        """To all."""
        for listener in self.listeners:
            listener.validated(validation)

    def saved(self, path: Path, seconds: float) -> None:
        """To all."""
        for listener in self.listeners:
            listener.saved(path, seconds)

    def warned(self, message: str) -> None:
        """To all."""
        for listener in self.listeners:
            listener.warned(message)


class LineFile:
    """Lines appended to a file. On a full disk they wait for room instead of ending the run."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self._waiting = b""

    def write(self, line: str) -> None:
        """Append a line; it is on its way to the disk when this returns, if there is room."""
        self._waiting += line.encode() + b"\n"
        with contextlib.suppress(OSError):
            while self._waiting:
                self._waiting = self._waiting[os.write(self._descriptor, self._waiting) :]

    def sync(self) -> None:
        """Bring what was written to the disk."""
        with contextlib.suppress(OSError):
            os.fsync(self._descriptor)

    def close(self) -> None:
        """No more lines."""
        os.close(self._descriptor)


class Metrics(LineFile):
    """``metrics.jsonl``: one line per event, the source of all curves."""

    def record(self, split: str, step: int, values: Mapping[str, float]) -> None:
        """Figures of a step."""
        self.write(json.dumps({"t": round(time.time(), 3), "step": step, "split": split, **values}))


def read_metrics(path: Path) -> list[dict[str, float | str]]:
    """Every line that is whole; a process killed while writing leaves a torn last one."""
    lines: list[dict[str, float | str]] = []
    if path.exists():
        for text in path.read_text(encoding="utf-8", errors="replace").split("\n"):
            with contextlib.suppress(ValueError):
                line = json.loads(text)
                if isinstance(line, dict) and "step" in line and "split" in line:
                    lines.append(line)
    return lines


def rewind_metrics(path: Path, step: int, *, validated: bool) -> None:
    """Drop what a run that resumes after ``step`` will record again."""
    if not path.exists():
        return
    last = {"train": step, "valid": step if validated else step - 1}  # the average is made at the very end
    kept = [line for line in read_metrics(path) if int(line["step"]) <= last.get(str(line["split"]), -1)]
    write_file_atomic(path, "".join(json.dumps(line) + "\n" for line in kept).encode())


class StopSignals:
    """Ctrl-C and SIGTERM become a flag that the loop reads; a second one ends the process at once.

    A terminal and torchrun may both hand on the same Ctrl-C: what comes within a second is one signal.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._when = 0.0
        self._before: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is threading.main_thread():  # others cannot have handlers
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def asked(self) -> bool:
        """Whether somebody wants this process to stop."""
        return self.received is not None

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.received is None:
            self.received, self._when = number, time.monotonic()
        elif time.monotonic() - self._when > 1.0:
            raise SystemExit(128 + number)


class Pace:
    """Seconds and target tokens of training alone: validations and saves do not count."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """A pause is over."""
        self._last = time.monotonic()
        self._seconds, self._tokens = 0.0, 0

    def passed(self, tokens: int) -> float:
        """Seconds since the last update."""
        now = time.monotonic()
        seconds, self._last = now - self._last, now
        self._seconds += seconds
        self._tokens += tokens
        return seconds

    @property
    def speed(self) -> float:
        """Target tokens per second since the last pause."""
        return self._tokens / max(1e-9, self._seconds)
