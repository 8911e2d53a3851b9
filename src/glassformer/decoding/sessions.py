"""A session by whichever engine can: the native one where it knows how, else PyTorch."""

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from glassformer.decoding.hypothesis import Beginning, Hypothesis
from glassformer.decoding.native import NativeDecoder
from glassformer.engine import Engine

if TYPE_CHECKING:
    from glassformer.decoding.asked import Asked, Session
    from glassformer.decoding.continuous import RunningBatch
    from glassformer.decoding.engines import Engines

MOST_ROWS = 1024
"""Hypotheses side by side in a session."""
_NOTHING = Beginning((), ())
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

    The native engine decodes in as many threads as it has been given, a share of the sentences in each: a
    sentence does not depend on its neighbours, so which share it is in changes nothing. None waits for
    another: a step ends when one share has made its own, and while its results are seen to the others go on.
    """

    def __init__(self, engines: "Engines") -> None:  # type: ignore[type-arg]  # of either family
        self._engines = engines
        n_threads = 0 if engines.native is None else engines.native.engine.threads
        self._native: list[NativeSession] = []
        self._most_shares = n_threads + 1 if n_threads > 1 else 1  # one is seen to while the others run
        self._pool = ThreadPoolExecutor(max(n_threads, 1), thread_name_prefix="glassformer-native")
        self._torch: RunningBatch | None = None
        self._going: dict[Session, Future[list[int]]] = {}
        self._complete: list[int] = []
        self._places: dict[int, _Place] = {}
        self._names: dict[tuple[int, int], int] = {}
        self._next = count()

    @property
    def n_shares(self) -> int:
        """Shares of the native engine that have been given sentences."""
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
                self._settle(torch)
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
        """One token further for the queries of a share, or of several; gives the slots complete since."""
        idle: list[Session] = [each for each in self._native if each.live and each not in self._going]
        if self._torch is not None and self._torch.n_rows and self._torch not in self._going:
            idle.append(self._torch)
        if len(idle) == 1 and not self._going:
            self._note(idle[0], idle[0].step())
        else:
            self._going |= {each: self._pool.submit(each.step) for each in idle}
            wait(self._going.values(), return_when=FIRST_COMPLETED)
            for session in [session for session, going in self._going.items() if going.done()]:
                self._settle(session)
        complete, self._complete = self._complete, []
        return [slot for slot in complete if slot in self._places]

    def _settle(self, session: "Session") -> None:
        """Wait until a share has made its step."""
        if session in self._going:
            self._note(session, self._going.pop(session).result())

    def _note(self, session: "Session", slots: list[int]) -> None:
        self._complete += [self._names[id(session), slot] for slot in slots]

    def certain(self, slot: int) -> Beginning:
        """The tokens of an output that nothing will change any more; none while its share makes a step."""
        place = self._places[slot]
        return _NOTHING if place.session in self._going else place.session.certain(place.slot)

    def results(self, slot: int) -> list[Hypothesis]:
        """The hypotheses of a slot that is complete, best first."""
        place = self._places[slot]
        return place.session.results(place.slot)

    def remove(self, slot: int) -> None:
        """Forget a slot, complete or not."""
        self._settle(self._places[slot].session)
        place = self._places.pop(slot)
        del self._names[id(place.session), place.slot]
        place.session.remove(place.slot)

    def _fitting(self, asked: "Asked") -> NativeSession | None:
        """The share of the native engine that a query joins: of those that wait the one with the fewest, or
        another one where all have company; none where only PyTorch can do it.
        """
        decoder = self._engines.native
        if decoder is None or Engine.cannot([asked.query], asked.config):
            return None
        waiting = [each for each in self._native if each not in self._going]
        least = min(waiting or self._native, key=lambda session: session.live, default=None)
        if least is None or (least.live >= _COMPANY and len(self._native) < self._most_shares):
            least = NativeSession(decoder)
            self._native.append(least)
        self._settle(least)
        return least

    def _pytorch(self) -> "RunningBatch":
        if self._torch is None:
            from glassformer.decoding.continuous import RunningBatch

            self._torch = RunningBatch(self._engines.pytorch)
        return self._torch
