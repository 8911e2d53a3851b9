"""What all contestants share: read sentences as ids, decode when told to, answer with seconds and outputs.

The conversation is one line of JSON each way. In: ``{"beam": 4, "batch": 64, ...}``: how many hypotheses, how
many sentences at once. Out: seconds of every call, seconds of all processors, the ids of the
outputs, and the most memory so far. Runs in the environments of peers too: needs the standard library only.
"""

import importlib.metadata
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

START, END, PAD = 1, 2, 0
"""The special ids of glassformer's tokenizer."""
MAX_EXTRA = 50
"""Outputs may be this much longer than the longest input of all: not every peer has a limit for each."""

Ids = list[int]


class Search(NamedTuple):
    """How outputs are looked for."""

    beam: int
    alpha: float
    """Log-probabilities are divided by length to the power of alpha; 0 is no penalty."""
    early: bool
    """Whether a search may end when as many hypotheses as the beam is wide have ended, though better ones
    could come. Peers who know no other rule with a penalty do so anyway."""


Decode = Callable[[Sequence[Ids], Search], list[Ids]]
"""Sources as ids, ``</s>`` included; gives the best output of each without ``</s>``."""


class Task(NamedTuple):
    """What is translated, and what is never said."""

    sources: list[Ids]
    silent: Ids
    """Ids that stand for no text."""

    @property
    def limit(self) -> int:
        """The most tokens of an output."""
        return max(map(len, self.sources)) + MAX_EXTRA


def read_task(path: str) -> Task:
    """The task of a file."""
    return Task(**json.loads(Path(path).read_text(encoding="utf-8")))


def serve(build: Callable[[str, dict[str, Any], Task], Decode], packages: Sequence[str]) -> None:
    """Answer until the driver closes the line. Arguments: the task, a model, the setting as JSON."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    task_file, model, setting = sys.argv[1:]
    task = read_task(task_file)
    decode = build(model, json.loads(setting), task)
    versions = {name: importlib.metadata.version(name) for name in packages}
    answers.write(json.dumps({"versions": versions}) + "\n")
    for line in sys.stdin:
        answers.write(json.dumps(_turn(decode, task, **json.loads(line))) + "\n")


def _turn(decode: Decode, task: Task, *, batch: int, sentences: int, **search: Any) -> dict[str, object]:
    """Everything once, in calls of ``batch`` sentences; long ones first where there are several."""
    sources = task.sources[:sentences]
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i])) if batch > 1 else range(len(sources))
    outputs: list[Ids] = [[] for _ in sources]
    asked = Search(**search)
    seconds, processor = [], time.process_time()
    places = list(order)
    for at in range(0, len(places), batch):
        part = places[at : at + batch]
        start = time.perf_counter()
        found = decode([sources[i] for i in part], asked)
        seconds.append(time.perf_counter() - start)
        for i, ids in zip(part, found, strict=True):
            outputs[i] = ids
    return {
        "seconds": seconds,
        "processor_seconds": time.process_time() - processor,
        "outputs": outputs,
        "memory_bytes": _memory(),
    }


def _memory() -> int:
    """The most that this process has held; what rusage tells begins with the parent's."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
