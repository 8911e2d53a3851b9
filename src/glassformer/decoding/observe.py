"""Attention weights of a pass that runs anyway, through the ``observe`` slots of its attentions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock, get_ident

from torch import Tensor

from glassformer.nn import MultiHeadAttention, Sight, explained_attention
from glassformer.nn.attention import Observer

_ONE_AT_A_TIME = RLock()  # the slot belongs to the model, which threads share


@contextmanager
def observing(attentions: Sequence[MultiHeadAttention], observers: Sequence[Observer]) -> Iterator[None]:
    """While open, each attention shows its passes to its observer.

    Only passes of the thread that opened it are seen, and whoever held a slot before goes on seeing too.
    """
    with _ONE_AT_A_TIME:
        before = [attention.observe for attention in attentions]
        try:
            for attention, observer in zip(attentions, observers, strict=True):
                attention.observe = _own_passes(observer, attention.observe)
            yield
        finally:
            for attention, held in zip(attentions, before, strict=True):
                attention.observe = held


@contextmanager
def head_means(attentions: Sequence[MultiHeadAttention]) -> Iterator[list[Tensor]]:
    """While open: the newest weights (B, L, S) of each attention, averaged over its heads."""
    seen: list[Tensor] = [Tensor()] * len(attentions)
    with observing(attentions, [_mean_observer(seen, place) for place in range(len(attentions))]):
        yield seen


def _own_passes(observer: Observer, before: Observer | None) -> Observer:
    thread = get_ident()

    def observe(q: Tensor, k: Tensor, v: Tensor, sight: Sight, heads: Tensor) -> None:
        if before is not None:
            before(q, k, v, sight, heads)
        if get_ident() == thread:
            observer(q, k, v, sight, heads)

    return observe


def _mean_observer(seen: list[Tensor], place: int) -> Observer:
    def observe(q: Tensor, k: Tensor, v: Tensor, sight: Sight, heads: Tensor) -> None:
        del heads
        seen[place] = explained_attention(q, k, v, sight)[1].mean(1)

    return observe
