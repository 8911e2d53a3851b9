"""Attention weights of a pass that runs anyway, through the ``observe`` slots of its attentions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock, get_ident

from torch import Tensor

from glassformer.nn import MultiHeadAttention, Sight, explained_attention
from glassformer.nn.attention import Observer

_ONE_AT_A_TIME = RLock()  # the slot belongs to the model, which threads share


@contextmanager
def head_means(attentions: Sequence[MultiHeadAttention]) -> Iterator[list[Tensor]]:
    """While open: the newest weights (B, L, S) of each attention, averaged over its heads.

    Only passes of the thread that opened it are seen, and whoever held a slot before goes on seeing too.
    """
    seen: list[Tensor] = [Tensor()] * len(attentions)
    with _ONE_AT_A_TIME:
        before = [attention.observe for attention in attentions]
        try:
            for place, attention in enumerate(attentions):
                attention.observe = _observer(seen, place, attention.observe)
            yield seen
        finally:
            for attention, observer in zip(attentions, before, strict=True):
                attention.observe = observer


def _observer(seen: list[Tensor], place: int, before: Observer | None) -> Observer:
    thread = get_ident()

    def observe(q: Tensor, k: Tensor, v: Tensor, sight: Sight, heads: Tensor) -> None:
        if before is not None:
            before(q, k, v, sight, heads)
        if get_ident() == thread:
            seen[place] = explained_attention(q, k, v, sight)[1].mean(1)

    return observe
