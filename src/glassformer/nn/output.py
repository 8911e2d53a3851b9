"""Hidden states to scores over the vocabulary or over classes (section 3.4)."""

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.config import ModelConfig
from glassformer.nn.feedforward import activate
from glassformer.nn.norm import build_norm
from glassformer.nn.products import Linear
from glassformer.nn.shapes import Hidden, Logits


class OutputProjection(nn.Module):
    """One logit per token of the vocabulary; the matrix may be the embedding's."""

    def __init__(self, vocab_size: int, d_model: int, *, bias: bool, tied: nn.Parameter | None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model)) if tied is None else tied
        self.bias = nn.Parameter(torch.empty(vocab_size)) if bias else None

    def forward(self, x: Hidden) -> Logits:
        return F.linear(x, self.weight, self.bias)

    if TYPE_CHECKING:
        __call__ = forward


class GuessTransform(nn.Module):
    """What BERT puts before its output projection: a linear map, the activation and a norm."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.dense = Linear(config.d_model, config.d_model)
        self.activation = config.activation
        self.norm = build_norm(config)

    def forward(self, x: Hidden) -> Hidden:
        output: Hidden = self.norm(activate(self.dense(x), self.activation))
        return output

    if TYPE_CHECKING:
        __call__ = forward


def probabilities(logits: Tensor, temperature: float = 1.0) -> Tensor:
    """Softmax over the last dimension; a lower temperature is surer, and 0 puts everything on the best."""
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.size(-1)).to(logits.dtype)
    return (logits / temperature).softmax(-1)
