"""Random attentions: every shape, every kind of mask, queries that may look nowhere."""

from typing import NamedTuple

import torch
from hypothesis import strategies as st
from torch import Tensor

from glassformer.nn import Sight, padding_mask
from glassformer.nn.shapes import Keys, Queries, Values

MASKS = ("none", "padding", "causal", "both", "random")


class Case(NamedTuple):
    """One call of attention, in float64."""

    q: Queries
    k: Keys
    v: Values
    sight: Sight

    def to(self, dtype: torch.dtype) -> "Case":
        """The same in another precision."""
        bias = None if self.sight.bias is None else self.sight.bias.to(dtype)
        return Case(self.q.to(dtype), self.k.to(dtype), self.v.to(dtype), self.sight._replace(bias=bias))


def _mask(kind: str, batch: int, length: int, size: int) -> Tensor | None:
    if kind in ("padding", "both"):
        return padding_mask(torch.randint(0, size + 1, (batch,)), size)
    if kind == "random":
        share = torch.rand(batch, 1, length, 1)  # some rows see much, some little, some nothing
        return torch.rand(batch, 1, length, size) < share * 1.2 - 0.2
    return None


@st.composite
def cases(draw: st.DrawFn, *, equal_widths: bool = False) -> Case:
    """A call with drawn sizes and a drawn kind of mask; ``equal_widths`` where a kernel needs d_k = d_v."""
    batch, groups, per_group = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    length, past = draw(st.integers(1, 7)), draw(st.integers(0, 5))
    d_k = draw(st.integers(1, 9))
    d_v = d_k if equal_widths else draw(st.integers(1, 9))
    kind = draw(st.sampled_from(MASKS))
    causal = kind in ("causal", "both")
    size = length + past if causal else draw(st.integers(1, 9))
    biased = draw(st.booleans())
    torch.manual_seed(draw(st.integers(0, 2**32)))
    n_heads = groups * per_group
    return Case(
        torch.randn(batch, n_heads, length, d_k, dtype=torch.float64),
        torch.randn(batch, groups, size, d_k, dtype=torch.float64),
        torch.randn(batch, groups, size, d_v, dtype=torch.float64),
        Sight(
            _mask(kind, batch, length, size),
            causal,
            torch.randn(1, n_heads, length, size, dtype=torch.float64) if biased else None,
        ),
    )


def allowed(case: Case) -> Tensor:
    """Where each query may look, written out pair by pair."""
    batch, _, length, _ = case.q.shape
    size = case.k.size(2)
    may_look = torch.ones(batch, length, size, dtype=torch.bool)
    if case.sight.mask is not None:
        may_look &= case.sight.mask[:, 0].expand(batch, length, size)
    if case.sight.causal:
        for query in range(length):
            may_look[:, query, size - length + query + 1 :] = False
    return may_look
