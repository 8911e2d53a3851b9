"""Many saves are made here: where there is a disk in memory, they are made there."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_DISK_IN_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="session")
def memory() -> Iterator[Path]:
    """A folder on which fsync costs nothing, if the system has such a place."""
    with tempfile.TemporaryDirectory(dir=_DISK_IN_MEMORY if _DISK_IN_MEMORY.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture
def tmp_path(memory: Path) -> Path:
    """A folder of the test's own."""
    return Path(tempfile.mkdtemp(dir=memory))
