"""Training in processes of its own, by the command that users type; killed and resumed."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from glassformer.config import to_toml
from glassformer.training import RunDirectory
from tests.support.corpora import stateful_run

STEPS = 40


def write_config(folder: Path, *, steps: int = STEPS, **train: object) -> Path:
    """Settings of a run with everything that keeps state, and a validation or a save every few steps."""
    settings = {"validate_every": 10, "save_every": 3, "keep_last": 3}
    config = stateful_run(folder, steps=steps, **(settings | train))
    path = folder / "glassformer.toml"
    path.write_text(to_toml(config), encoding="utf-8")
    return path


def command(arguments: Sequence[str | Path]) -> subprocess.Popen[str]:
    """``glassformer …`` in a session of its own, so that all its processes can be killed at once."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": "src", "MPLBACKEND": "Agg"}
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *map(str, arguments)],
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# Drawing takes longer than all the rest, and slow steps give a killer time to aim.
_PROGRAM = """
import time
import glassformer.training.trainer as trainer
from glassformer.cli import main
trainer.draw_run = lambda *_: None
update = trainer.update
def slowly(*arguments, **options):
    time.sleep(0.02)
    return update(*arguments, **options)
trainer.update = slowly
main()
"""


def finish(process: subprocess.Popen[str], timeout: float = 240) -> tuple[int, str]:
    """The exit code, and what was told to people."""
    _, told = process.communicate(timeout=timeout)
    return process.returncode, told


def kill(process: subprocess.Popen[str]) -> None:
    """End a command and every process it has started, now."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def wait_for_step(process: subprocess.Popen[str], run: RunDirectory, step: int) -> bool:
    """Until a step is recorded; False if the process ends before."""
    return _wait(process, lambda: last_step(run) >= step)


def wait_inside_save(process: subprocess.Popen[str], run: RunDirectory, step: int) -> bool:
    """Until a checkpoint after a step is being written; False if the process ends before."""
    left = set(run.checkpoints.glob(".tmp-*"))
    return wait_for_step(process, run, step) and _wait(
        process, lambda: any(set(run.checkpoints.glob(".tmp-*")) - left)
    )


def last_step(run: RunDirectory) -> int:
    """The last step in metrics.jsonl."""
    try:
        text = run.metrics.read_text(encoding="utf-8")
    except FileNotFoundError:
        return 0
    numbers = [line.split('"step": ')[1].split(",")[0] for line in text.split("\n") if '"step": ' in line]
    return max(map(int, numbers), default=0)


def kill_at_random(
    process: subprocess.Popen[str],
    run: RunDirectory,
    choose: random.Random,
    *,
    inside_save: bool,
    reach: int,
    steps: int = STEPS,
) -> str:
    """Kill within the next ``reach`` steps, inside a save or anywhere; where it was, or "finished"."""
    step = last_step(run) + choose.randint(0, reach)
    left = set(run.checkpoints.glob(".tmp-*"))  # by those killed before
    waiting = wait_inside_save if inside_save else wait_for_step
    if not waiting(process, run, min(step, steps - 2)):
        code, told = finish(process)
        assert code == 0, told  # ended before it was killed, and not of itself
        return "finished"
    time.sleep(choose.random() * (0.002 if inside_save else 0.05))
    kill(process)
    return "save" if set(run.checkpoints.glob(".tmp-*")) - left else "step"


def _wait(process: subprocess.Popen[str], there: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 240
    while not there():
        if process.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.0005)
    return True
