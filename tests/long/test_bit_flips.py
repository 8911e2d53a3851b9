"""One flipped bit in any file of a checkpoint: it is refused by name, and the one before it is used."""

import random
import secrets
import shutil
from pathlib import Path

import pytest

from glassformer.checkpoint import CheckpointStore
from glassformer.training import RunDirectory
from tests.support.corpora import tiny_run
from tests.support.runs import Telling, differences, resume, train


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    folder = tmp_path_factory.mktemp("flips")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("glassformer.training.trainer.draw_run", lambda *_: None)
        return train(tiny_run(folder, steps=8, validate_every=8, ema=0.9), folder / "runs")


def flip(run: RunDirectory, choose: random.Random) -> tuple[Path, bytes]:
    """Change one bit of one file of the newest checkpoint; the file, and what it held."""
    files = sorted(CheckpointStore(run.checkpoints).path(8).iterdir())
    path = choose.choice(files)
    before = path.read_bytes()
    after = bytearray(before)
    after[choose.randrange(len(after))] ^= 1 << choose.randrange(8)
    path.write_bytes(after)
    return path, before


def refused(run: RunDirectory, trials: int) -> int:
    """How many of so many flips are noticed, with the file named, and the previous checkpoint used."""
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    choose, noticed = random.Random(seed), 0
    for _ in range(trials):
        path, before = flip(run, choose)
        found = CheckpointStore(run.checkpoints).latest()
        assert found is not None
        noticed += found.step == 4 and len(found.skipped) == 1
        if path.name != "manifest.json":  # a wrong hash in it speaks against the file that it is of
            assert path.name in found.skipped[0]
        path.write_bytes(before)
    return noticed


@pytest.mark.slow
def test_ten_flipped_bits_are_refused_and_a_resume_is_exact(
    run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassformer.training.trainer.draw_run", lambda *_: None)
    assert refused(run, 10) == 10
    copy = RunDirectory(tmp_path / "run-01")
    shutil.copytree(run.path, copy.path)
    told = Telling()
    flip(copy, random.Random(1))
    resume(copy, told)

    assert len(told.warnings) == 1 and "step-000008/" in told.warnings[0]
    assert list(copy.checkpoints.glob("step-000008.damaged-1"))
    assert differences(run, copy) == []


@pytest.mark.long
def test_three_hundred_flipped_bits_are_refused(run: RunDirectory) -> None:
    assert refused(run, 300) == 300
