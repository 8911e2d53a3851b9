"""Contestants as child processes that take turns, each at the best of its settings."""

import importlib.metadata
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.speed_peers.conversation import CannotRun, Conversation
from benchmarks.speed_peers.installing import RECIPES, NotInstalled, interpreter
from glassformer.engine.kernels import usable_kernels

ROOT = Path(__file__).parents[2]
Setting = dict[str, Any]
_SLOW_ROUNDS = 2


class Contestant(NamedTuple):
    """Someone who can decode the model."""

    title: str
    module: str
    """Of this package."""
    form: str
    """Of the model: our own directory, one with a shortlist, or what our exporter writes."""
    package: str
    """What it is in; ours is always at hand."""
    recipe: str
    """Whose environment serves where the package is not in this one."""
    settings: tuple[Setting, ...]
    """The fastest of them is what counts, for each way of asking."""
    slow: bool = False
    """Then two rounds say enough, and its settings are compared on fewer sentences."""


class Way(NamedTuple):
    """How the sentences are asked."""

    name: str
    beam: int
    alpha: float
    """Strength of the length penalty."""
    early: bool
    """Whether everyone may end a search before nothing better can come."""
    batch: int
    """Sentences given at once."""
    sentences: int
    """How many of all."""


class Turn(NamedTuple):
    """What a contestant did in a round."""

    seconds: list[float]
    """Of each call."""
    processor_seconds: float
    """Of all its threads. Where strangers use the cores too, these say more than the clock."""
    outputs: list[list[int]]
    memory_bytes: int


class NoModel(Exception):
    """There is no model in the form that a contestant reads."""


def contestants(cores: int) -> dict[str, Contestant]:
    """Everyone, with the settings that are worth trying on so many cores."""
    ours = [{"threads": n} for n in sorted({1, cores})]
    theirs = [
        {"inter_threads": inter, "intra_threads": intra}
        for inter, intra in sorted({(1, 1), (cores, 1), (1, cores)})
    ]

    def own(title: str, form: str = "model", **fixed: str | bool) -> Contestant:
        settings = tuple({**fixed, **each} for each in ours)
        return Contestant(f"Glassformer {title}", "ours", form, "", "", settings)

    def peer(title: str, compute_type: str) -> Contestant:
        settings = tuple({"compute_type": compute_type, **each} for each in theirs)
        return Contestant(title, "ctranslate", "ctranslate2", "ctranslate2", "ctranslate2", settings)

    everyone = {
        "int8": own("int8", precision="int8"),
        "int8-vnni": own("int8 without AMX", precision="int8", kernels="avx512vnni"),
        "int8-shortlist": own("int8 with shortlist", "shortlist", precision="int8", shortlist=True),
        "float32": own("float32", precision="float32"),
        "ctranslate2-int8": peer("CTranslate2 int8", "int8"),
        "ctranslate2-float32": peer("CTranslate2 float32", "float32"),
        "generate": Contestant(
            "Hugging Face generate", "hugging_face", "hf", "transformers", "marian", tuple(ours), slow=True
        ),
    }
    if usable_kernels()[0] != "amx":
        del everyone["int8-vnni"]  # int8 is that already
    return everyone


class Child:
    """A contestant's process with one setting. It lives through all rounds."""

    def __init__(self, who: Contestant, setting: Setting, model: Path, task: Path, log: Path) -> None:
        self.setting = setting
        own = not who.package
        python = Path(sys.executable) if own or _here(who) else interpreter(who.recipe)
        module = f"benchmarks.decode_peers.{who.module}"
        command = [str(python), "-m", module, str(task), str(model), json.dumps(setting)]
        threads = int(setting.get("threads") or setting.get("intra_threads") or 1)
        self._process = Conversation(command, log, threads=threads, own=own)
        self.versions: dict[str, str] = self._process.greeting["versions"]

    def decode(self, way: Way) -> Turn:
        """Everything once."""
        told = way._asdict()
        del told["name"]
        return Turn(**self._process.ask(told))

    def close(self) -> None:
        """Let the process end."""
        self._process.close()


class Team(NamedTuple):
    """One contestant's processes, one for each of its settings, and which is best for what."""

    slow: bool
    children: list[Child]
    best: dict[str, int]
    searched: dict[str, list[float]]
    """Seconds of each setting, by way."""

    def child(self, way: Way) -> Child:
        """The process with the best setting for a way."""
        return self.children[self.best[way.name]]


def assemble(
    who: Mapping[str, Contestant], models: Mapping[str, Path], task: Path, logs: Path, ways: Sequence[Way]
) -> tuple[dict[str, Team], dict[str, str]]:
    """Start everyone at every setting and find the best for each way; and who does not take part, and why."""
    teams: dict[str, Team] = {}
    missing: dict[str, str] = {}
    for name, contestant in who.items():
        children: list[Child] = []
        try:
            for i, setting in enumerate(contestant.settings):
                log = logs / f"{name}-{i}.log"
                if contestant.form not in models:
                    raise NoModel(f"there is no {contestant.form} of this model")
                children.append(Child(contestant, setting, models[contestant.form], task, log))
            teams[name] = _searched(children, ways, slow=contestant.slow)
        except (NotInstalled, CannotRun, NoModel) as error:
            for child in children:
                child.close()
            missing[name] = str(error)
            print(f"{contestant.title} cannot take part: {error}", flush=True)
    return teams, missing


def _searched(children: list[Child], ways: Sequence[Way], *, slow: bool) -> Team:
    """Every setting decodes a few sentences twice; the better time counts."""
    best, searched = {}, {}
    for way in ways:
        few = way._replace(
            sentences=min(way.sentences, (way.batch if way.batch > 1 else 8) // (4 if slow else 1))
        )
        for child in children:
            child.decode(few)  # warm up
        tried = [[sum(child.decode(few).seconds) for child in children] for _ in range(2)]
        times = [min(pair) for pair in zip(*tried, strict=True)]
        searched[way.name] = times
        best[way.name] = times.index(min(times))
    return Team(slow, children, best, searched)


def play(
    teams: Mapping[str, Team], rounds: int, minutes: float, ways: Sequence[Way]
) -> dict[str, dict[str, list[Turn]]]:
    """Turns by way and contestant: in each round everyone decodes the same; who begins changes.

    After the first, a round begins only if one like the longest so far would end within the minutes.
    """
    turns: dict[str, dict[str, list[Turn]]] = {way.name: {name: [] for name in teams} for way in ways}
    start, longest = time.perf_counter(), 0.0
    for number in range(rounds):
        began = time.perf_counter()
        if number and began - start + longest > 60 * minutes:
            print(f"no time for round {number + 1} of {rounds}", flush=True)
            break
        print(f"round {number + 1} of {rounds}", flush=True)
        names = [name for name, team in teams.items() if number < _SLOW_ROUNDS or not team.slow]
        first = number % len(names)
        for way in ways:
            for name in names[first:] + names[:first]:
                turns[way.name][name].append(teams[name].child(way).decode(way))
        longest = max(longest, time.perf_counter() - began)
    return turns


def _here(who: Contestant) -> bool:
    """Whether the package, in the version that the recipe asks for, is in this environment."""
    wanted = {item for line in RECIPES.get(who.recipe, []) for item in line}
    try:
        return f"{who.package}=={importlib.metadata.version(who.package)}" in wanted
    except importlib.metadata.PackageNotFoundError:
        return False
