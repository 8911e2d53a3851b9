"""What 'equal' means. Float64 where a formula is tested: it cannot hide in rounding there."""

import torch
from torch import Tensor, nn


def assert_exact(actual: Tensor, expected: Tensor) -> None:
    """Equal to the last digits of float64."""
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)


def assert_near(actual: Tensor, expected: Tensor, atol: float = 1e-5) -> None:
    """Equal as far as float32 goes."""
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


def finite_gradients(model: nn.Module) -> bool:
    """Whether every parameter got a gradient, and no NaN or infinity among them."""
    return all(
        parameter.grad is not None and bool(parameter.grad.isfinite().all())
        for parameter in model.parameters()
    )
