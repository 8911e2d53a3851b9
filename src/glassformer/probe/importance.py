"""How much the output depends on each head: mute it, run again, see what the same output is worth then."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from glassformer.decoding.generation import evaluating
from glassformer.probe.anatomy import Kind
from glassformer.probe.intervening import intervening
from glassformer.probe.intervention import Mute
from glassformer.probe.passing import run_pass
from glassformer.probe.traced import Trace


class Importance(NamedTuple):
    """What muting one head costs."""

    kind: Kind
    layer: int
    head: int
    importance: float
    """Fall of the log-probability of the same output (of a vector: of the cosine)."""
    log_probability: float
    """What it falls to."""


def measure_importance(found: Trace, kinds: Sequence[Kind] | None = None) -> Iterator[Importance]:
    """Mute each head once, besides what is changed already; results are kept in ``found.importance``."""
    baseline = found.log_probability
    for kind in found.kinds if kinds is None else kinds:
        for layer in range(len(found.layers(kind))):
            for head in range(found.config.n_heads):
                value = _muted(found, Mute(kind=kind, layer=layer, head=head))
                found.importance[kind, layer, head] = baseline - value
                yield Importance(kind, layer, head, baseline - value, value)


def _muted(found: Trace, rule: Mute) -> float:
    rules = (*found.question.interventions, rule)
    with torch.inference_mode(), evaluating([found.model]), intervening(found.model, rules):
        return found.goal.reached(run_pass(found.model, found.answer))
