"""How a text travels through the layers: its states, what each sub-layer adds, which units fire."""

from dataclasses import dataclass
from itertools import pairwise

import torch.nn.functional as F
from torch import Tensor

from glassformer.probe.anatomy import StackName, stacks
from glassformer.probe.capture import sublayers
from glassformer.probe.lens import depths
from glassformer.probe.traced import Trace

N_UNITS = 5


@dataclass(frozen=True, slots=True)
class Update:
    """What one sub-layer adds to each position."""

    layer: int
    sublayer: str
    norm: list[float]
    share: list[float]
    """Of the length of state and update together."""


@dataclass(frozen=True, slots=True)
class Units:
    """The feed-forward units of a layer."""

    layer: int
    active: float
    """Share of them above 0."""
    n_units: int
    top: list[list[tuple[int, float]]]
    """For each position the largest by size."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One stack's states, depth by depth."""

    norms: list[list[float]]
    cosines: list[list[float | None]]
    """With the state one depth before; None at the beginning."""
    sublayers: list[str]
    updates: list[Update]
    units: list[Units]


def stream(found: Trace, stack: StackName) -> Stream:
    """The figures of a stack."""
    states = depths(found, stack)
    cosines: list[list[float | None]] = [[None] * len(states[0])]
    for before, after in pairwise(states):
        cosines.append(list(F.cosine_similarity(before, after, dim=-1).tolist()))
    blocks = stacks(found.model)[stack].blocks
    names = [name for name, _, _ in sublayers(blocks[0])]
    updates, units = [], []
    for layer in range(len(blocks)):
        x = found.state(stack, layer, "input")
        for name in names:
            added, after = _update(found, stack, layer, name)
            size, own = added.norm(dim=-1), x.norm(dim=-1)
            share = size / (size + own).clamp(min=1e-30)
            updates.append(Update(layer, name, size.tolist(), share.tolist()))
            x = after
        units.append(_units(found.state(stack, layer, "units"), layer))
    return Stream([x.norm(dim=-1).tolist() for x in states], cosines, names, updates, units)


def _update(found: Trace, stack: StackName, layer: int, name: str) -> tuple[Tensor, Tensor]:
    """What a sub-layer adds, and the state after it."""
    all_sites = found.sites(stack)
    added = f"{name}.normed_after" if f"{name}.normed_after" in all_sites else f"{name}.output"
    last = [site for site in all_sites if site.startswith(f"{name}.")][-1]
    return found.state(stack, layer, added), found.state(stack, layer, last)


def _units(values: Tensor, layer: int) -> Units:
    best = values.abs().topk(min(N_UNITS, values.size(-1)), dim=-1).indices
    top = [[(unit, float(values[row, unit])) for unit in units] for row, units in enumerate(best.tolist())]
    return Units(layer, float((values > 0).float().mean()), values.size(-1), top)
