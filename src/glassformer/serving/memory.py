"""How much memory this process has, and how much of it is in use."""

import os
import time
from pathlib import Path

_CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
_LOOK_EVERY = 0.25


def budget() -> int:
    """Bytes that this process may use: those of its container, or of the machine."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _CGROUP_LIMITS:
        try:
            return min(machine, int(path.read_text(encoding="ascii")))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return machine


def resident() -> int:
    """Bytes in use."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):  # only Linux has it
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


class MemoryGuard:
    """Says when too large a share of the memory is in use; looks a few times a second at most."""

    def __init__(self, share: float) -> None:
        self._most = int(budget() * share)
        self._looked, self._short = 0.0, False

    def short(self) -> bool:
        """Whether new work should be refused."""
        now = time.monotonic()
        if now - self._looked > _LOOK_EVERY:
            self._looked, self._short = now, resident() > self._most
        return self._short
