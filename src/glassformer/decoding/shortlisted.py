"""The rows of the vocabulary matrix that a batch with a shortlist needs."""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.decoding.shortlist import Ints
from glassformer.nn.output import OutputProjection
from glassformer.nn.shapes import Hidden


class ShortlistedRows:
    """The part of the vocabulary that a batch needs, and which of it each row may use."""

    def __init__(self, lists: Sequence[Ints], outputs: Sequence[OutputProjection]) -> None:
        """``lists`` are the sorted ids that each row may use."""
        union = np.unique(np.concatenate(lists))
        allowed = np.stack([np.isin(union, listed, assume_unique=True) for listed in lists])
        self.ids = ids = torch.from_numpy(union)
        self.vocab_size = len(outputs[0].weight)
        self._allowed = torch.from_numpy(allowed)  # (rows, ids)
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
