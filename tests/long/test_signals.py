"""Signals to the real command, wherever it is: it saves, tells how to go on, and the rest is exact."""

import os
import random
import secrets
import signal
import time
from pathlib import Path

import pytest

from glassformer.training import RunDirectory
from tests.support.processes import command, finish, wait_for_step, wait_inside_save, write_config
from tests.support.runs import differences


def stopped(config: Path, runs: Path, number: int, step: int, *, in_save: bool = False) -> RunDirectory:
    """A run that got a signal after a step, or inside the save that follows it."""
    run = RunDirectory(runs / "run-01")
    process = command(["train", config, "--runs", runs, "--name", "run"])
    assert (wait_inside_save if in_save else wait_for_step)(process, run, step)
    start = time.monotonic()
    process.send_signal(number)
    code, told = finish(process)
    lines = told.splitlines()

    assert code == 128 + number, told
    assert lines[-2].startswith("error: stopped at step ") and lines[-2].endswith("; everything is saved")
    assert lines[-1] == f"hint:  glassformer train --resume {run.path}"
    assert "Traceback" not in told
    assert time.monotonic() - start < 30
    return run


def resumed(run: RunDirectory) -> RunDirectory:
    code, told = finish(command(["train", "--resume", run.path]))
    assert code == 0, told
    return run


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_config(tmp_path_factory.mktemp("signals"), steps=20)


@pytest.fixture(scope="module")
def whole(config: Path) -> RunDirectory:
    code, told = finish(command(["train", config, "--runs", config.parent / "whole", "--name", "run"]))
    assert code == 0, told
    return RunDirectory(config.parent / "whole" / "run-01")


@pytest.mark.slow
def test_sigterm_saves_and_tells_how_to_resume(config: Path, whole: RunDirectory, tmp_path: Path) -> None:
    run = stopped(config, tmp_path, signal.SIGTERM, 7)

    assert differences(whole, resumed(run)) == []


@pytest.mark.long
def test_thirty_signals(config: Path, whole: RunDirectory, tmp_path: Path) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    choose = random.Random(seed)
    for number in range(30):
        kind = choose.choice([signal.SIGINT, signal.SIGTERM])
        run = stopped(
            config, tmp_path / str(number), kind, choose.randint(1, 15), in_save=choose.random() < 0.3
        )
        if number % 3 == 0:
            assert differences(whole, resumed(run)) == []


@pytest.mark.long
def test_a_dead_process_ends_the_other(tmp_path: Path) -> None:
    """After kill -9 of one of two, torchrun's agent ends the rest, and the run can be resumed."""
    config = write_config(tmp_path, steps=400)
    run = RunDirectory(tmp_path / "runs" / "run-01")
    process = command(["train", config, "--runs", run.path.parent, "--name", "run", "--devices", "2"])
    assert wait_for_step(process, run, 5)
    children = _children(process.pid)
    assert len(children) == 2
    start = time.monotonic()
    os.kill(children[1], signal.SIGKILL)
    code, told = finish(process)

    assert code == 1, told
    assert time.monotonic() - start < 60
    assert "was killed by signal 9; the others were ended" in told
    assert not any(Path(f"/proc/{child}").exists() for child in children)


@pytest.mark.long
def test_ctrl_c_reaches_two_processes_twice_and_they_save(tmp_path: Path) -> None:
    """A terminal sends it to every process, and torchrun's agent hands it on once more."""
    config = write_config(tmp_path, steps=400, accumulate=1)
    run = RunDirectory(tmp_path / "runs" / "run-01")
    process = command(["train", config, "--runs", run.path.parent, "--name", "run", "--devices", "2"])
    assert wait_for_step(process, run, 5)
    os.killpg(process.pid, signal.SIGINT)
    code, told = finish(process)

    assert code == 130, told
    assert told.count("everything is saved") == 1 and "Traceback" not in told
    assert told.splitlines()[-1] == f"hint:  glassformer train --resume {run.path}"
    assert run.read_info()["status"] == "stopped"


def _children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == parent and b"glassformer" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return sorted(found)
