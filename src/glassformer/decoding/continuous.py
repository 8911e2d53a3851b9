"""A batch without an end: queries join and leave between steps, each decoded as if it were alone.

Searches and samplings are those of ``search`` and ``sampling``, one for the queries that joined together and
are asked alike. They share each pass through the model: the rows of all of them stand below each other,
brought to one length by padding before their beginning.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count

import torch
from torch import Tensor

from glassformer.config import DecodeConfig
from glassformer.decoding.asked import Asked
from glassformer.decoding.generation import Decoder
from glassformer.decoding.hypothesis import Beginning, Hypothesis, Query
from glassformer.decoding.joining import JoinedRows
from glassformer.decoding.sampling import Sampling
from glassformer.decoding.search import BeamSearch
from glassformer.decoding.shortlisted import ShortlistedRows
from glassformer.decoding.step import average, log_softmax
from glassformer.errors import InputError


class RunningBatch:
    """A session on PyTorch. ``add``, then ``step`` until a slot is complete, then ``remove`` it."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._rows = [JoinedRows(model, decoder.specials) for model in decoder.models]
        self._cohorts: list[_Cohort] = []
        self._slots: dict[int, tuple[_Cohort, int]] = {}
        self._names = count()

    @property
    def n_rows(self) -> int:
        """Hypotheses side by side."""
        return sum(cohort.seat.n_rows for cohort in self._cohorts)

    def add(self, asked: Sequence[Asked]) -> list[int]:
        """Let queries join, and give their slots; those that are asked alike are searched together."""
        alike: dict[DecodeConfig, list[int]] = {}
        for i, each in enumerate(asked):
            alike.setdefault(each.config, []).append(i)
        begun = [
            (places, self._begin(config, [asked[i].query for i in places]))
            for config, places in alike.items()
        ]
        slots = [0] * len(asked)
        for places, cohort in begun:
            for rows in self._rows:
                rows.join(cohort.queries)
            for query, i in enumerate(places):
                slots[i] = next(self._names)
                self._slots[slots[i]] = (cohort, query)
                cohort.slots.append(slots[i])
            self._cohorts.append(cohort)
            self._rearrange()  # a run may have asked for more rows than one for each query
        return slots

    def step(self) -> list[int]:
        """One token further for every query; gives the slots that are complete since."""
        if not self._cohorts:
            return []
        finished: list[int] = []
        self._spread()
        for cohort in self._cohorts:
            before = cohort.run.live
            cohort.run.step()
            finished += [cohort.slots[query] for query in sorted(before - cohort.run.live)]
            cohort.leave()
        self._rearrange()
        return [slot for slot in finished if slot in self._slots]

    def certain(self, slot: int) -> Beginning:
        """The tokens of an output that nothing will change any more."""
        cohort, query = self._slots[slot]
        return cohort.run.certain(query) if cohort.stepped else Beginning()

    def results(self, slot: int) -> list[Hypothesis]:
        """The hypotheses of a slot that is complete, best first."""
        cohort, query = self._slots[slot]
        return cohort.run.results()[query]

    def remove(self, slot: int) -> None:
        """Forget a slot, complete or not; its place is free from the next step on."""
        cohort, query = self._slots.pop(slot)
        cohort.leaving.add(query)
        if cohort.stepped:
            cohort.leave()
            self._rearrange()

    @torch.inference_mode()
    def _spread(self) -> None:
        """Give every run the log-probabilities of what comes next in its rows: one pass for all."""
        newest = torch.cat([cohort.run.newest for cohort in self._cohorts])
        hidden = [rows.hidden(newest) for rows in self._rows]
        seats = [cohort.seat for cohort in self._cohorts]
        sizes = [seat.n_rows for seat in seats]
        if self._decoder.shortlist is None:
            members = zip(self._decoder.models, hidden, strict=True)
            spread = average([log_softmax(model.output(x)[:, -1]) for model, x in members])
            for seat, own in zip(seats, spread.split(sizes), strict=True):
                seat.spread = own
            return
        for seat, *own_hidden in zip(seats, *(x.split(sizes) for x in hidden), strict=True):
            if seat.listed is not None:
                seat.spread = seat.listed.log_probabilities(own_hidden)

    def _begin(self, config: DecodeConfig, queries: list[Query]) -> "_Cohort":
        """A run for queries that are asked alike; nothing has joined yet if one of them is refused."""
        if config.coverage > 0:
            raise InputError("coverage looks at one batch alone; set coverage = 0")
        decoder = self._decoder
        first = [decoder.specials.start if self._rows[0].has_source else query.ids[-1] for query in queries]
        listed = None
        if decoder.shortlist is not None:
            lists = decoder.shortlist.lists(queries, decoder.specials)
            listed = ShortlistedRows(lists, [model.output for model in decoder.models])
        seat = _Seat(torch.tensor(first), listed)
        run = decoder.begin(queries, config, stepper=seat)
        return _Cohort(queries, run, seat)

    def _rearrange(self) -> None:
        """Bring the joined rows into the order that the runs have asked for since the last time."""
        seats = [cohort.seat for cohort in self._cohorts]
        if any(seat.moved for seat in seats):
            starts = accumulate((seat.n_before for seat in seats), initial=0)
            order = torch.cat([seat.order + start for seat, start in zip(seats, starts, strict=False)])
            same_inputs = all(seat.same_inputs for seat in seats)
            for rows in self._rows:
                rows.reorder(order, same_inputs=same_inputs)
            for seat in seats:
                seat.settle()
        self._cohorts = [cohort for cohort in self._cohorts if cohort.seat.n_rows]


class _Seat:
    """The rows of one run among the joined ones: the run moves them, the batch carries it out later."""

    attention: Tensor | None = None

    def __init__(self, first: Tensor, listed: ShortlistedRows | None) -> None:
        self._first, self.listed = first, listed
        self.spread: Tensor
        self.order: Tensor
        self.settle_to(len(first))

    def start(self, queries: Sequence[Query]) -> Tensor:  # noqa: ARG002 - they join by another way
        return self._first

    def log_probabilities(self, last_ids: Tensor) -> Tensor:  # noqa: ARG002 - they were fed already
        return self.spread

    def keep(self, rows: Tensor) -> None:
        self.order, self.moved, self.same_inputs = self.order[rows], True, False
        if self.listed is not None:
            self.listed.keep(rows)

    def continue_from(self, rows: Tensor) -> None:
        if not torch.equal(rows, torch.arange(len(rows))):
            self.order, self.moved = self.order[rows], True

    @property
    def n_rows(self) -> int:
        return len(self.order)

    def clear(self) -> None:
        """No rows any more."""
        self.keep(torch.zeros(0, dtype=torch.long))

    def settle(self) -> None:
        """The joined rows are in the order asked for."""
        self.settle_to(len(self.order))

    def settle_to(self, n_rows: int) -> None:
        self.n_before, self.moved, self.same_inputs = n_rows, False, True
        self.order = torch.arange(n_rows)


@dataclass(eq=False)
class _Cohort:
    """Queries that joined together and are asked alike."""

    queries: list[Query]
    run: BeamSearch | Sampling
    seat: _Seat
    slots: list[int] = field(default_factory=list)
    leaving: set[int] = field(default_factory=set)
    stepped: bool = False

    def leave(self) -> None:
        """Take out the queries that were removed, and all rows once none is left."""
        self.stepped = True
        for query in self.leaving & self.run.live:
            self.run.drop(query)
        self.leaving.clear()
        if self.run.done:
            self.seat.clear()
