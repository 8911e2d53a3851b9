"""Contestants as child processes that take turns."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.speed_peers.conversation import CannotRun, Conversation
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
        python = interpreter(name) if name in RECIPES else Path(sys.executable)
        module = f"benchmarks.speed_peers.{CONTESTANTS[name].module}"
        shape = json.dumps(task.shape._asdict())
        command = [str(python), "-m", module, str(task.batches), shape, setting, str(task.threads)]
        log = task.logs / f"{name}-{setting}.log"
        self._process = Conversation(command, log, threads=task.threads, own=name == OURS)
        self.greeting = Greeting(**self._process.greeting)

    def train(self, numbers: Sequence[int]) -> Turn:
        """Train on batches, one update each."""
        return Turn(**self._process.ask(list(numbers)))

    def close(self) -> None:
        """Let the process end."""
        self._process.close()


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
