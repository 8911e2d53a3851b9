"""Two traces of the explorer side by side."""

from typing import Any

from glassformer.explorer.answers import Binary, Missing, Problem
from glassformer.explorer.traces import Kept
from glassformer.probe.tensors import NoTensor, tensor


def difference(a: Kept, b: Kept) -> dict[str, Any]:
    """What is different in b."""
    return {"a": a.id, "b": b.id, **a.trace.diff(b.trace).to_dict()}


def difference_tensor(a: Kept, b: Kept, name: str) -> Binary:
    """How one tensor differs: b − a."""
    try:
        one, other = tensor(a.trace, name), tensor(b.trace, name)
    except NoTensor as error:
        raise Missing(str(error)) from None
    if one.shape != other.shape:
        raise Problem(
            422, f"{name} has shape {tuple(one.shape)} in one and {tuple(other.shape)} in the other"
        )
    return Binary(other.float() - one.float())
