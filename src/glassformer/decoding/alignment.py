"""Which source token a target token comes from, read off the attention to the source.

Layers differ much in how well they say it, so the one to read is chosen on data. A token's row is either
that of the step which predicts it, or of the next step, which it is fed to (Chen et al. 2020): often the
better one.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassformer.config import ModelConfig
from glassformer.decoding.targets import Target
from glassformer.errors import InputError

Attention = NDArray[np.floating[Any]]
"""Weights on source tokens, averaged over heads; rows belong to the steps or tokens of a target."""

Pairs = frozenset[tuple[int, int]]
"""Places (source, target) that belong together."""


class Reading(NamedTuple):
    """Where an alignment is read."""

    layer: int
    """Counted from 0, the decoder's first."""
    fed: bool = False
    """Read the step that a token is fed to, instead of the one that predicts it."""


class Link(NamedTuple):
    """A target place and the source place it comes from, with the attention that says so."""

    source: int
    target: int
    weight: float


def default_reading(model: ModelConfig) -> Reading:
    """The layer below the last, the usual best where nothing is known (Garg et al. 2019)."""
    return Reading(max(model.n_decoder_layers - 2, 0))


def token_weights(attention: Attention, reading: Reading) -> Attention:
    """The row of each target token, as the reading has it: (tokens, source)."""
    layer: Attention = attention[reading.layer]
    return layer[1:] if reading.fed else layer[:-1]


def word_weights(weights: Attention, source_words: Sequence[int], target_words: Sequence[int]) -> Attention:
    """Weights between words: attention on a word is the sum over its tokens, of a word the mean over its own.

    A word is given by the number of each of its tokens; tokens numbered -1 belong to none.
    """
    sums = _members(source_words)
    means = _members(target_words)
    means /= np.maximum(means.sum(1, keepdims=True), 1)
    between: Attention = (means @ weights @ sums.T).astype(weights.dtype)
    return between


def links(weights: Attention, sources: Sequence[int] | None = None) -> list[Link]:
    """For each target place the source place it looks at most, among those that are allowed."""
    if sources is not None and not sources:
        return []
    allowed = np.arange(weights.shape[1]) if sources is None else np.array(sources)
    if not len(weights) or not len(allowed):
        return []
    places = allowed[weights[:, allowed].argmax(1)].tolist()
    return [Link(s, t, float(weights[t, s])) for t, s in enumerate(places)]


def pharaoh(found: Iterable[Link]) -> str:
    """Links as other tools read them: ``0-0 1-2``, source first."""
    return " ".join(f"{source}-{target}" for source, target, _ in sorted(found))


def read_pharaoh(line: str) -> Pairs:
    """The places of a line such as ``0-0 1-2``."""
    pairs = []
    for word in line.split():
        source, dash, target = word.partition("-")
        if not (dash and source.isdecimal() and target.isdecimal()):
            raise InputError(f"{word!r} is no alignment; write pairs of places such as 0-0 1-2")
        pairs.append((int(source), int(target)))
    return frozenset(pairs)


def alignment_error_rate(found: Iterable[Pairs], sure: Iterable[Pairs], possible: Iterable[Pairs]) -> float:
    """AER (Och & Ney 2003) over many sentences: 0 is perfect. Sure links are possible too."""
    hits, size = 0, 0
    for guess, certain, maybe in zip(found, sure, possible, strict=True):
        hits += len(guess & certain) + len(guess & (maybe | certain))
        size += len(guess) + len(certain)
    return 1.0 - hits / size if size else 0.0


def agreement(weights: Attention) -> float:
    """How far the two directions agree: best source of each target, best target of each source (F1)."""
    if not weights.size:
        return 0.0
    forward = {(s, t) for t, s in enumerate(weights.argmax(1).tolist())}
    backward = {(s, t) for s, t in enumerate(weights.argmax(0).tolist())}
    return 2 * len(forward & backward) / (len(forward) + len(backward))


def same_tokens(target: Target) -> Pairs:
    """Links that need no dictionary: tokens that occur once on each side, such as names and numbers.

    Only where both sides share a vocabulary.
    """
    once = [
        {token: ids.index(token) for token in ids if ids.count(token) == 1}
        for ids in (target.input, target.ids)
    ]
    return frozenset((once[0][token], once[1][token]) for token in once[0].keys() & once[1].keys())


def _members(words: Sequence[int]) -> NDArray[np.float64]:
    """Which tokens make up each word: (words, tokens), 0 or 1."""
    numbers = np.arange(1 + max(words, default=-1))[:, None]
    members: NDArray[np.bool_] = np.array(words, dtype=np.int64) == numbers
    return members.astype(np.float64)
