"""A session by whichever engine can: the native one where it knows how, else PyTorch."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from glassformer.decoding.hypothesis import Beginning, Hypothesis
from glassformer.decoding.native import NativeDecoder
from glassformer.engine import Engine

if TYPE_CHECKING:
    from glassformer.decoding.asked import Asked, Session
    from glassformer.decoding.engines import Engines

MOST_ROWS = 1024
"""Hypotheses side by side in a session."""
_COMPANY = 8
"""Sentences that are decoded together before another thread is given any: few are fastest in one batch."""


class NativeSession:
    """A session in the native engine."""

    def __init__(self, decoder: NativeDecoder, most_rows: int = MOST_ROWS) -> None:
        self._decoder = decoder
        self._session = decoder.engine.session(most_rows)

    @property
    def live(self) -> int:
        """Sentences that are not complete."""
        return self._session.live

    def add(self, asked: "Sequence[Asked]") -> list[int]:
        """Let queries join, and give their slots; all of them, or on an error none."""
        decoder = self._decoder
        queries = [each.query for each in asked]
        limits = [decoder.limit(each.query, each.config) for each in asked]
        none = [None] * len(asked)
        lists = none if decoder.shortlist is None else decoder.shortlist.lists(queries, decoder.specials)
        slots: list[int] = []
        try:
            for each, limit, listed in zip(asked, limits, lists, strict=True):
                slots.append(self._session.add(each.query, limit, each.config, decoder.specials, listed))
        except Exception:
            for slot in slots:
                self._session.remove(slot)
            raise
        return slots

    def step(self) -> list[int]:
        """One token further for every query; gives the slots that are complete since."""
        return self._session.step()

    def certain(self, slot: int) -> Beginning:
        """The tokens of an output that nothing will change any more."""
        return self._session.certain(slot)

    def results(self, slot: int) -> list[Hypothesis]:
        """The hypotheses of a slot that is complete, best first."""
        return self._session.results(slot)

    def remove(self, slot: int) -> None:
        """Forget a slot, complete or not."""
        self._session.remove(slot)


class _Place(NamedTuple):
    session: "Session"
    slot: int


class EngineSession:
    """Both engines as one session; PyTorch's part is made when something is asked that only it can do.

    The native engine decodes in as many threads as it has been given, each with its share of the sentences: a
    sentence does not depend on its neighbours, so which thread it is in changes nothing.
    """

    def __init__(self, engines: "Engines") -> None:  # type: ignore[type-arg]  # of either family
        self._engines = engines
        n_threads = 0 if engines.native is None else engines.native.engine.threads
        self._native: list[NativeSession] = []
        self._n_threads = n_threads
        self._pool = ThreadPoolExecutor(max(n_threads - 1, 1), thread_name_prefix="glassformer-native")
        self._torch: Session | None = None
        self._places: dict[int, _Place] = {}
        self._names: dict[tuple[int, int], int] = {}
        self._next = count()

    @property
    def n_parts(self) -> int:
        """Threads of the native engine that have been given sentences."""
        return len(self._native)

    def add(self, asked: "Sequence[Asked]") -> list[int]:
        """Let queries join, and give their slots; all of them, or on an error none."""
        alone: list[Asked] = []  # PyTorch's batch is copied when it grows: once for all of them
        places: list[int] = []
        slots = [-1] * len(asked)
        try:
            for i, each in enumerate(asked):
                native = self._fitting(each)
                if native is None:
                    alone.append(each)
                    places.append(i)
                else:
                    slots[i] = self._keep(native, native.add([each])[0])
            if alone:
                torch = self._pytorch()
                for i, slot in zip(places, torch.add(alone), strict=True):
                    slots[i] = self._keep(torch, slot)
        except Exception:
            for slot in slots:
                if slot >= 0:
                    self.remove(slot)
            raise
        return slots

    def _keep(self, session: "Session", slot: int) -> int:
        own = next(self._next)
        self._places[own] = _Place(session, slot)
        self._names[id(session), slot] = own
        return own

    def step(self) -> list[int]:
        """One token further for every query; gives the slots that are complete since."""
        sessions: list[Session] = [session for session in self._native if session.live]
        if self._torch is not None:
            sessions.append(self._torch)
        others = [self._pool.submit(session.step) for session in sessions[1:]]
        done = [session.step() for session in sessions[:1]] + [other.result() for other in others]
        return [
            self._names[id(session), slot]
            for session, slots in zip(sessions, done, strict=True)
            for slot in slots
        ]

    def certain(self, slot: int) -> Beginning:
        """The tokens of an output that nothing will change any more."""
        place = self._places[slot]
        return place.session.certain(place.slot)

    def results(self, slot: int) -> list[Hypothesis]:
        """The hypotheses of a slot that is complete, best first."""
        place = self._places[slot]
        return place.session.results(place.slot)

    def remove(self, slot: int) -> None:
        """Forget a slot, complete or not."""
        place = self._places.pop(slot)
        del self._names[id(place.session), place.slot]
        place.session.remove(place.slot)

    def _fitting(self, asked: "Asked") -> NativeSession | None:
        """The part of the native engine that a query goes to: the one with the fewest, or another one where
        all have company; none where only PyTorch can do it.
        """
        decoder = self._engines.native
        if decoder is None or Engine.cannot([asked.query], asked.config):
            return None
        least = min(self._native, key=lambda session: session.live, default=None)
        if least is None or (least.live >= _COMPANY and len(self._native) < self._n_threads):
            least = NativeSession(decoder)
            self._native.append(least)
        return least

    def _pytorch(self) -> "Session":
        if self._torch is None:
            from glassformer.decoding.continuous import RunningBatch

            self._torch = RunningBatch(self._engines.pytorch)
        return self._torch
