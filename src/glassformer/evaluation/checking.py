"""What every check is made of: a sentence that must be true, a figure, and a bound."""

from dataclasses import dataclass

from torch import Tensor

from glassformer.config import DecodeConfig
from glassformer.nn import Sight, Transformer
from glassformer.nn.attention import MultiHeadAttention, explained_attention
from glassformer.nn.shapes import Heads, Keys, Queries, Values

LOGITS, SCORES = 1e-5, 1e-4
GREEDY, BEAM = DecodeConfig(beam=1), DecodeConfig()


@dataclass(frozen=True)
class Check:
    """A sentence that must be true, and how true it is."""

    name: str
    claim: str
    difference: float
    bound: float
    detail: str = ""

    @property
    def holds(self) -> bool:
        """Whether the difference is within the bound."""
        return self.difference <= self.bound


def largest(one: Tensor, other: Tensor) -> float:
    """The largest difference between two tensors."""
    return float((one - other).abs().max()) if one.numel() else 0.0


def scaled(values: Tensor) -> float:
    """The bound for logits and vectors: absolute for small ones, relative for large."""
    return LOGITS * max(1.0, float(values.abs().max()))


class Watch:
    """While open, compares every attention of a model with the formula of the paper, on its own numbers."""

    def __init__(self, model: Transformer) -> None:
        self.worst = 0.0
        self._attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]

    def __enter__(self) -> "Watch":
        for attention in self._attentions:
            attention.observe = self._compare
        return self

    def __exit__(self, *_: object) -> None:
        for attention in self._attentions:
            attention.observe = None

    def _compare(self, q: Queries, k: Keys, v: Values, sight: Sight, heads: Heads) -> None:
        self.worst = max(self.worst, largest(heads, explained_attention(q, k, v, sight)[0]))
