"""A resumed run is the run that was never stopped, bit for bit."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.checkpoint import CheckpointStore
from glassformer.errors import CheckpointError, Interrupted
from glassformer.nn.native import FUNCTIONS, Native
from glassformer.training import RunDirectory, read_metrics, validation
from tests.support.corpora import stateful_run
from tests.support.native import needs_native
from tests.support.runs import Telling, differences, figures, resume, signal_at, train


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run that was never stopped."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("glassformer.training.trainer.draw_run", lambda *_: None)
        return train(stateful_run(folder), folder / "runs")


def interrupted(whole: RunDirectory, folder: Path, *moments: tuple[str, int]) -> RunDirectory:
    """The same run, stopped at each of these moments and resumed."""
    config = whole.settings()
    run = RunDirectory(folder / "run-01")
    for i, moment in enumerate(moments):
        told = Telling(signal_at(*moment))
        with pytest.raises(Interrupted) as stop:
            resume(run, told) if i else train(config, folder, told)

        assert stop.value.exit_code == 143
        assert stop.value.hint == f"glassformer train --resume {run.path}"
    return resume(run)


STOPS = {
    "first step": [("stepped", 1)],
    "between": [("stepped", 5)],
    "at a save": [("saved", 4)],
    "before a validation": [("stepped", 6)],
    "after a validation": [("validated", 6)],
    "four times in one epoch": [("stepped", 2), ("stepped", 3), ("saved", 4), ("stepped", 7)],
    "last step": [("stepped", 12)],
    "last validation": [("validated", 12)],
}


@pytest.mark.parametrize("stops", STOPS)
def test_resumed_is_uninterrupted(stops: str, whole: RunDirectory, tmp_path: Path) -> None:
    run = interrupted(whole, tmp_path, *STOPS[stops])

    assert differences(whole, run) == []


def test_every_step_and_validation_is_recorded_once(whole: RunDirectory, tmp_path: Path) -> None:
    run = interrupted(whole, tmp_path, ("stepped", 5), ("validated", 6))
    lines = [(split, step) for split, step, _ in figures(run)]

    assert sorted(lines) == sorted(
        [("train", step) for step in range(1, 13)] + [("valid", 6), ("valid", 12), ("average", 12)]
    )


def test_without_the_generators_it_differs(
    whole: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the other tests can fail: dropout does depend on the state that is restored."""
    monkeypatch.setattr("torch.set_rng_state", lambda _: None)
    run = interrupted(whole, tmp_path, ("stepped", 5))

    assert any(name.startswith("model/") for name in differences(whole, run))
    assert "metrics.jsonl" in differences(whole, run)


def test_a_signal_cuts_a_validation_short_and_it_is_done_again(
    whole: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    validate = validation.validate
    signals = iter([signal.SIGINT])

    def signalled(*arguments: Any) -> object:
        for number in signals:
            os.kill(os.getpid(), number)
        return validate(*arguments)

    monkeypatch.setattr("glassformer.training.trainer.validate", signalled)
    with pytest.raises(Interrupted, match=r"^stopped at step 6; everything is saved$") as stop:
        train(whole.settings(), tmp_path)
    run = RunDirectory(tmp_path / "run-01")

    assert stop.value.exit_code == 130
    assert run.read_info()["status"] == "stopped"
    assert CheckpointStore(run.checkpoints).steps() == [4, 6]
    assert ("valid", 6) not in [(line["split"], line["step"]) for line in read_metrics(run.metrics)]
    assert differences(whole, resume(run)) == []


def test_a_signal_in_a_save_leaves_it_whole(
    whole: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync
    signals = iter([signal.SIGTERM])

    def signalled(descriptor: int) -> None:
        if (tmp_path / "run-01" / "checkpoints" / "step-000004").exists():  # the next save is that of step 6
            for number in signals:
                os.kill(os.getpid(), number)
        fsync(descriptor)

    monkeypatch.setattr("os.fsync", signalled)
    with pytest.raises(Interrupted):
        train(whole.settings(), tmp_path)
    run = RunDirectory(tmp_path / "run-01")

    assert differences(whole, resume(run)) == []


def test_killed_before_the_first_checkpoint_it_begins_again(whole: RunDirectory, tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    def kill(event: str, step: int) -> None:
        if (event, step) == ("stepped", 2):
            raise Killed

    with pytest.raises(Killed):
        train(whole.settings(), tmp_path, Telling(kill))
    run, told = RunDirectory(tmp_path / "run-01"), Telling()
    resume(run, told)

    assert told.warnings == ["no checkpoint was saved yet; beginning again at step 0"]
    assert differences(whole, run) == []


def test_a_finished_run_resumes_to_itself(whole: RunDirectory, tmp_path: Path) -> None:
    run = train(whole.settings(), tmp_path)

    assert differences(whole, resume(run)) == []


def test_resume_goes_back_to_the_last_checkpoint_that_is_whole(whole: RunDirectory, tmp_path: Path) -> None:
    run = train(whole.settings(), tmp_path)
    damaged = CheckpointStore(run.checkpoints).path(12) / "optim.safetensors"
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    told = Telling()
    resume(run, told)

    assert len(told.warnings) == 1 and "optim.safetensors" in told.warnings[0]
    assert differences(whole, run) == []


def test_more_steps_than_at_first(tmp_path: Path) -> None:
    longer = train(stateful_run(tmp_path, steps=12), tmp_path / "a")
    run = train(stateful_run(tmp_path, steps=8), tmp_path / "b")
    resume(run, overrides={"train": {"steps": 12}})

    assert run.settings().train.steps == 12
    weights = [CheckpointStore(each.checkpoints).latest() for each in (longer, run)]
    assert weights[0] is not None and weights[1] is not None
    for name, tensor in weights[0].tensors("optim").items():
        assert torch.equal(tensor, weights[1].tensors("optim")[name])


def test_another_corpus_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    run = train(stateful_run(tmp_path, steps=4), tmp_path / "runs")
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    corpus = Path(str(run.settings().data.train.src))
    corpus.write_text(corpus.read_text().replace("red", "blue"))

    with pytest.raises(
        CheckpointError,
        match=r"^the corpus is not the one that this run began with; restore it, or start anew from these "
        r"weights with --init-from$",
    ):
        resume(run)

    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before


def test_a_run_that_came_from_another_machine_says_so(tmp_path: Path) -> None:
    run = train(stateful_run(tmp_path, steps=1), tmp_path / "runs")
    here = run.read_info()
    run.note({"torch": "1.0", "kernels": "abacus"})
    told = list[str]()
    resume(run, notice=told.append)

    assert told[0] == (
        "this run began with torch 1.0, kernels abacus; "
        f"here it is torch {here['torch']}, kernels {here['kernels']}: "
        "it goes on where it stopped, but not bit by bit"
    )


def test_a_run_of_this_machine_goes_on_without_a_word_of_it(tmp_path: Path) -> None:
    run = train(stateful_run(tmp_path, steps=1), tmp_path / "runs")
    info = json.loads(run.info.read_text())
    del info["vectors"]  # as versions before wrote it
    run.info.write_text(json.dumps(info))
    told = list[str]()
    resume(run, notice=told.append)

    assert told and not any("began with" in line for line in told)


@needs_native
def test_what_is_stopped_here_was_trained_by_every_native_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called, call = set[str](), Native.call

    def noted(native: Native, name: str, *arguments: object) -> None:
        called.add(name)
        call(native, name, *arguments)

    monkeypatch.setattr(Native, "call", noted)
    train(stateful_run(tmp_path, steps=1), tmp_path / "runs")

    assert called == FUNCTIONS.keys() - {"gf_training_available"}
