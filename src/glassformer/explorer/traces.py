"""Traces kept in memory, as many as fit; the one used longest ago goes first."""

import hashlib
import json
from collections import OrderedDict
from dataclasses import dataclass
from threading import RLock
from typing import Any

from glassformer.explorer.answers import Missing, Problem
from glassformer.probe import Trace


@dataclass(frozen=True, slots=True)
class Kept:
    """A trace with where it came from."""

    id: str
    run: str
    checkpoint: str
    step: int
    request: dict[str, Any]
    trace: Trace

    @property
    def n_bytes(self) -> int:
        """Tensors, and a guess at the rest."""
        return self.trace.n_bytes + 4096


class TraceStore:
    """Traces by id."""

    def __init__(self, limit: int) -> None:
        self._limit, self._bytes = limit, 0
        self._lock = RLock()  # the model's thread adds, the server's reads
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._gone: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, name: str) -> bool:
        return name in self._kept

    @property
    def n_bytes(self) -> int:
        """What all of them take."""
        return self._bytes

    def add(self, kept: Kept) -> None:
        """Keep one more; others go, but never this one."""
        with self._lock:
            self.drop(kept.id)
            self._kept[kept.id] = kept
            self._sizes[kept.id] = kept.n_bytes
            self._bytes += self._sizes[kept.id]
            self._gone.pop(kept.id, None)
            while self._bytes > self._limit and len(self._kept) > 1:
                self.drop(next(iter(self._kept)))

    def get(self, name: str) -> Kept:
        """The trace of that id."""
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
        if name in self._gone:
            raise Problem(410, f"trace {name} is not kept any more; ask the same question again")
        raise Missing(f"there is no trace {name!r}")

    def drop(self, name: str) -> None:
        """Free its memory, if it is here."""
        with self._lock:
            if name in self._kept:
                del self._kept[name]
                self._bytes -= self._sizes.pop(name)
                self._gone[name] = None
                while len(self._gone) > 10_000:
                    self._gone.popitem(last=False)


def trace_id(request: dict[str, Any], fingerprint: str) -> str:
    """The same question to the same weights has the same name."""
    told = json.dumps([fingerprint, request], sort_keys=True, ensure_ascii=False).encode()
    return hashlib.sha256(told).hexdigest()[:16]
