"""One trainer per run directory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from glassformer.checkpoint import RunLock
from glassformer.errors import CheckpointError

FORKING = """
import os, sys, time
from pathlib import Path
from glassformer.checkpoint.lock import RunLock
RunLock(Path(sys.argv[1])).__enter__()
child = os.fork()
if child:
    print(child, flush=True)
    os._exit(9)
os.closerange(1, 3)
time.sleep(60)
"""


def test_a_second_trainer_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "x"
    code = (
        "import glassformer.checkpoint.lock as lock, pathlib, sys\n"
        "lock.RunLock(pathlib.Path(sys.argv[1])).__enter__()"
    )
    with RunLock(run):
        with pytest.raises(CheckpointError) as refused, RunLock(run):
            pass
        other = subprocess.run([sys.executable, "-c", code, run], capture_output=True, text=True, check=False)
    told = (
        f"{run}: another process (pid {os.getpid()}) is training here; wait for it, or choose another --name"
    )

    assert str(refused.value) == told
    assert told in other.stderr


def test_the_lock_is_free_after_its_holder(tmp_path: Path) -> None:
    with RunLock(tmp_path):
        pass
    with pytest.raises(ZeroDivisionError), RunLock(tmp_path):
        raise ZeroDivisionError
    with RunLock(tmp_path):
        pass


def test_a_data_worker_that_outlives_its_trainer_does_not_keep_the_lock(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FORKING, str(tmp_path)], capture_output=True, check=False)
    child = int(done.stdout)
    try:
        os.kill(child, 0)  # it lives
        with RunLock(tmp_path):
            pass
    finally:
        os.kill(child, 9)


def test_a_directory_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError) as refused, RunLock(tmp_path / "file" / "run"):
        pass

    assert str(refused.value) == (
        f"{tmp_path / 'file' / 'run'}: a file stands where a directory is needed; nothing was changed"
    )
