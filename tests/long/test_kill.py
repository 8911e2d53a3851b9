"""kill -9 at random points: what is resumed ends like what was never touched, bit for bit.

A chain of kills and resumes is one run; it ends identical only if every one of its resumes was exact.
"""

import random
import secrets
from pathlib import Path

import pytest

from glassformer.training import RunDirectory
from tests.support.processes import STEPS, command, finish, kill_at_random, write_config
from tests.support.runs import differences


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_config(tmp_path_factory.mktemp("kill"))


def untouched(config: Path, *options: str) -> RunDirectory:
    runs = config.parent / f"whole{''.join(options)}"
    code, told = finish(command(["train", config, "--runs", runs, "--name", "run", *options]))
    assert code == 0, told
    assert told.count(" everything  ") == 1  # of several processes one speaks
    assert [path.name for path in runs.glob("run-*")] == ["run-01"]
    return RunDirectory(runs / "run-01")


def chain(
    config: Path, runs: Path, kills: int, saves: int, *options: str, steps: int = STEPS
) -> tuple[RunDirectory, list[str]]:
    """A run killed that many times, so many of them inside a save, and then left to finish."""
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    choose = random.Random(seed)
    inside = [True] * saves + [False] * (kills - saves)
    choose.shuffle(inside)
    run, points = RunDirectory(runs / "run-01"), list[str]()
    process = command(["train", config, "--runs", runs, "--name", "run", *options])
    for aim in inside:
        reach = steps // (kills + 2)
        points.append(kill_at_random(process, run, choose, inside_save=aim, reach=reach, steps=steps))
        again: list[str | Path] = ["--resume", run.path]
        if not run.config.exists():  # killed before it was a run
            again = [config, "--runs", runs, "--name", "run"]
        process = command(["train", *again, *options])
    code, told = finish(process)
    assert code == 0, told
    return run, points


@pytest.mark.slow
def test_three_kills(config: Path, tmp_path: Path) -> None:
    run, points = chain(config, tmp_path, 3, 2)

    assert "save" in points and "finished" not in points
    assert differences(untouched(config), run) == []


@pytest.mark.slow
def test_a_kill_of_two_processes(tmp_path: Path) -> None:
    config = write_config(tmp_path, steps=12, accumulate=1)
    run, points = chain(config, tmp_path / "runs", 1, 0, "--devices=2", steps=12)

    assert points == ["step"]
    assert differences(untouched(config, "--devices=2"), run) == []


@pytest.mark.long
def test_fifty_kills(config: Path, tmp_path: Path) -> None:
    whole, points = untouched(config), list[str]()
    for number in range(10):
        run, found = chain(config, tmp_path / str(number), 5, 2)
        points += found
        print(number, found, flush=True)

        assert differences(whole, run) == []

    assert len(points) == 50 and "finished" not in points
    assert points.count("save") >= 10


@pytest.mark.long
def test_twenty_kills_of_two_processes(tmp_path: Path) -> None:
    """Their steps are not slowed down, so the run is longer, and none of their saves can be aimed at."""
    steps = 300
    config = write_config(tmp_path, steps=steps)
    whole, points = untouched(config, "--devices=2"), list[str]()
    for number in range(5):
        run, found = chain(config, tmp_path / str(number), 4, 0, "--devices=2", steps=steps)
        points += found
        print(number, found, flush=True)

        assert differences(whole, run) == []

    assert len(points) == 20 and "finished" not in points
