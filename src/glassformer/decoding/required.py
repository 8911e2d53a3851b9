"""Terms that an output has to contain: dynamic beam allocation (Post & Vilar 2018).

The beam is divided into banks by the number of required tokens a hypothesis has said. Each bank keeps its
best, so that hypotheses which have met more are not crowded out by cheaper ones that have met less, and
only one that has met everything may end. Whatever bank is the highest always has a place: terms are met, if
the limit leaves room.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from glassformer.decoding.hypothesis import Query, Specials
from glassformer.decoding.selection import Candidates

NEVER = float("-inf")
Term = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a hypothesis is with the terms it has to contain."""

    unmet: tuple[Term, ...]
    begun: Term = ()
    """The longest beginning of an unmet term that the hypothesis ends with."""

    def after(self, token: int) -> "Progress":
        """The progress when this token comes next; a term that is broken off has to be begun again."""
        said = (*self.begun, token)
        unmet = tuple(term for term in self.unmet if said[-len(term) :] != term)
        for start in range(len(said)):
            if any(term[: len(said) - start] == said[start:] for term in unmet):
                return Progress(unmet, said[start:])
        return Progress(unmet)

    def wanted(self) -> set[int]:
        """The tokens that begin an unmet term, or go on with one."""
        ends = [self.begun[start:] for start in range(len(self.begun) + 1)]
        return {term[len(end)] for term in self.unmet for end in ends if term[: len(end)] == end}

    @property
    def missing(self) -> int:
        """How many tokens are still to be said."""
        return sum(map(len, self.unmet)) - len(self.begun)


class _Option(NamedTuple):
    total: float
    row: int
    token: int
    missing: int


class RequiredTerms:
    """The progress of every row, for the queries of a batch that require terms; the others are left alone."""

    def __init__(self, queries: Sequence[Query], specials: Specials) -> None:
        self._end = specials.end
        self._rows = {
            i: [Progress(tuple(dict.fromkeys(query.required)))]
            for i, query in enumerate(queries)
            if query.required
        }

    def select(self, found: Candidates, cost: Tensor, total: Tensor, live: Sequence[int]) -> Candidates:
        """The candidates, replaced by an allocation to banks for the inputs that require terms."""
        for place, query in enumerate(live):
            if query in self._rows:
                self._allocate(found, place, cost[place], total[place], self._rows[query])
        return found

    def advance(self, live: Sequence[int], parent: Tensor, token: Tensor) -> None:
        """Follow the rows of the next step."""
        for place, query in enumerate(live):
            if query in self._rows:
                rows = self._rows[query]
                chosen = zip(parent[place].tolist(), token[place].tolist(), strict=True)
                self._rows[query] = [rows[row].after(next_token) for row, next_token in chosen]

    def met(self, query: int, n_rows: int) -> list[int]:
        """How far each row is, to rank hypotheses that met the limit first; 0 where nothing is required."""
        return [-row.missing for row in self._rows[query]] if query in self._rows else [0] * n_rows

    def _allocate(
        self, found: Candidates, place: int, cost: Tensor, total: Tensor, rows: Sequence[Progress]
    ) -> None:
        size, room = found.kept.size(1), found.token.size(1)
        options = self._options(cost, total, rows, room)
        complete = [option for option in options if option.missing == 0][:size]
        ends = [option for option in complete if option.token == self._end]
        kept = divide([option for option in options if option.token != self._end], size)
        chosen = [*ends, *kept]
        blank = [_Option(NEVER, 0, self._end, 0)] * (room - len(chosen))
        for column, values in zip(found[:3], list(zip(*chosen, *blank, strict=True))[:3], strict=True):
            column[place] = torch.tensor(values, dtype=column.dtype)
        found.ends[place] = torch.arange(room) < len(ends)
        # Rows without a continuation are given a place that holds </s>, which no row can continue.
        spare = [*range(len(ends)), *range(len(chosen), room)]
        places = [*range(len(ends), len(chosen)), *spare][:size]
        found.kept[place] = torch.tensor(places)

    def _options(self, cost: Tensor, total: Tensor, rows: Sequence[Progress], room: int) -> list[_Option]:
        """The best continuations, the best one of each row, and every one that helps a term; best first."""
        sums = total[:, None] + cost
        unready = [row for row, progress in enumerate(rows) if progress.unmet]
        sums[unready, self._end] = NEVER
        best = sums.flatten().topk(room).indices
        pairs = set(zip((best // sums.size(1)).tolist(), (best % sums.size(1)).tolist(), strict=True))
        pairs |= set(enumerate(sums.argmax(1).tolist()))
        pairs |= {(row, token) for row, progress in enumerate(rows) for token in progress.wanted()}
        options = [
            _Option(float(sums[row, token]), row, token, rows[row].after(token).missing)
            for row, token in pairs
        ]
        return sorted((option for option in options if option.total > NEVER), key=lambda o: (-o.total, o))


def divide(options: Sequence[_Option], size: int) -> list[_Option]:
    """The options that get a place: each bank an equal share of its best, what is left over to the fullest.

    Options come best first and are given back so.
    """
    banks: dict[int, list[_Option]] = {}
    for option in options:
        banks.setdefault(option.missing, []).append(option)
    most_met_first = [banks[missing] for missing in sorted(banks)]
    kept: set[_Option] = set()
    for share in _shares(len(most_met_first), size):
        kept.update(most_met_first[share.bank][: share.places])
    rest = (option for bank in most_met_first for option in bank if option not in kept)
    kept.update(_first(rest, size - len(kept)))
    return [option for option in options if option in kept]


class _Share(NamedTuple):
    bank: int
    places: int


def _shares(n_banks: int, size: int) -> list[_Share]:
    """Equal places for each bank, one more for those that have met most."""
    return (
        [_Share(bank, size // n_banks + (bank < size % n_banks)) for bank in range(n_banks)]
        if n_banks
        else []
    )


def _first(options: Iterable[_Option], n: int) -> list[_Option]:
    return [option for option, _ in zip(options, range(n), strict=False)]
