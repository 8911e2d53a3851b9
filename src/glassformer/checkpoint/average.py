"""One model from several checkpoints: the mean of their numbers."""

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from glassformer.checkpoint.store import MODEL, Checkpoint
from glassformer.checkpoint.tensors import types_of
from glassformer.errors import CheckpointError


def average_tensors(sets: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of sets of equally named tensors, in the type they have; one set is in memory at a time.

    The mean runs along in float64, so that equal sets give exactly themselves. Integers must agree: a mean of
    counts or ids has no meaning.
    """
    means: dict[str, Tensor] = {}
    first: dict[str, Tensor] = {}
    for count, tensors in enumerate(sets, start=1):
        if count == 1:
            first = dict(tensors)
            means = {
                name: tensor.to(torch.float64, copy=True)
                for name, tensor in tensors.items()
                if tensor.is_floating_point()
            }
            continue
        if types_of(tensors) != types_of(first):
            raise CheckpointError(
                f"average: set {count} has other tensors than the first; all must be of one model"
            )
        for name, tensor in tensors.items():
            if name in means:
                means[name] += (tensor.double() - means[name]) / count
            elif not torch.equal(tensor, first[name]):
                raise CheckpointError(f"average: {name!r} holds integers that differ; they have no mean")
    if not first:
        raise CheckpointError("average: there is nothing to average")
    return {name: means[name].to(tensor.dtype) if name in means else tensor for name, tensor in first.items()}


def average_checkpoints(checkpoints: Sequence[Checkpoint], group: str = MODEL) -> dict[str, Tensor]:
    """The mean of one group of several checkpoints."""
    return average_tensors(checkpoint.tensors(group) for checkpoint in checkpoints)
