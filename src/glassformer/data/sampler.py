"""Which rows make which batch: a pure function of the seed and the epoch, found again from one number.

Batches are numbered through all epochs. Every epoch has the same number of them, so a position splits into
epoch and index by division, and any number of processes can share the sequence: process r of w takes the
batches r, r + w, r + 2 w … . Nothing is lost or repeated at the end of an epoch, where a last update simply
goes on with the first batches of the next.

Pairs are sorted by their longer side, which is what the token budget counts, then by the difference of the
two sides, up and down in turn so that neighbours stay alike. Pairs of equal lengths change places at random,
and batches are cut at other places in every epoch.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassformer.errors import ConfigError, DataError

Numbers = NDArray[np.int64]
_ORDER, _WINDOWS = 1, 2  # what a generator is for; each use has numbers of its own


@dataclass(frozen=True, eq=False)
class BatchOrder:
    """The batches of one epoch: ``order[i]`` are the rows of batch i."""

    rows: NDArray[Any]
    """Every row once, those of a batch together."""
    bounds: Numbers
    """Where in ``rows`` each batch begins, and the end."""
    turns: Numbers
    """Which of them comes when."""

    def __len__(self) -> int:
        return len(self.turns)

    def __getitem__(self, index: int) -> Numbers:
        turn = self.turns[index]
        return self.rows[self.bounds[turn] : self.bounds[turn + 1]].astype(np.int64)


class BucketPlan:
    """Batches of rows of like length, each of at most ``batch_tokens`` tokens on its longer side.

    Lengths are given per side and include special tokens. Unshuffled batches are the same in every epoch,
    the shortest first.
    """

    def __init__(
        self, lengths: Sequence[NDArray[Any]], batch_tokens: int, seed: int, *, shuffle: bool = True
    ) -> None:
        self.batch_tokens, self.seed, self.shuffle = batch_tokens, seed, shuffle
        longest = np.maximum(lengths[0], lengths[-1]).astype(np.int64)
        self._refuse_what_never_fits(longest)
        self._keys = _sort_keys(longest, lengths[0], lengths[-1])
        self._levels = _levels(longest)
        self._bounds = _greedy_bounds(self._levels, batch_tokens)
        n_fewest = len(self._bounds) - 1
        # A cut that begins anywhere else needs one batch more at most: see _bounds_of.
        self._n_batches = n_fewest if n_fewest == 1 or not shuffle else min(n_fewest + 1, len(longest))

    @property
    def n_batches(self) -> int:
        """Batches of every epoch."""
        return self._n_batches

    def epoch(self, epoch: int) -> BatchOrder:
        """The batches of an epoch."""
        n_rows = len(self._keys)
        rows = np.arange(n_rows, dtype=np.min_scalar_type(n_rows))
        if not self.shuffle:
            in_order = rows[self._keys.argsort(kind="stable")]
            return BatchOrder(in_order, self._bounds, np.arange(self.n_batches))
        random = np.random.default_rng([_ORDER, self.seed, epoch])
        random.shuffle(rows)
        rows = rows[self._keys[rows].argsort(kind="stable")]  # stable: rows of equal key stay as shuffled
        return BatchOrder(rows, self._bounds_of(random), random.permutation(self.n_batches))

    def _bounds_of(self, random: np.random.Generator) -> Numbers:
        """Where batches begin in one epoch: the first ends at random, so that all are cut differently.

        From any row on, filling batch after batch needs no more batches than the best cut of all rows.
        """
        if self.n_batches == 1:
            return self._bounds
        first = int(random.integers(1, self._bounds[1], endpoint=True))
        bounds = _greedy_bounds(self._levels, self.batch_tokens, first)
        if len(bounds) - 1 < self.n_batches:
            bounds = _halve_widest(bounds)
        return bounds

    def _refuse_what_never_fits(self, longest: Numbers) -> None:
        over = longest > self.batch_tokens
        if over.any():
            raise DataError(
                f"train: batch_tokens = {self.batch_tokens} is less than one row of {longest.max()} tokens, "
                f"special ones included ({over.sum()} of {len(longest)} rows do not fit); "
                f"set batch_tokens to {longest.max()} or more, or lower max_length in [data]"
            )


def cut_anew(lengths: Sequence[NDArray[Any]], n_batches: int, random: np.random.Generator) -> list[Numbers]:
    """Rows of other lengths than they were cut by, in as many batches, each of like lengths; in random order.

    The budget is the least that will do. Rows are given as places in ``lengths``.
    """
    longest = np.maximum(lengths[0], lengths[-1]).astype(np.int64)
    rows = random.permutation(len(longest))
    rows = rows[_sort_keys(longest, lengths[0], lengths[-1])[rows].argsort(kind="stable")]
    levels = _levels(longest)
    least = int(longest.max())
    budgets = range(least, least * len(longest) + 1)
    enough = bisect_left(
        budgets, True, key=lambda budget: len(_greedy_bounds(levels, budget)) <= n_batches + 1
    )
    bounds = _greedy_bounds(levels, budgets[enough])
    while len(bounds) - 1 < n_batches:
        bounds = _halve_widest(bounds)
    batches = np.split(rows, bounds[1:-1])
    return [batches[turn] for turn in random.permutation(n_batches)]


class Windows(NamedTuple):
    """Stretches of a stream of tokens: where each begins, and how long it is."""

    starts: Numbers
    lengths: Numbers


@dataclass(frozen=True, eq=False)
class WindowOrder:
    """The batches of one epoch: ``order[i]`` are the windows of batch i."""

    windows: Windows
    batch_rows: int

    def __len__(self) -> int:
        return -(-len(self.windows.starts) // self.batch_rows)

    def __getitem__(self, index: int) -> Windows:
        batch = slice(index * self.batch_rows, (index + 1) * self.batch_rows)
        return Windows(self.windows.starts[batch], self.windows.lengths[batch])


class WindowPlan:
    """Batches of windows that cover a stream of tokens, each token once per epoch.

    The stream is a ring, entered at another place in each epoch. Unshuffled windows begin with the stream's
    beginning and keep its order.
    """

    def __init__(
        self, n_tokens: int, context_length: int, batch_tokens: int, seed: int, *, shuffle: bool = True
    ) -> None:
        if context_length > batch_tokens:
            raise ConfigError(
                f"train: batch_tokens = {batch_tokens} is less than context_length = {context_length}; "
                "a batch holds at least one window"
            )
        self.n_tokens, self.context_length, self.seed, self.shuffle = n_tokens, context_length, seed, shuffle
        self.batch_rows = batch_tokens // context_length
        self.n_windows = -(-n_tokens // context_length)

    @property
    def n_batches(self) -> int:
        """Batches of every epoch."""
        return -(-self.n_windows // self.batch_rows)

    def epoch(self, epoch: int) -> WindowOrder:
        """The batches of an epoch."""
        starts = np.arange(self.n_windows) * self.context_length
        lengths = np.minimum(self.n_tokens - starts, self.context_length)
        if self.shuffle:
            random = np.random.default_rng([_WINDOWS, self.seed, epoch])
            turns = random.permutation(self.n_windows)
            starts = (starts[turns] + random.integers(self.n_tokens)) % self.n_tokens
            lengths = lengths[turns]
        return WindowOrder(Windows(starts, lengths), self.batch_rows)


def fill(lengths: NDArray[Any], order: BatchOrder) -> float:
    """The share of positions on one side of all batches of an epoch that are no padding."""
    in_order = lengths[order.rows]
    widest = np.maximum.reduceat(in_order, order.bounds[:-1])
    return float(in_order.sum(dtype=np.int64) / (widest * np.diff(order.bounds)).sum())


def _sort_keys(longest: Numbers, source: NDArray[Any], target: NDArray[Any]) -> NDArray[Any]:
    """For each row a number by which to sort, in the smallest type that can hold it: it sorts fastest."""
    highest = int(longest.max())
    span = 2 * highest + 1
    keys: Numbers = np.subtract(source, target, dtype=np.int64)
    keys[longest % 2 == 1] *= -1
    keys += longest * span + highest
    return keys.astype(np.min_scalar_type((highest + 1) * span))


def _levels(longest: Numbers) -> list[tuple[int, int]]:
    """Each length there is, ascending, and how many rows have it."""
    counts = np.bincount(longest)
    return [(int(length), int(counts[length])) for length in np.flatnonzero(counts)]


def _halve_widest(bounds: Numbers) -> Numbers:
    """One batch more: that of the most rows becomes two."""
    widest = int(np.diff(bounds).argmax())
    return np.insert(bounds, widest + 1, (bounds[widest] + bounds[widest + 1]) // 2)


def _greedy_bounds(levels: list[tuple[int, int]], batch_tokens: int, first: int = 0) -> Numbers:
    """Where batches begin when each takes all it can hold, after a first one of ``first`` rows.

    Levels are lengths, ascending, with the number of rows that have them: rows need not be looked at.
    """
    cuts = [np.array([0, first] if first else [0])]
    begin, start = first, 0  # of the batch being filled; of the level
    for length, count in levels:
        size, stop = batch_tokens // length, start + count
        found = np.arange(max(begin + size, start), stop, size)
        if len(found):
            cuts.append(found)
            begin = int(found[-1])
        start = stop
    return np.concatenate([*cuts, [start]])
