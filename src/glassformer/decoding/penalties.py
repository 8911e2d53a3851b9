"""What a search adds to log-probabilities before it compares hypotheses of unequal length."""

import torch
from torch import Tensor

from glassformer.config import DecodeConfig

_NEARLY_NOTHING = 1e-9  # attention that has underflowed to 0 still has a logarithm


class LengthPenalty:
    """The divisor of a hypothesis' log-probability, by its length (equation 14 of Wu et al. 2016)."""

    def __init__(self, config: DecodeConfig) -> None:
        self.alpha = config.alpha
        self.average = config.length_penalty == "average"

    def __call__(self, length: int) -> float:
        """The divisor for this many generated tokens, ``</s>`` included."""
        base = length if self.average else (5 + length) / 6
        return float(base**self.alpha)

    def largest(self, first: int, last: int) -> float:
        """The largest divisor for any length from first to last; divisors rise or fall, never both."""
        return max(self(first), self(last))


def coverage_penalty(attention: Tensor, beta: float) -> float:
    """Attention summed over an output, (S,): what each source token got, a price for having got little.

    It is never above 0, so a search may ignore it where it needs an upper bound.
    """
    return beta * float(attention.double().clamp(_NEARLY_NOTHING, 1.0).log().sum())


def count_tokens(tokens: Tensor, vocab_size: int) -> Tensor:
    """How often each token occurs in each row of (n, k): (n, V)."""
    ones = torch.ones_like(tokens, dtype=torch.float32)
    return ones.new_zeros(len(tokens), vocab_size).scatter_add_(1, tokens, ones)
