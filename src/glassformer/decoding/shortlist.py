"""A lexical shortlist: the few target tokens worth considering for a source, and nothing else.

The projection to the vocabulary is a large part of a step. With a shortlist only the rows of its matrix
that a source may need are used. Each input has its own list, whatever else is in the batch, and
probabilities are over that list alone: they are a little higher than those over the whole vocabulary.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from torch import Tensor

from glassformer.decoding.hypothesis import Query, Specials
from glassformer.errors import CheckpointError
from glassformer.nn.output import OutputProjection
from glassformer.nn.shapes import Hidden

Ints = NDArray[np.int64]
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
        ranked = unique[np.lexsort((unique[:, 1], -counts, unique[:, 0]))]
        starts = np.searchsorted(ranked[:, 0], np.arange(n_source_ids + 1))
        kept = np.arange(len(ranked)) - starts[ranked[:, 0]] < per_source
        sizes = np.bincount(ranked[kept, 0], minlength=n_source_ids)
        targets, occurrences = np.unique(found[:, 1], return_counts=True)
        always = np.sort(targets[np.lexsort((targets, -occurrences))][:frequent])
        return cls(np.concatenate([[0], np.cumsum(sizes)]), ranked[kept, 1], always)

    def candidates(self, source: Sequence[int]) -> Ints:
        """The sorted target ids allowed for a source."""
        lists = [self.targets[self.offsets[i] : self.offsets[i + 1]] for i in set(source)]
        return np.unique(np.concatenate([self.always, *lists]))

    def rows(
        self, queries: Sequence[Query], specials: Specials, outputs: Sequence[OutputProjection]
    ) -> "ShortlistedRows":
        """The lists of a batch, one row for each query; what a query demands is always on its list."""
        lists = [
            np.union1d(self.candidates(query.ids), [specials.end, *query.prefix, *sum(query.required, ())])
            for query in queries
        ]
        ids = np.unique(np.concatenate(lists))
        allowed = np.stack([np.isin(ids, listed, assume_unique=True) for listed in lists])
        return ShortlistedRows(torch.from_numpy(ids), torch.from_numpy(allowed), outputs)

    def save(self, path: Path) -> None:
        """Write a safetensors file."""
        arrays = {"offsets": self.offsets, "targets": self.targets, "always": self.always}
        save_file(arrays, path, metadata={"format": _FORMAT})

    @classmethod
    def load(cls, path: Path) -> "Shortlist":
        """Read a file that ``save`` wrote."""
        try:
            arrays = load_file(path)
            found = cls(arrays["offsets"], arrays["targets"], arrays["always"])
        except FileNotFoundError:
            raise CheckpointError(f"{path}: there is no such file") from None
        except (KeyError, SafetensorError) as error:
            raise CheckpointError(f"{path}: no shortlist ({error})") from None
        rising = np.all(np.diff(found.offsets) >= 0) and np.all(np.diff(found.always) > 0)
        if not (
            rising
            and len(found.offsets)
            and found.offsets[0] == 0
            and found.offsets[-1] == len(found.targets)
        ):
            raise CheckpointError(f"{path}: the arrays of this shortlist do not fit together")
        return found


class ShortlistedRows:
    """The part of the vocabulary that a batch needs, and which of it each row may use."""

    def __init__(self, ids: Tensor, allowed: Tensor, outputs: Sequence[OutputProjection]) -> None:
        self.ids = ids
        self.vocab_size = len(outputs[0].weight)
        self._allowed = allowed  # (rows, ids)
        self._weights = [output.weight[ids] for output in outputs]
        self._biases = [None if output.bias is None else output.bias[ids] for output in outputs]

    def log_probabilities(self, hidden: Sequence[Hidden]) -> Tensor:
        """Over the whole vocabulary, -inf off the list: (rows, V)."""
        logits = [
            F.linear(x[:, -1], weight, bias).float().masked_fill(~self._allowed, float("-inf"))
            for x, weight, bias in zip(hidden, self._weights, self._biases, strict=True)
        ]
        mean = torch.stack([each.log_softmax(-1) for each in logits]).logsumexp(0)
        mean -= float(np.log(len(logits)))
        everything = mean.new_full((len(mean), self.vocab_size), float("-inf"))
        everything[:, self.ids] = mean
        return everything

    def keep(self, rows: Tensor) -> None:
        """Row i becomes what row ``rows[i]`` was."""
        self._allowed = self._allowed.index_select(0, rows)
