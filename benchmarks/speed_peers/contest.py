"""Contestants as child processes that take turns."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.speed_peers.installing import RECIPES, NotInstalled, interpreter
from benchmarks.speed_peers.worker import Shape

ROOT = Path(__file__).parents[2]


class Contestant(NamedTuple):
    """Someone who can train the model."""

    title: str
    module: str
    """Of this package."""
    settings: tuple[str, ...] = ("default",)
    """The fastest of them is what counts."""


OURS = "glassformer"
CONTESTANTS = {
    OURS: Contestant("Glassformer", "ours"),
    "marian": Contestant("Hugging Face Marian", "marian", ("sdpa", "eager")),
    "torch": Contestant("nn.Transformer", "torch_transformer", ("default", "math")),
    "joeynmt": Contestant("JoeyNMT", "joeynmt"),
    "eole": Contestant("eole", "eole", ("default", "math")),
}


class Turn(NamedTuple):
    """What a contestant did in a round: one number per batch."""

    seconds: list[float]
    processor_seconds: list[float]
    """Of all its threads. Where strangers use the cores too, these say more than the clock."""
    losses: list[float]


class Greeting(NamedTuple):
    """What a contestant tells of itself."""

    parameters: int
    threads: int
    versions: dict[str, str]


class CannotRun(Exception):
    """A contestant did not start, or died."""


class Task(NamedTuple):
    """What everyone is told."""

    batches: Path
    shape: Shape
    threads: int
    logs: Path


class Child:
    """A contestant's process. It lives through all rounds."""

    def __init__(self, name: str, setting: str, task: Task) -> None:
        self.name, self.setting = name, setting
        self._log = task.logs / f"{name}-{setting}.log"
        python = interpreter(name) if name in RECIPES else Path(sys.executable)
        module = f"benchmarks.speed_peers.{CONTESTANTS[name].module}"
        shape = json.dumps(task.shape._asdict())
        command = [str(python), "-m", module, str(task.batches), shape, setting, str(task.threads)]
        own = [str(ROOT / "src")] if name == OURS else []
        environment = os.environ | {
            "OMP_NUM_THREADS": str(task.threads),
            "PYTHONPATH": os.pathsep.join([str(ROOT), *own]),
            "PYTHONWARNINGS": "ignore",
        }
        with self._log.open("w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=ROOT, env=environment
            )
        self.greeting = Greeting(**self._answer())

    def train(self, numbers: Sequence[int]) -> Turn:
        """Train on batches, one update each."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(list(numbers)).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer will tell why
        return Turn(**self._answer())

    def close(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.communicate()
            said = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise CannotRun(said[-1] if said else f"ended with exit code {self._process.returncode}")
        answer: dict[str, Any] = json.loads(line)
        return answer


class Field(NamedTuple):
    """Who takes part, each at the best of its settings."""

    children: dict[str, Child]
    searched: dict[str, dict[str, float]]
    """Seconds by setting, of those who have several."""
    missing: dict[str, str]
    """Who does not take part, and why."""


def assemble(names: Iterable[str], task: Task, batch: int, turns: int = 2) -> Field:
    """Start everyone; whoever has several settings tries them on one batch, alternating."""
    field = Field({}, {}, {})
    for name in names:
        try:
            field.children[name] = _best(name, task, batch, turns, field.searched)
        except (NotInstalled, CannotRun) as error:
            field.missing[name] = str(error)
            print(f"{CONTESTANTS[name].title} cannot take part: {error}", flush=True)
    return field


def _best(name: str, task: Task, batch: int, turns: int, searched: dict[str, dict[str, float]]) -> Child:
    settings = CONTESTANTS[name].settings
    children = [Child(name, setting, task) for setting in settings]
    for child in children:
        child.train([batch])  # warm up
    if len(children) == 1:
        return children[0]
    least = dict.fromkeys(settings, float("inf"))
    for _ in range(turns):
        for child in children:
            (seconds,) = child.train([batch]).seconds
            least[child.setting] = min(least[child.setting], seconds)
    searched[name] = least
    winner = min(children, key=lambda child: least[child.setting])
    for child in children:
        if child is not winner:
            child.close()
    return winner


def play(field: Field, rounds: int, batches: Sequence[int]) -> dict[str, list[Turn]]:
    """Rounds in which everyone trains on the same batches; who begins changes from round to round."""
    turns: dict[str, list[Turn]] = {name: [] for name in field.children}
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", flush=True)
        names = list(field.children)
        first = number % len(names)
        for name in names[first:] + names[:first]:
            turns[name].append(field.children[name].train(batches))
    return turns


def close(children: Mapping[str, Child]) -> None:
    """End all processes."""
    for child in children.values():
        child.close()
