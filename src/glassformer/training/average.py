"""A running average of the weights (EMA): smoother than the last step, and often better."""

import contextlib
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from glassformer.training.distributed import sharded_like


class RunningAverage:
    """``average ← decay · average + (1 - decay) · weights`` after every update.

    The decay is warmed up as (1 + step) / (10 + step), so that the random start is soon forgotten.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.tensors = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Take in the weights after update ``step``."""
        weight = 1 - min(self.decay, (1 + step) / (10 + step))
        current = dict(model.named_parameters())
        averages = list(self.tensors.values())
        torch._foreach_lerp_(averages, [current[name] for name in self.tensors], weight)

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue with a saved average."""
        for name, average in self.tensors.items():
            average.copy_(sharded_like(tensors[name], average))

    @contextlib.contextmanager
    def applied(self, model: nn.Module) -> Iterator[None]:
        """The model with the average as its weights, for a while."""
        current = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        _copy_into(model, self.tensors)
        try:
            yield
        finally:
            _copy_into(model, current)


@torch.no_grad()
def _copy_into(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    for name, parameter in model.named_parameters():
        parameter.copy_(tensors[name])
