"""A session by whichever engine can: the native one where it knows how, else PyTorch."""

from collections.abc import Sequence
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


class NativeSession:
    """A session in the native engine."""

    def __init__(self, decoder: NativeDecoder, most_rows: int = MOST_ROWS) -> None:
        self._decoder = decoder
        self._session = decoder.engine.session(most_rows)

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
    """Both engines as one session; PyTorch's part is made when something is asked that only it can do."""

    def __init__(self, engines: "Engines") -> None:  # type: ignore[type-arg]  # of either family
        self._engines = engines
        self._native = None if engines.native is None else NativeSession(engines.native)
        self._torch: Session | None = None
        self._places: dict[int, _Place] = {}
        self._names: dict[tuple[int, int], int] = {}
        self._next = count()

    def add(self, asked: "Sequence[Asked]") -> list[int]:
        """Let queries join, and give their slots; all of them, or on an error none."""
        parts: dict[int, tuple[Session, list[int]]] = {}
        for i, each in enumerate(asked):
            session = self._fitting(each)
            parts.setdefault(id(session), (session, []))[1].append(i)
        slots = [0] * len(asked)
        done: list[int] = []
        try:
            for session, places in parts.values():
                for i, slot in zip(places, session.add([asked[i] for i in places]), strict=True):
                    slots[i] = next(self._next)
                    self._places[slots[i]] = _Place(session, slot)
                    self._names[id(session), slot] = slots[i]
                    done.append(slots[i])
        except Exception:
            for slot in done:
                self.remove(slot)
            raise
        return slots

    def step(self) -> list[int]:
        """One token further for every query; gives the slots that are complete since."""
        sessions = [session for session in (self._native, self._torch) if session is not None]
        return [self._names[id(session), slot] for session in sessions for slot in session.step()]

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

    def _fitting(self, asked: "Asked") -> "Session":
        if self._native is not None and not Engine.cannot([asked.query], asked.config):
            return self._native
        if self._torch is None:
            from glassformer.decoding.continuous import RunningBatch

            self._torch = RunningBatch(self._engines.pytorch)
        return self._torch
