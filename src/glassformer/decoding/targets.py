"""Outputs whose probability is asked for, and what a model thinks of them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """An output to be scored."""

    input: tuple[int, ...]
    """The source of an encoder-decoder, or the prompt of a decoder-only model; see ``Query.ids``."""
    ids: tuple[int, ...]
    """The output without ``<s>`` and ``</s>``."""
    finished: bool = True
    """Whether ``</s>`` follows, and is scored too."""
    n_forced: int = 0
    """How many of its tokens are taken as given: they do not count in sums."""


@dataclass(frozen=True, slots=True)
class TargetScore:
    """The log-probability of each token of an output, ``</s>`` included if it is finished."""

    token_log_probabilities: tuple[float, ...]
    n_forced: int = 0

    @property
    def log_probability(self) -> float:
        """The sum over the tokens that were not given."""
        return math.fsum(self.token_log_probabilities[self.n_forced :])

    @property
    def perplexity(self) -> float:
        """The exponential of the mean negative log-probability."""
        return perplexity([self])


def perplexity(scores: Iterable[TargetScore]) -> float:
    """The perplexity per token over many outputs; infinite where there is nothing to measure."""
    counted = [value for score in scores for value in score.token_log_probabilities[score.n_forced :]]
    if not counted:
        return math.inf
    mean = -math.fsum(counted) / len(counted)
    return math.exp(mean) if mean < 700 else math.inf


def word_log_probabilities(log_probabilities: Sequence[float], words: Sequence[int | None]) -> list[float]:
    """The sums over the tokens of each word, given the number of the word that each token belongs to.

    Tokens of no word, such as ``</s>``, have None.
    """
    n_words = 1 + max((word for word in words if word is not None), default=-1)
    parts: list[list[float]] = [[] for _ in range(n_words)]
    for value, word in zip(log_probabilities, words, strict=True):
        if word is not None:
            parts[word].append(value)
    return [math.fsum(part) for part in parts]
