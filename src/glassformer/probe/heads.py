"""Where the weight of each head lies, in figures, and a label that says no more than its figure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from glassformer.probe.anatomy import Kind, key_side
from glassformer.probe.traced import Trace

Label = Literal["self", "previous", "next", "first", "to </s>", "punctuation", "diagonal", "spread", "mixed"]

MOST = 0.5
"""A label needs this share of a head's weight."""
NEARLY_EQUAL = 0.9
"""A head is spread from this share of the largest possible entropy on."""


@dataclass(frozen=True, slots=True)
class HeadFigures:
    """Means over the queries of one head."""

    kind: Kind
    layer: int
    head: int
    entropy: float
    """In nats."""
    entropy_share: float
    """Of the largest that the mask allows."""
    distance: float
    """Between query and key, under the weights; a cross-attention's query is scaled to the source."""
    offset: float
    """The same with its sign: negative looks back."""
    largest: float
    confidence: float
    """The largest weight of each query."""
    label: Label
    statistic: Literal["share", "entropy share"]
    value: float
    """The figure behind the label."""
    shares: dict[str, float]
    fidelity: float


def head_figures(found: Trace) -> list[HeadFigures]:
    """The figures of every head, kind after kind."""
    figures: list[HeadFigures] = []
    for kind in found.kinds:
        places = _Places(found, kind)
        for layer, attention in enumerate(found.layers(kind)):
            figures += _of_layer(attention.weights, found.head_fidelity[kind][layer], places, layer)
    return figures


def _of_layer(weights: Tensor, errors: list[float], places: "_Places", layer: int) -> Iterator[HeadFigures]:
    entropy = torch.special.entr(weights).sum(-1)  # (H, L)
    allowed = places.allowed
    free = allowed > 1  # where a query has no choice, its entropy says nothing
    shares_of_most = (entropy / allowed.clamp(min=2).log())[:, free]
    distance, offset, near = (weights.flatten(1) @ places.apart).T / weights.size(1)
    largest = weights.amax(-1)
    shares = places.shares(weights)
    for head in range(len(weights)):
        own = {name: float(values[head]) for name, values in shares.items()}
        own["diagonal"] = float(near[head])
        share = float(shares_of_most[head].mean()) if shares_of_most.size(1) else 0.0
        label, statistic, value = _label(own, share, places.kind)
        yield HeadFigures(
            places.kind,
            layer,
            head,
            entropy=float(entropy[head].mean()),
            entropy_share=share,
            distance=float(distance[head]),
            offset=float(offset[head]),
            largest=float(largest[head].max()),
            confidence=float(largest[head].mean()),
            label=label,
            statistic=statistic,
            value=value,
            shares=own,
            fidelity=errors[head],
        )


def _label(
    shares: dict[str, float], entropy_share: float, kind: Kind
) -> tuple[Label, Literal["share", "entropy share"], float]:
    """The label with the largest share of the weight, if that is most of it."""
    names: dict[str, Label] = {"end": "to </s>", "first": "first", "punctuation": "punctuation"}
    if kind == "cross":
        names["diagonal"] = "diagonal"
    else:
        names |= {"self": "self", "previous": "previous", "next": "next"}
    best = max(names, key=lambda name: shares[name])
    if shares[best] >= MOST:
        return names[best], "share", shares[best]
    if kind != "cross" and shares["diagonal"] >= MOST:
        return "diagonal", "share", shares["diagonal"]
    if entropy_share >= NEARLY_EQUAL:
        return "spread", "entropy share", entropy_share
    return "mixed", "entropy share", entropy_share


class _Places:
    """What the layers of a kind share: which keys are special, and how far each is from each query."""

    def __init__(self, found: Trace, kind: Kind) -> None:
        self.kind = kind
        layer = found.layers(kind)[0]
        n_queries, n_keys = layer.mask.shape
        self.allowed = layer.mask.sum(-1)
        rows, columns = torch.arange(n_queries).double(), torch.arange(n_keys).double()
        if kind == "cross":
            rows = rows * (n_keys - 1) / max(n_queries - 1, 1)
        apart = columns[None] - rows[:, None]
        stacked = torch.stack([apart.abs(), apart, (apart.abs() <= 1.0).double()], dim=-1)
        self.apart = stacked.flatten(0, 1).to(layer.q.dtype)  # (L · P, 3)
        end, keys = found.subject.tokenizer.eos_id, found.tokens(key_side(kind))
        marks = {
            "first": [i == 0 for i in range(n_keys)],
            "end": [token.id == end for token in keys],
            "special": [token.special for token in keys],
            "punctuation": [bool(token.text) and not any(map(str.isalnum, token.text)) for token in keys],
        }
        self._marks = {name: torch.tensor(mark).to(layer.q.dtype) for name, mark in marks.items()}

    def shares(self, weights: Tensor) -> dict[str, Tensor]:
        """The share of each head's weight at each sort of place: (H,)."""
        columns = weights.mean(1)
        found = {name: columns @ mark for name, mark in self._marks.items()}
        for name, offset in (("self", 0), ("previous", -1), ("next", 1)):
            line = weights.diagonal(offset, 1, 2).sum(-1) / weights.size(1)
            found[name] = torch.zeros_like(line) if self.kind == "cross" else line
        return found
