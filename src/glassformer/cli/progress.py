"""How far a training run or a file is: a bar or a line on a terminal; elsewhere, and in train.log, lines."""

import math
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as RichProgress
from rich.text import Text

if TYPE_CHECKING:
    from glassformer.training import LineFile, Update, Validation


class TrainingProgress:
    """Shows a run on standard error and keeps the same lines in a file."""

    def __init__(self, console: Console, log: Path | None, log_every: int) -> None:
        self.console = console
        self.log_every = log_every
        self._log = None if log is None else _open_log(log)
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        self._start = time.monotonic()
        self._first_step: int | None = None
        self._last_loss: float | None = None

    def __enter__(self) -> "TrainingProgress":
        if self.console.is_terminal:
            columns = (
                TextColumn(" step {task.fields[count]}"),
                BarColumn(bar_width=24),
                TextColumn("{task.percentage:>3.0f}%  {task.fields[figures]}"),
            )
            self._bar = RichProgress(*columns, console=self.console, refresh_per_second=4)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._log is not None:
            self._log.close()

    def stepped(self, step: int, total: int, update: "Update", tokens_per_second: float) -> None:
        """Move the bar, or print a line every so often."""
        if self._first_step is None:
            self._first_step, self._start = step, time.monotonic()
        done = step - self._first_step
        eta = (time.monotonic() - self._start) / done * (total - step) if done else math.nan
        if self._bar is not None:
            self._move(step, total, update, tokens_per_second, eta)
        if step % self.log_every == 0 or step == total:
            line = (
                f"step={step} loss={update.loss:.3f} ppl={perplexity(update.nll):.1f} lr={update.rate:.1e} "
                f"tok/s={tokens_per_second:.0f} gnorm={update.gradient_norm:.2f} "
                f"eta={'?' if math.isnan(eta) else f'{eta:.0f}s'}"
            )
            self._write(line, shown=self._bar is None)

    def validated(self, validation: "Validation") -> None:
        """One line of scores, and a sample."""
        scores = validation.scores
        loss = scores["loss"]
        change = "" if self._last_loss is None else f" {_change(loss - self._last_loss)}"
        self._last_loss = loss
        parts = [f"loss {loss:.3f}{change}", f"ppl {scores['ppl']:.1f}"]
        names = {"bleu": "BLEU", "chrf": "chrF", "accuracy": "accuracy"}
        parts += [f"{name} {scores[key]:.1f}" for key, name in names.items() if key in scores]
        if validation.improved:
            parts.append("▲ best")
        self._write(f" valid @ {validation.step:,}   {'   '.join(parts)}", shown=True)
        for sample in validation.samples[:1]:
            self._write(f"   {sample.source} → {sample.hypothesis}", shown=True)

    def saved(self, path: Path, seconds: float) -> None:
        """Where the checkpoint is."""
        self._write(f" saved {path.name} ({seconds:.1f} s)", shown=False)

    def warned(self, message: str) -> None:
        """A line that stands out."""
        self._write(f"warning: {message}", shown=True)

    def _move(self, step: int, total: int, update: "Update", speed: float, eta: float) -> None:
        if self._bar is None:
            return
        if self._task is None:
            self._task = self._bar.add_task("train", total=total, count="", figures="")
        figures = (
            f"loss {update.loss:.2f}  ppl {perplexity(update.nll):.1f}  lr {update.rate:.1e}  "
            f"{speed / 1000:.1f}k tok/s  ETA {clock(eta)}"
        )
        self._bar.update(self._task, completed=step, count=f"{step:,}/{total:,}", figures=figures)

    def _write(self, line: str, *, shown: bool) -> None:
        if self._log is not None:
            self._log.write(line)
        if shown:
            self.console.print(Text(line), soft_wrap=True)


class LineProgress:
    """How far a file is: one line that is written over on a terminal, elsewhere a line every half minute."""

    EVERY = 30.0
    """Seconds."""

    def __init__(self, console: Console, total: int | None, done: int) -> None:
        self.console = console
        self._total, self._first = total, done
        self._start = self._shown = time.monotonic()

    def moved(self, done: int) -> None:
        """So many lines are done."""
        now = time.monotonic()
        if self.console.is_terminal:
            self.console.print(Text(f" {self._line(done, now)}".ljust(60)), end="\r")
        elif now - self._shown >= self.EVERY:
            self._shown = now
            self.console.print(Text(self._line(done, now)))

    def _line(self, done: int, now: float) -> str:
        speed = (done - self._first) / max(now - self._start, 1e-9)
        if self._total is None:
            return f"{done:,} lines, {speed:,.0f} a second"
        left = (self._total - done) / speed if speed else math.nan
        return f"{done:,} of {self._total:,} lines, {speed:,.0f} a second, ETA {clock(left)}"


def _open_log(path: Path) -> "LineFile":
    from glassformer.training import LineFile  # late: --help needs no torch

    return LineFile(path)


def perplexity(nll: float) -> float:
    """The exponential of nats per token, without overflowing."""
    return math.exp(min(nll, 700.0))


def clock(seconds: float) -> str:
    """``16:12`` or ``2:05:01``; ``–`` while unknown."""
    if math.isnan(seconds):
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _change(difference: float) -> str:
    return f"{'↓' if difference < 0 else '↑'}{abs(difference):.3f}"
