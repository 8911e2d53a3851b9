"""What the loop does between the first update and the last: choose, stop, save, survive."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer import checkpoint
from glassformer.checkpoint import CheckpointStore, average_checkpoints, load_model
from glassformer.errors import CheckpointError
from glassformer.training import read_metrics
from glassformer.training.validation import TextScores
from tests.support.corpora import tiny_run
from tests.support.runs import Telling, figures, resume, train


def scores_of(values: list[float], monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """Validations that find these scores, one after the other."""
    found = iter(values)
    monkeypatch.setattr(
        "glassformer.training.trainer.validate",
        lambda *_: TextScores({"loss": 1.0, "ppl": 1.0, key: next(found)}, ()),
    )


@pytest.mark.parametrize(
    ("key", "values", "best", "last"),
    [
        ("loss", [3.0, 2.0, 2.5, 2.2, 1.0], 2, 4),
        ("bleu", [3.0, 9.0, 8.0, 8.5, 10.0], 2, 4),
        ("chrf", [3.0, 2.0, 1.0, 9.0], 1, 3),
    ],
)
def test_patience_ends_a_run_that_does_not_improve(
    key: str, values: list[float], best: int, last: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores_of(values, monkeypatch, key)
    run = train(tiny_run(tmp_path, validate_every=1, best_by=key, patience=2, save_every=100), tmp_path)
    store = CheckpointStore(run.checkpoints)

    assert run.read_info()["best_step"] == best
    assert run.read_info()["step"] == last
    assert store.steps() == [best, last]  # saved between two regular ones, since it was the best
    assert json.loads((run.checkpoints / "best.json").read_text())["step"] == best


def test_what_is_shipped_is_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores_of([2.0, 1.0, 3.0], monkeypatch, "loss")
    run = train(tiny_run(tmp_path, validate_every=4), tmp_path)
    best = CheckpointStore(run.checkpoints).best()

    assert best is not None and best.step == 8
    for name, parameter in load_model(run.model).model.named_parameters():
        assert torch.equal(parameter, best.tensors("model")[name])


def test_the_running_average_is_what_is_shipped(tmp_path: Path) -> None:
    run = train(tiny_run(tmp_path, ema=0.9, steps=6), tmp_path)
    best = CheckpointStore(run.checkpoints).best()

    assert best is not None
    for name, parameter in load_model(run.model).model.named_parameters():
        assert torch.equal(parameter, best.tensors("ema")[name])
        assert not torch.equal(parameter, best.tensors("model")[name])


def test_the_average_of_the_last_regular_checkpoints_is_shipped(tmp_path: Path) -> None:
    config = tiny_run(tmp_path, average_last=3, validate_every=5)
    config = config.model_copy(update={"data": config.data.model_copy(update={"valid": None})})
    run = train(config, tmp_path)
    store = CheckpointStore(run.checkpoints)
    average = average_checkpoints([store.load(store.path(step)) for step in (4, 8, 12)])

    for name, parameter in load_model(run.model).model.named_parameters():
        assert torch.equal(parameter, average[name])


def test_time_ends_a_run_after_a_validation(tmp_path: Path) -> None:
    run = train(tiny_run(tmp_path, max_minutes=1e-9), tmp_path)

    assert run.read_info()["status"] == "finished" and run.read_info()["step"] == 1
    assert [(split, step) for split, step, _ in figures(run)] == [("train", 1), ("valid", 1)]


def test_epochs_are_passes_over_the_corpus(tmp_path: Path) -> None:
    run = train(tiny_run(tmp_path, epochs=1, batch_tokens=1024, accumulate=2), tmp_path)
    checkpoint = CheckpointStore(run.checkpoints).latest()

    assert checkpoint is not None
    assert checkpoint.state["batches"] == 2 * checkpoint.step
    assert 0 <= 2 * checkpoint.step - 4 <= 2  # four batches hold the corpus


def test_two_runs_of_one_seed_are_one(tmp_path: Path) -> None:
    one, other = train(tiny_run(tmp_path), tmp_path / "a"), train(tiny_run(tmp_path), tmp_path / "b")
    third = train(tiny_run(tmp_path, seed=2), tmp_path / "c")

    assert figures(one) == figures(other) != figures(third)


def test_a_checkpoint_that_is_not_finite_is_not_resumed(tmp_path: Path) -> None:
    run = train(tiny_run(tmp_path, steps=4), tmp_path)
    store = CheckpointStore(run.checkpoints)
    good = store.latest()
    assert good is not None
    weights = good.tensors("model")
    next(iter(weights.values()))[0] = torch.nan
    groups = {group: good.tensors(group) for group in good.groups} | {"model": weights}
    for path in (store.path(4), run.checkpoints / "history"):
        subprocess.run(["rm", "-r", str(path)], check=True)
    store.save(4, groups, good.state)

    with pytest.raises(CheckpointError, match="is not finite; the run had diverged when this was saved"):
        resume(run)


def test_a_broken_line_of_metrics_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"t": 1, "step": 1, "split": "train"}\n{"t": 2, "st\xff\n3\n')

    assert read_metrics(path) == [{"t": 1, "step": 1, "split": "train"}]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes, which only root can make."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here (that takes root)")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_costs_a_checkpoint_and_not_the_run(tmp_path: Path, small_disk: Path) -> None:
    """Filled before the save of step 8, freed before that of step 12."""
    ballast = small_disk / "ballast"

    def fill(event: str, step: int) -> None:
        if (event, step) == ("stepped", 7):
            with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
                while file.write(b"x" * 4096):
                    pass
        if (event, step) == ("stepped", 9):
            ballast.unlink()

    told = Telling(fill)
    whole = train(tiny_run(tmp_path, validate_every=100), tmp_path / "whole")
    run = train(tiny_run(tmp_path, validate_every=100), small_disk, told)
    store = CheckpointStore(run.checkpoints)

    assert len(told.warnings) == 1
    assert told.warnings[0].endswith("earlier checkpoints are intact; training goes on")
    assert "disk is full" in told.warnings[0]
    assert store.steps() == [4, 12]
    assert store.load(store.path(4)).step == 4
    assert figures(run) == figures(whole)
    assert not list(run.checkpoints.glob(".tmp-*"))


def test_a_best_model_that_found_no_room_is_shipped_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = iter([True])

    def save_model(*arguments: Any, **options: Any) -> None:
        if next(full, False):
            raise CheckpointError("disk is full")
        checkpoint.save_model(*arguments, **options)

    monkeypatch.setattr("glassformer.workflow.training.save_model", save_model)
    scores_of([1.0, 2.0], monkeypatch, "loss")
    told = Telling()
    run = train(tiny_run(tmp_path), tmp_path, told)
    best = CheckpointStore(run.checkpoints).best()

    assert told.warnings == ["disk is full; training goes on"]
    assert best is not None and best.step == 6
    for name, parameter in load_model(run.model).model.named_parameters():
        assert torch.equal(parameter, best.tensors("model")[name])
