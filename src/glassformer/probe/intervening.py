"""Interventions laid over a model while a context is open: its own passes run, with what was changed put in.

Nothing is copied or replaced in the model. An attention's observer computes what its heads would give under
the rules, and a hook hands that to the output projection instead of what the kernel gave.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import Any

import torch
from torch import Tensor, nn

from glassformer.decoding.observe import observing
from glassformer.nn import Sight, Transformer
from glassformer.nn.attention import Observer, attention_scores
from glassformer.probe.anatomy import AttentionPart, StackPart, attentions, stacks
from glassformer.probe.intervention import (
    BlockEdge,
    Causal,
    Edge,
    HeadRule,
    Intervention,
    Keep,
    Mute,
    Scale,
    ShiftPositions,
    Uniform,
    ZeroFeedForward,
    check_interventions,
)


class Changes:
    """What was used instead in the newest pass of each attention: weights and heads, by the module's path."""

    def __init__(self) -> None:
        self.weights: dict[str, Tensor] = {}
        self.heads: dict[str, Tensor] = {}
        self.target_length = 0
        """Positions of the target so far: a cross-attention in a cached step cannot tell by itself."""


@contextmanager
def intervening(model: Transformer, interventions: Sequence[Intervention]) -> Iterator[Changes]:
    """While open, passes of this thread run under the interventions; others do not notice."""
    check_interventions(model, interventions)
    changes = Changes()
    with ExitStack() as stack:
        parts = (
            attentions(model) if any(isinstance(each, HeadRule | Causal) for each in interventions) else []
        )
        changed = [(part, _rules_for(part, interventions)) for part in parts]
        observers = [_Changing(part, rules, changes) for part, rules in changed]
        stack.enter_context(observing([part.module for part in parts], [each.observe for each in observers]))
        for each in observers:
            if each.rules:
                handle = each.part.module.output.register_forward_pre_hook(each.replace)
                stack.callback(handle.remove)
        for intervention in interventions:
            for module_hook in _module_hooks(model, intervention):
                stack.callback(module_hook.remove)
        yield changes


