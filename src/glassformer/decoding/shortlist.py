"""A lexical shortlist: the few target tokens worth considering for a source, and nothing else.

The projection to the vocabulary is a large part of a step. With a shortlist only the rows of its matrix
that a source may need are used. Each input has its own list, whatever else is in the batch, and
probabilities are over that list alone: they are a little higher than those over the whole vocabulary.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from glassformer.decoding.hypothesis import Query, Specials
from glassformer.errors import CheckpointError

Ints = NDArray[np.int64]
FILE = "shortlist.safetensors"
LIMIT = 200_000_000
"""Bytes of such a file at most."""

_FORMAT = "glassformer-shortlist-1"


class Shortlist:
    """Target ids for each source id, best first, and ids that are always allowed."""

    def __init__(self, offsets: Ints, targets: Ints, always: Ints) -> None:
        """The targets of source id s are ``targets[offsets[s] : offsets[s + 1]]``."""
        self.offsets = offsets
        self.targets = targets
        self.always = always

    @classmethod
    def build(
        cls, pairs: Iterable[tuple[int, int]], n_source_ids: int, *, per_source: int = 20, frequent: int = 100
    ) -> "Shortlist":
        """From aligned (source id, target id) pairs: the partners seen most often, and the most frequent ids.

        Ties are settled by id, so the same pairs always give the same list.
        """
        found = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
        unique, counts = np.unique(found, axis=0, return_counts=True)
        occurrences = np.bincount(found[:, 1])
        return cls.of_weights(
            unique, counts, occurrences, n_source_ids, per_source=per_source, frequent=frequent
        )

    @classmethod
    def of_weights(
        cls,
        pairs: Ints,
        weights: NDArray[Any],
        occurrences: Ints,
        n_source_ids: int,
        *,
        per_source: int = 20,
        frequent: int = 100,
    ) -> "Shortlist":
        """From distinct pairs (n, 2), how strongly each belongs together, and how often target ids occur."""
        ranked = pairs[np.lexsort((pairs[:, 1], -weights, pairs[:, 0]))]
        starts = np.searchsorted(ranked[:, 0], np.arange(n_source_ids + 1))
        kept = np.arange(len(ranked)) - starts[ranked[:, 0]] < per_source
        sizes = np.bincount(ranked[kept, 0], minlength=n_source_ids)
        seen = np.flatnonzero(occurrences)
        always = np.sort(seen[np.argsort(-occurrences[seen], kind="stable")][:frequent])
        return cls(np.concatenate([[0], np.cumsum(sizes)]), ranked[kept, 1], always)

    def candidates(self, source: Sequence[int]) -> Ints:
        """The sorted target ids allowed for a source."""
        lists = [self.targets[self.offsets[i] : self.offsets[i + 1]] for i in set(source)]
        return np.unique(np.concatenate([self.always, *lists]))

    def lists(self, queries: Sequence[Query], specials: Specials) -> list[Ints]:
        """The sorted ids of each query; what a query demands is always on its list."""
        return [
            np.union1d(self.candidates(query.ids), [specials.end, *query.prefix, *sum(query.required, ())])
            for query in queries
        ]

    def to_bytes(self) -> bytes:
        """A safetensors file."""
        largest = max(self.targets.max(initial=0), self.always.max(initial=0))
        ids = np.uint16 if largest < 1 << 16 else np.uint32
        small = {
            "offsets": self.offsets.astype(np.uint32),
            "targets": self.targets.astype(ids),
            "always": self.always.astype(ids),
        }
        return save(small, metadata={"format": _FORMAT})

    @classmethod
    def from_bytes(cls, data: bytes, where: str, n_source_ids: int, vocab_size: int) -> "Shortlist":
        """What ``to_bytes`` gave, if it is for a model with so many ids."""
        try:
            arrays = {name: np.asarray(array, dtype=np.int64) for name, array in load(data).items()}
            found = cls(arrays["offsets"], arrays["targets"], arrays["always"])
        except (KeyError, ValueError, SafetensorError) as error:
            raise CheckpointError(f"{where}: no shortlist ({error})") from None
        if not found._fits(n_source_ids, vocab_size):
            raise CheckpointError(f"{where}: the arrays of this shortlist fit neither together nor the model")
        return found

    def _fits(self, n_source_ids: int, vocab_size: int) -> bool:
        """Whether every source id has a list, and every list only ids of the vocabulary."""
        arrays = (self.offsets, self.targets, self.always)
        if any(array.ndim != 1 for array in arrays) or len(self.offsets) != n_source_ids + 1:
            return False
        ids = np.concatenate([self.targets, self.always])
        known = bool(np.all((ids >= 0) & (ids < vocab_size)))
        rising = bool(np.all(np.diff(self.offsets) >= 0) and np.all(np.diff(self.always) > 0))
        return known and rising and self.offsets[0] == 0 and self.offsets[-1] == len(self.targets)
