"""Dropout (section 5.4), drawn cheaply on a CPU.

PyTorch's Bernoulli draws one float per feature. Here one random int64 serves four features, 16 bits
each, so that the rate is exact to 2⁻¹⁶; mask, scale and the residual sum are one pass.
"""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Drops features at a rate while training and scales up the rest."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor, residual: Tensor | None = None) -> Tensor:
        """``residual + dropout(x)``."""
        if not self.training or self.rate == 0:
            return x if residual is None else residual + x
        keep = keep_mask(x, self.rate)
        if residual is None:
            return x * keep
        dropped: Tensor = _AddProduct.apply(residual, x, keep)  # type: ignore[no-untyped-call]
        return dropped

    if TYPE_CHECKING:
        __call__ = forward

    def extra_repr(self) -> str:
        """What print(model) shows."""
        return f"rate={self.rate}"


def keep_mask(x: Tensor, rate: float) -> Tensor:
    """0 with probability ``rate``, else 1 / (1 - rate), in the shape of x."""
    if x.device.type != "cpu":
        return torch.empty_like(x).bernoulli_(1 - rate).div_(1 - rate)
    lanes = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    bits = lanes.view(torch.int16)[: x.numel()].view(x.shape)
    threshold = min(round(rate * 65_536), 65_535) - 32_768  # 65,536 would not fit 16 bits
    return (bits >= threshold).to(x.dtype).mul_(1 / (1 - rate))


class _AddProduct(torch.autograd.Function):
    """``residual + x · keep`` in one pass, keeping nothing but ``keep`` for the way back."""

    @staticmethod
    def forward(ctx: Any, residual: Tensor, x: Tensor, keep: Tensor) -> Tensor:
        ctx.save_for_backward(keep)
        return torch.addcmul(residual, x, keep)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        (keep,) = ctx.saved_tensors
        return gradient, gradient * keep, None
