"""Small runs in this process: trained, stopped at a chosen moment, resumed, compared bit by bit."""

import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from glassformer.checkpoint import CheckpointStore, load_model
from glassformer.config import RunConfig
from glassformer.training import Progress, RunDirectory, Silent, Update, Validation, read_metrics
from glassformer.workflow.training import resume_run, start_run

Event = Callable[[str, int], None]


class Telling(Silent):
    """Tells one function of every event, and keeps the warnings."""

    def __init__(self, event: Event = lambda _name, _step: None) -> None:
        self.event = event
        self.warnings: list[str] = []

    def stepped(self, step: int, total: int, update: Update, tokens_per_second: float) -> None:
        del total, update, tokens_per_second
        self.event("stepped", step)

    def validated(self, validation: Validation) -> None:
        self.event("validated", validation.step)

    def saved(self, path: Path, seconds: float) -> None:
        del seconds
        self.event("saved", int(path.name.removeprefix("step-")))

    def warned(self, message: str) -> None:
        self.warnings.append(message)


def signal_at(name: str, step: int, number: int = signal.SIGTERM) -> Event:
    """Asks this process to stop when an event of a step is told."""

    def tell(event: str, at: int) -> None:
        if (event, at) == (name, step):
            os.kill(os.getpid(), number)

    return tell


def train(config: RunConfig, folder: Path, progress: Progress | None = None, **options: Any) -> RunDirectory:
    """A new run in a folder."""
    shown = contextlib.nullcontext(progress or Silent())
    return start_run(config, folder, "run", progress=lambda _: shown, **options)


def resume(
    run: RunDirectory,
    progress: Progress | None = None,
    overrides: Mapping[str, Any] | None = None,
    notice: Callable[[str], None] = lambda _: None,
) -> RunDirectory:
    """Go on with a run."""
    shown = contextlib.nullcontext(progress or Silent())
    return resume_run(run, overrides or {}, notice=notice, progress=lambda _: shown)


def figures(run: RunDirectory) -> list[tuple[str, int, dict[str, object]]]:
    """Every line of metrics.jsonl, without what the clock says."""
    return [
        (
            str(line["split"]),
            int(line["step"]),
            {key: value for key, value in line.items() if key not in ("t", "tok_s", "split", "step")},
        )
        for line in read_metrics(run.metrics)
    ]


def tensors(run: RunDirectory) -> dict[str, torch.Tensor]:
    """Everything that the last checkpoint and the model directory hold."""
    checkpoint = CheckpointStore(run.checkpoints).latest()
    assert checkpoint is not None
    found = {
        f"{group}/{name}": tensor
        for group in checkpoint.groups
        for name, tensor in checkpoint.tensors(group).items()
    }
    shipped = load_model(run.model).model.named_parameters()
    return found | {f"shipped/{name}": parameter.detach() for name, parameter in shipped}


def differences(one: RunDirectory, other: RunDirectory) -> list[str]:
    """What is not the same in two runs, to the last bit: weights, optimizer, averages, generators, losses."""
    left, right = tensors(one), tensors(other)
    wrong = [name for name in left.keys() | right.keys() if not _same(left.get(name), right.get(name))]
    if figures(one) != figures(other):
        wrong.append("metrics.jsonl")
    steps = [CheckpointStore(run.checkpoints).steps() for run in (one, other)]
    if steps[0] != steps[1]:
        wrong.append(f"checkpoints {steps[0]} and {steps[1]}")
    return sorted(wrong)


def _same(one: torch.Tensor | None, other: torch.Tensor | None) -> bool:
    return one is not None and other is not None and torch.equal(one, other)
