"""Which continuations a beam search looks at: the best of all rows of an input, group by group."""

from typing import NamedTuple

import torch
from torch import Tensor

from glassformer.decoding.penalties import count_tokens


class Candidates(NamedTuple):
    """Continuations of the n inputs of a batch: the best k of each group, best first, group after group."""

    total: Tensor
    """Sum after this token, float64; -inf where there was no such continuation: (n, k)."""
    parent: Tensor
    """Which row of the input it continues: (n, k)."""
    token: Tensor
    """Its newest token: (n, k)."""
    ends: Tensor
    """True for a ``</s>`` that stands among the best of its group and so ends a hypothesis: (n, k)."""
    kept: Tensor
    """Places in k of the continuations that live on, group after group: (n, w)."""


def select(cost: Tensor, total: Tensor, *, beam: int, groups: int, diversity: float, end: int) -> Candidates:
    """The candidates of a step; ``cost`` (n, w, V) is each token's price, ``total`` (n, w) the rows' sums.

    Twice as many as the beam is wide are looked at: each row can end in one way only, so at least a beam
    full of them lives on. A ``</s>`` counts if it is among the first half. Wider than there are
    continuations is clamped.
    """
    width, size = total.size(1) // groups, beam // groups
    parts: list[Candidates] = []
    taken = cost.new_zeros(len(cost), cost.size(2)) if groups > 1 else None
    for group in range(groups):
        rows = slice(group * width, (group + 1) * width)
        priced = cost[:, rows] if taken is None else cost[:, rows] - diversity * taken[:, None]
        part = _best(cost[:, rows], priced, total[:, rows], size, end)
        if taken is not None:
            taken = taken + count_tokens(part.token.gather(1, part.kept), cost.size(2))
        k = part.token.size(1)
        parts.append(part._replace(parent=part.parent + group * width, kept=part.kept + group * k))
    return Candidates(*(torch.cat(columns, dim=1) for columns in zip(*parts, strict=True)))


def _best(cost: Tensor, priced: Tensor, total: Tensor, size: int, end: int) -> Candidates:
    """The candidates of one group: ranked by what diversity made of their price, summed without it."""
    per_row = priced.topk(min(2 * size, cost.size(2)), dim=2)  # then among few: (n, w, k)
    ranked = (total[..., None] + per_row.values).flatten(1)
    rank = ranked.topk(min(2 * size, ranked.size(1)), dim=1)
    parent = rank.indices.div(per_row.indices.size(2), rounding_mode="floor")
    token = per_row.indices.flatten(1).gather(1, rank.indices)
    price = cost.gather(2, per_row.indices).flatten(1).gather(1, rank.indices)
    true_total = (total.gather(1, parent) + price).masked_fill(rank.values.isneginf(), float("-inf"))
    is_end = token == end
    alive = ~(is_end | true_total.isneginf())
    kept = (~alive).byte().argsort(dim=1, stable=True)[:, : min(size, token.size(1))]
    ends = is_end & ~true_total.isneginf()
    ends[:, size:] = False
    return Candidates(true_total, parent, token, ends, kept)
