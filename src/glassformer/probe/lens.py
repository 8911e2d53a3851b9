"""The logit lens: what the model would say if it stopped at a depth (nostalgebraist 2020)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.decoding.step import log_softmax
from glassformer.errors import InputError
from glassformer.nn import EncoderOnly
from glassformer.probe.anatomy import StackName, stacks
from glassformer.probe.traced import Trace


@dataclass(frozen=True, slots=True)
class LensCell:
    """The distribution at one depth of one position."""

    top: tuple[tuple[int, float], ...]
    """Ids and probabilities, best first."""
    entropy: float
    chosen: tuple[float, int] | None
    """Probability and rank of the token that was chosen in the end."""


def lens_stack(found: Trace) -> StackName | None:
    """The stack whose states can be read as words; None where nothing projects to the vocabulary."""
    if isinstance(found.model, EncoderOnly):
        return "enc" if found.model.output is not None else None
    return "dec"


def depths(found: Trace, stack: StackName) -> list[Tensor]:
    """The residual stream: what enters the first block, then what leaves each: (T, D) each."""
    part = stacks(found.model)[stack]
    n_layers = len(part.blocks)
    inputs = [found.state(stack, layer, "input") for layer in range(n_layers)]
    return [*inputs, found.state(stack, n_layers - 1, found.sites(stack)[-1])]


@torch.inference_mode()
def lens_logits(found: Trace, depth: int, rows: Tensor | None = None) -> Tensor:
    """Logits of a depth through the model's own final norm and output projection: (T, V)."""
    stack = lens_stack(found)
    if stack is None:
        raise InputError(f'a model with head = "{found.config.head}" has no output over the vocabulary')
    states = depths(found, stack)
    if not 0 <= depth < len(states):
        raise InputError(f"there is no depth {depth}; they run from 0 to {len(states) - 1}")
    x = states[depth] if rows is None else states[depth][rows]
    norm = stacks(found.model)[stack].stack.norm
    if norm is not None:
        x = norm(x)
    if isinstance(found.model, EncoderOnly):
        return found.model.guessed(x[None])[0]
    return found.model.output(x[None])[0]


def lens_cells(found: Trace, depth: int, k: int = 5, rows: Tensor | None = None) -> list[LensCell]:
    """For each position what a depth would say."""
    known = log_softmax(lens_logits(found, depth, rows))
    places = range(len(known)) if rows is None else rows.tolist()
    best = known.topk(min(k, known.size(-1)), dim=-1)
    entropy = (-(known.exp() * known).nan_to_num()).sum(-1).tolist()
    cells = []
    for at, place in enumerate(places):
        token = _chosen(found, place)
        chosen = None
        if token is not None:
            rank = 1 + int((known[at] > known[at, token]).sum())
            chosen = (float(known[at, token].exp()), rank)
        pairs = zip(best.indices[at].tolist(), best.values[at].exp().tolist(), strict=True)
        cells.append(LensCell(tuple(pairs), entropy[at], chosen))
    return cells


def _chosen(found: Trace, place: int) -> int | None:
    """What stands at a position in the end: the next token, or the token itself where blanks are filled."""
    for step in found.steps:
        if step.step == place:
            return step.chosen
    return None if found.dec else found.answer.source[place]
