"""Which target tokens go with which source tokens, learned from training pairs; shortlists are made of it.

Tokens are aligned by the simplest model that learns it from pairs alone (IBM Model 1, Brown et al. 1993):
each target token comes from some token of its source, and expectation maximisation finds out from which.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassformer.data import TokenStore
from glassformer.decoding.alignment import Pairs
from glassformer.decoding.shortlist import Shortlist

Ints = NDArray[np.int64]
SmallInts = NDArray[np.int32]
Floats = NDArray[np.float64]

ROUNDS = 3
"""Of expectation maximisation; the ranking hardly changes after the first few."""
MEETINGS = 32_000_000
"""How often a source and a target token of one pair are looked at together: bounds memory and time."""
CHUNK = 1 << 22
PER_SOURCE, FREQUENT = 100, 200


class Lexicon(NamedTuple):
    """Every source token with every target token it has met, and how the two belong together."""

    keys: Ints
    """Source id · 2³² + target id, in order."""
    counts: Floats
    """How often each pair is aligned, by expectation."""
    chances: Floats
    """How probable the target is, given the source."""

    def links(self, source: Ints, target: Ints) -> Pairs:
        """The places of a pair that are each other's best: few links, most of them right."""
        keys = (source.astype(np.int64) << 32) | target.astype(np.int64)[:, None]  # (target, source)
        places = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        chances = np.where(self.keys[places] == keys, self.chances[places], 0.0)
        best_source, best_target = chances.argmax(1), chances.argmax(0)
        return frozenset(
            (int(s), t) for t, s in enumerate(best_source) if best_target[s] == t and chances[t, s] > 0
        )

    def shortlist(self, n_source_ids: int, occurrences: Ints, *, joint: bool) -> Shortlist:
        """The best partners of each token; ``occurrences`` are those of the target ids.

        Where both sides share a vocabulary a token may always be copied, as names and numbers are.
        """
        pairs, weights = np.stack([self.keys >> 32, self.keys & 0xFFFFFFFF], axis=1), self.counts
        if joint:
            copied = pairs[:, 0] == pairs[:, 1]
            ids = np.arange(n_source_ids)
            pairs = np.concatenate([pairs[~copied], np.stack([ids, ids], axis=1)])
            weights = np.concatenate([weights[~copied], np.full(n_source_ids, np.inf)])
        return Shortlist.of_weights(
            pairs, weights, occurrences, n_source_ids, per_source=PER_SOURCE, frequent=FREQUENT
        )


def learn_lexicon(store: TokenStore) -> Lexicon:
    """From the pairs of a store; of a large one from as many as the bound allows, evenly spread."""
    rows = _chosen(store)
    keys = np.zeros(0, dtype=np.int64)
    for found, _ in _meetings(store, rows):
        keys = np.union1d(keys, found)
    meetings = [
        (np.searchsorted(keys, found).astype(np.int32), place) for found, place in _meetings(store, rows)
    ]
    source = keys >> 32
    counts = chances = np.ones(len(keys))
    for _ in range(ROUNDS):
        counts = np.zeros(len(keys))
        for pair, place in meetings:
            here = chances[pair]
            counts += np.bincount(pair, here / np.bincount(place, here)[place], minlength=len(keys))
        chances = counts / np.bincount(source, counts)[source]
    return Lexicon(keys, counts, chances)


def _chosen(store: TokenStore) -> Ints:
    """Rows that together have no more meetings than the bound, or nearly."""
    meetings = int((store.source_lengths.astype(np.int64) * store.target_lengths).sum())
    return np.arange(0, len(store), max(1, -(-meetings // MEETINGS)))


def _meetings(store: TokenStore, rows: Ints) -> Iterator[tuple[Ints, SmallInts]]:
    """Every source with every target token of one pair, as a key, and which target token it is.

    In chunks; target tokens are numbered anew in each.
    """
    keys: list[Ints] = []
    places: list[SmallInts] = []
    size = before = 0
    for row in rows.tolist():
        source, target = np.unique(store.source(row)).astype(np.int64), store.target(row).astype(np.int64)
        keys.append(((source << 32) | target[:, None]).ravel())
        places.append(np.repeat(np.arange(before, before + len(target), dtype=np.int32), len(source)))
        size, before = size + len(keys[-1]), before + len(target)
        if size >= CHUNK:
            yield np.concatenate(keys), np.concatenate(places)
            keys, places, size, before = [], [], 0, 0
    if keys:
        yield np.concatenate(keys), np.concatenate(places)
