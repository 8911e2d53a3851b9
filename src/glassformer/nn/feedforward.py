"""The position-wise feed-forward network (section 3.3)."""

import os
from typing import TYPE_CHECKING, Literal

import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn.dropout import Dropout
from glassformer.nn.products import Linear
from glassformer.nn.shapes import Hidden

Activation = Literal["relu", "gelu", "gelu-tanh", "silu"]

# PyTorch computes GELU by oneDNN, which makes a kernel for each shape and keeps the last 1,024 of them: of
# batches with many lengths gigabytes. It reads this when it makes the first.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")


class FeedForward(nn.Module):
    """Equation 2, ``max(0, x W1 + b1) W2 + b2``, with other activations and, gated, a product of two maps."""

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        activation: Activation = "relu",
        *,
        gated: bool = False,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.activation: Activation = activation
        self.expand = Linear(d_model, d_ff, bias)
        self.gate = Linear(d_model, d_ff, bias) if gated else None
        self.contract = Linear(d_ff, d_model, bias)
        self.dropout = Dropout(dropout)

    def forward(self, x: Hidden) -> Hidden:
        if self.gate is None:
            units = activate(self.expand(x), self.activation)
        else:
            units = activate(self.gate(x), self.activation) * self.expand(x)
        output: Hidden = self.contract(self.dropout(units))
        return output

    if TYPE_CHECKING:
        __call__ = forward


def activate(x: Tensor, activation: Activation) -> Tensor:
    """The activation of each unit."""
    match activation:
        case "relu":
            return F.relu(x)
        case "gelu":
            return F.gelu(x)
        case "gelu-tanh":
            return F.gelu(x, approximate="tanh")
        case "silu":
            return F.silu(x)
