"""The weights a run begins with: random ones, or those of another model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from glassformer.checkpoint import load_model, open_model
from glassformer.config import RunConfig
from glassformer.errors import CheckpointError
from glassformer.nn import EncoderOnly, Transformer, build_model

HEADS = ("guess.", "output.", "classes.")
"""Parts of an encoder-only model that belong to what it is for: a new purpose gets new ones."""


def architecture(directory: Path, *, head: str | None) -> dict[str, Any]:
    """The [model] table that fits the weights of a model directory, with another head where one is given."""
    with open_model(directory) as files:
        return files.config.model_dump() | ({} if head is None else {"head": head})


def fresh_model(config: RunConfig) -> Transformer:
    """A model with the initial weights of the run's seed: the same in every process."""
    torch.manual_seed(config.train.seed)
    return build_model(config.model)


def initial_model(config: RunConfig, init_from: Path | None) -> Transformer:
    """The model before its first update."""
    model = fresh_model(config)
    if init_from is not None:
        _take_over(model, dict(load_model(init_from).model.named_parameters()), str(init_from))
    return model


@torch.no_grad()
def _take_over(model: Transformer, given: Mapping[str, Tensor], where: str) -> None:
    """Start from another model's weights, name by name; a new head keeps its random ones."""
    taken = 0
    for name, parameter in model.named_parameters():
        head = isinstance(model, EncoderOnly) and name.startswith(HEADS)
        if name in given and given[name].shape == parameter.shape:
            parameter.copy_(given[name])
            taken += not head
        elif name in given and not head:
            raise CheckpointError(
                f"{where}: {name} is {_shape(given[name])} there and {_shape(parameter)} here; "
                "leave the architecture as it is there"
            )
        elif not head:
            raise CheckpointError(f"{where}: has no {name}; leave the architecture as it is there")
    if not taken:
        raise CheckpointError(f"{where}: none of its weights fits this model; use the same family")


def _shape(tensor: Tensor) -> str:
    return "×".join(map(str, tensor.shape))
