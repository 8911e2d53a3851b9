"""P3, P4, P5: whatever happens to a save or to a file, the newest checkpoint that is whole is found.

The folders are tiny, so that all places can be tried and not a few of them.
"""

import errno
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from glassformer.checkpoint import Checkpoint, CheckpointStore, verify
from glassformer.checkpoint.files import remove_stale, write_directory, write_file
from glassformer.errors import CheckpointError
from tests.unit.checkpoint.faults import Crash, failing
from tests.unit.checkpoint.tiny import filled_store, groups, save

STEP = 5  # long enough after step 3 to enter the history, and the oldest but the best must go


def calls_of_a_save(folder: Path) -> list[str]:
    store = filled_store(folder)
    with failing(None, Crash) as calls:
        save(store, STEP, best=True)
    return calls


def newest(folder: Path) -> Checkpoint:
    """What a new process would resume from; verified once more, and bit for bit what was saved."""
    found = CheckpointStore(folder, 2).latest()
    assert found is not None
    verify(found.path)
    for group, members in groups(found.step).items():
        loaded = found.tensors(group)
        assert all(torch.equal(loaded[name], tensor) for name, tensor in members.items())
    return found


def goes_on(folder: Path) -> None:
    """The next save of the next process succeeds and leaves nothing of the dead one."""
    store = CheckpointStore(folder, 2)
    remove_stale(folder, older_than=-1)
    remove_stale(folder / "history", older_than=-1)
    save(store, STEP + 1, best=True)

    assert newest(folder).step == STEP + 1
    assert [path.name for path in folder.rglob(".*")] == []


def test_a_save_that_dies_at_any_call_leaves_a_valid_latest(tmp_path: Path) -> None:
    calls = calls_of_a_save(tmp_path / "all")
    found = []
    for at in range(1, len(calls) + 1):
        store = filled_store(tmp_path / str(at))
        with pytest.raises(Crash), failing(at, Crash):
            save(store, STEP, best=True)
        checkpoint = newest(store.folder)
        found.append(checkpoint.step)
        assert checkpoint.skipped == ()
        goes_on(store.folder)

    assert len(found) == len(calls) > 60
    assert found == sorted(found)  # the old one up to some call, the new one from then on
    assert set(found) == {3, STEP}
    print(f"{len(found)} of {len(calls)} places where a save can die")


def test_a_save_whose_process_exits_at_any_call_leaves_a_valid_latest(tmp_path: Path) -> None:
    """The same with a real end of a process, which runs no ``finally`` and no ``except``."""
    n_calls = len(calls_of_a_save(tmp_path / "all"))
    for at in range(1, n_calls + 1):
        store = filled_store(tmp_path / str(at))
        child = os.fork()
        if child == 0:
            with failing(at, lambda: os._exit(7)):
                save(store, STEP, best=True)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

        assert newest(store.folder).step in (3, STEP)
        goes_on(store.folder)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_save_that_fails_at_any_call_leaves_a_valid_latest(tmp_path: Path, code: int) -> None:
    calls = calls_of_a_save(tmp_path / "all")
    told = set()
    for at in range(1, len(calls) + 1):
        store = filled_store(tmp_path / str(at))
        with failing(at, lambda: OSError(code, os.strerror(code))):
            try:
                save(store, STEP, best=True)
            except CheckpointError as error:
                told.add(str(error).replace(str(store.folder), "checkpoints"))
        assert newest(store.folder).step in (3, STEP)
        goes_on(store.folder)

    assert all("\n" not in line for line in told)
    assert len(told) > 0


def test_a_full_disk_is_one_line_and_the_next_save_succeeds(tmp_path: Path) -> None:
    calls = calls_of_a_save(tmp_path / "all")
    for at, call in enumerate(calls, start=1):
        if call != "write":
            continue
        store = filled_store(tmp_path / str(at))
        before = newest(store.folder)
        with (
            pytest.raises(
                CheckpointError, match=r"^[^\n]*: disk is full \([^\n]* free\); [^\n]*$"
            ) as refused,
            failing(at, lambda: OSError(errno.ENOSPC, "No space left on device")),
        ):
            save(store, STEP, best=True)
        if newest(store.folder).step == before.step:
            assert str(refused.value).endswith("; earlier checkpoints are intact")
        assert [path.name for path in store.folder.rglob(".*")] == []
        save(store, STEP, best=True)
        assert newest(store.folder).step == STEP


def flipped(folder: Path, number: int) -> Path:
    """One bit of one file of the newest checkpoint, by lot."""
    lot = random.Random(number)
    path = lot.choice(sorted(folder.iterdir()))
    data = bytearray(path.read_bytes())
    data[lot.randrange(len(data))] ^= 1 << lot.randrange(8)
    path.write_bytes(data)
    return path


def test_300_flipped_bits_are_300_refusals_and_the_previous_is_used(tmp_path: Path) -> None:
    filled_store(tmp_path / "sound")
    refused = set()
    for number in range(300):
        shutil.copytree(tmp_path / "sound", tmp_path / "x")
        path = flipped(tmp_path / "x" / "step-000003", number)
        found = newest(tmp_path / "x")
        assert found.step == 2
        assert len(found.skipped) == 1
        assert "step-000003" in found.skipped[0]
        assert path.name in found.skipped[0] or path.name == "manifest.json"
        refused.add(path.name)
        shutil.rmtree(tmp_path / "x")

    assert refused == {"manifest.json", "model.safetensors", "optim.safetensors", "state.json"}


def test_100_truncations_are_100_refusals_and_the_previous_is_used(tmp_path: Path) -> None:
    filled_store(tmp_path / "sound")
    for number in range(100):
        shutil.copytree(tmp_path / "sound", tmp_path / "x")
        lot = random.Random(number)
        path = lot.choice(sorted((tmp_path / "x" / "step-000003").iterdir()))
        os.truncate(path, lot.randrange(path.stat().st_size))
        found = newest(tmp_path / "x")
        assert found.step == 2
        assert path.name in found.skipped[0]
        shutil.rmtree(tmp_path / "x")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 600 kB, where we may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=600k", "glassformer-test", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command; the injected full disk above is what is tested here")
    if done.returncode:
        pytest.skip(f"a small disk needs root: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_really_full_loses_nothing(small_disk: Path) -> None:
    """P5: a disk of 1.5 checkpoints."""
    store = CheckpointStore(small_disk / "checkpoints", keep_last=1)

    def large(step: int) -> dict[str, dict[str, torch.Tensor]]:
        return {"optim": {"a": torch.full((100_000,), float(step))}}

    store.save(1, large(1), {})
    with pytest.raises(CheckpointError) as early:
        store.save(2, large(2), {})
    with pytest.raises(CheckpointError) as late:
        write_directory(small_disk / "x", lambda folder: write_file(folder / "a", [bytes(400_000)]))
    found = store.latest()

    assert str(early.value) == (
        f"{store.folder}: disk is full (needs about 400 kB, {free(early)} free); "
        "earlier checkpoints are intact"
    )
    assert str(late.value) == (
        f"{small_disk}: disk is full ({free(late)} free); what was there before is intact"
    )
    assert found is not None
    assert (found.step, found.skipped) == (1, ())
    assert [path.name for path in small_disk.rglob(".*")] == []
    subprocess.run(["mount", "-o", "remount,size=2m", str(small_disk)], check=True)
    store.save(2, large(2), {})
    assert store.steps() == [2]


def free(refused: pytest.ExceptionInfo[CheckpointError]) -> str:
    """How much was free is for the system to say."""
    return str(refused.value).rpartition(" free")[0].rpartition(", ")[2].rpartition("(")[2]