def changed_heads(
    q: Tensor, k: Tensor, v: Tensor, sight: Sight, rules: Sequence[Intervention], first: int
) -> tuple[Tensor, Tensor]:
    """Head outputs and weights under the rules; ``first`` is the position of the first query."""
    n_heads = q.size(1)
    if any(isinstance(rule, Causal) for rule in rules):
        sight = sight._replace(causal=False)
    for rule in rules:
        if isinstance(rule, Scale):
            q = _per_head(q, rule.heads(n_heads), q.size(-1) ** 0.5 / rule.divisor)
    scores = attention_scores(q, k, sight).clone()
    for rule in rules:
        if isinstance(rule, BlockEdge):
            rows = slice(None) if rule.query is None else _place(rule.query - first, q.size(2))
            scores[:, rule.heads(n_heads), rows, _place(rule.key, k.size(2))] = float("-inf")
    weights = _softmax(scores)
    for rule in rules:
        if isinstance(rule, Uniform):
            chosen = rule.heads(n_heads)
            weights[:, chosen] = _softmax(scores[:, chosen].masked_fill(~scores[:, chosen].isneginf(), 0.0))
    for rule in rules:
        if isinstance(rule, Edge):
            _set_edge(weights, scores, rule, first)
    heads = weights @ v.repeat_interleave(n_heads // v.size(1), dim=1)
    heads[:, muted_heads(rules, n_heads)] = 0.0
    return heads, weights


def muted_heads(rules: Sequence[Intervention], n_heads: int) -> list[int]:
    """The heads of a layer that add nothing."""
    muted = {head for rule in rules if isinstance(rule, Mute) for head in rule.heads(n_heads)}
    kept = {head for rule in rules if isinstance(rule, Keep) for head in rule.heads(n_heads)}
    if kept:
        muted |= set(range(n_heads)) - kept
    return sorted(muted)


def _rules_for(part: AttentionPart, interventions: Sequence[Intervention]) -> list[Intervention]:
    return [
        each
        for each in interventions
        if (isinstance(each, HeadRule) and each.concerns(part.kind, part.layer))
        or (isinstance(each, Causal) and part.kind == "dec")
    ]


class _Changing:
    """What one attention does under its rules."""

    def __init__(self, part: AttentionPart, rules: Sequence[Intervention], changes: Changes) -> None:
        self.part, self.rules, self.changes = part, rules, changes
        self._thread = get_ident()
        self._pending: Tensor | None = None
        self.observe: Observer = self._observe

    def _observe(self, q: Tensor, k: Tensor, v: Tensor, sight: Sight, heads: Tensor) -> None:
        del heads
        if self.part.kind == "dec":
            self.changes.target_length = k.size(2)
        if self.rules:
            end = self.changes.target_length if self.part.kind == "cross" else k.size(2)
            found, weights = changed_heads(q, k, v, sight, self.rules, end - q.size(2))
            self.changes.heads[self.part.path], self.changes.weights[self.part.path] = found, weights
            self._pending = found

    def replace(self, module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """What the output projection is given instead of the kernel's heads."""
        del module
        if get_ident() != self._thread or self._pending is None:
            return None
        found, self._pending = self._pending, None
        return (found.transpose(1, 2).flatten(2), *inputs[1:])


def _module_hooks(model: Transformer, intervention: Intervention) -> Iterator[Any]:
    thread = get_ident()
    if isinstance(intervention, ZeroFeedForward):
        for layer, block in enumerate(stacks(model)[intervention.stack].blocks):
            if intervention.layer in (None, layer):
                yield block.feed_forward.register_forward_hook(
                    lambda _, __, output: torch.zeros_like(output) if get_ident() == thread else None
                )
    elif isinstance(intervention, ShiftPositions):
        for part in stacks(model).values():
            if intervention.side in (None, part.side):
                yield from _position_hooks(part, intervention, thread)


def _position_hooks(part: StackPart, rule: ShiftPositions, thread: int) -> Iterator[Any]:
    """Positions that are added are changed where they are made, the others where attention gets them."""
    if rule.op == "shift":
        if part.front.positions is not None:
            yield part.front.positions.register_forward_pre_hook(
                lambda _, inputs: (inputs[0] + rule.by, *inputs[1:]) if get_ident() == thread else None
            )
        else:
            yield part.stack.sight.register_forward_pre_hook(
                lambda _, inputs: (
                    (*inputs[:2], inputs[2] + rule.by, *inputs[3:]) if get_ident() == thread else None
                )
            )
        return
    if part.front.positions is not None:
        yield part.front.positions.register_forward_hook(
            lambda _, __, output: torch.zeros_like(output) if get_ident() == thread else None
        )
    yield part.stack.sight.register_forward_hook(
        lambda _, __, sight: sight._replace(bias=None, rotation=None) if get_ident() == thread else None
    )


def _softmax(scores: Tensor) -> Tensor:
    """As the kernel has it: zeros for a query that may look nowhere."""
    nowhere = scores.isneginf().all(-1, keepdim=True)
    return scores.masked_fill(nowhere, 0.0).softmax(-1).masked_fill(nowhere, 0.0)


def _set_edge(weights: Tensor, scores: Tensor, rule: Edge, first: int) -> None:
    row, key = rule.query - first, rule.key
    if not (0 <= row < weights.size(2) and key < weights.size(3)):
        return  # not in this pass: a step of decoding has one query
    for head in rule.heads(weights.size(1)):
        line = weights[:, head, row]  # a view
        rest = line.clone()
        rest[:, key] = 0.0
        others = rest.sum(-1, keepdim=True)
        may_look = ~scores[:, head, row].isneginf()
        may_look[:, key] = False
        equal = may_look / may_look.sum(-1, keepdim=True).clamp(min=1)
        share = torch.where(others > 0, rest / others.clamp(min=torch.finfo(line.dtype).tiny), equal)
        line.copy_(share * (1 - rule.weight))
        line[:, key] = rule.weight


def _per_head(x: Tensor, heads: Sequence[int], factor: float) -> Tensor:
    x = x.clone()
    x[:, list(heads)] *= factor
    return x


def _place(at: int, size: int) -> slice:
    """One place of a dimension, or none if it is outside."""
    return slice(at, at + 1) if 0 <= at < size else slice(0, 0)
