"""Two traces beside each other: words, log-probabilities, and how far each head's weights have moved."""

from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from html import escape
from typing import Any, Literal

import torch
from torch import Tensor

from glassformer.decoding.step import log_softmax
from glassformer.errors import InputError
from glassformer.probe.anatomy import Kind
from glassformer.probe.looking import observe
from glassformer.probe.traced import Trace

Op = Literal["equal", "replace", "delete", "insert"]


@dataclass(frozen=True, slots=True)
class TextChange:
    """Words of one text and what stands there in the other."""

    op: Op
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SameTarget:
    """One output under two models, or under one with and without interventions."""

    pieces: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def total(self) -> float:
        """How much its log-probability changes."""
        return sum(self.after) - sum(self.before)


class Difference:
    """What is different in ``b``, seen from ``a``."""

    def __init__(self, a: Trace, b: Trace) -> None:
        self.a, self.b = a, b

    @cached_property
    def text(self) -> list[TextChange]:
        """The words of the outputs, side by side."""
        one, other = self.a.text.split(), self.b.text.split()
        return [
            TextChange(op, tuple(one[i:j]), tuple(other[k:m]))
            for op, i, j, k, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
        ]

    @property
    def log_probability(self) -> float:
        """How much it differs: of each one's own output, or of the label or vector of ``a`` under both."""
        return self._reached - self.a.log_probability

    @cached_property
    def _reached(self) -> float:
        one, other = self.a.output, self.b.output
        same = (one.classes is not None and other.classes is not None) or (
            one.vector is not None and other.vector is not None and one.vector.shape == other.vector.shape
        )
        return self.a.goal.reached(other) if same else self.b.log_probability

    @cached_property
    def same_target(self) -> SameTarget | None:
        """The output of ``a`` under both; None where the two do not read the same ids."""
        if not self._same_vocabulary() or self.a.output.logits is None:
            return None
        rows = [
            (step.step, step.chosen) for step in self.a.steps if step.chosen is not None and not step.given
        ]
        if not rows or not self._fits():
            return None
        asked = replace(self.a.answer, source=self.b.answer.source if self.b.enc else ())
        if not self.a.dec:
            asked = self.b.answer
            if asked.source != self.a.answer.source:
                return None
        with torch.inference_mode():
            _, output = observe(self.b.model, asked, self.b.question.interventions)
        if output.logits is None:
            return None
        tokenizer = self.a.subject.tokenizer
        ids = [token for _, token in rows]
        return SameTarget(
            tuple(tokenizer.pieces(ids)), _values(self.a.logits, rows), _values(output.logits, rows)
        )

    def comparable(self, kind: Kind) -> bool:
        """Whether the weights of a kind have the same shape in both."""
        one, other = self.a.layers(kind), self.b.layers(kind)
        if not one or len(one) != len(other):
            return False
        shapes = [(*x.seen.shared_q.shape[1:3], x.seen.shared_k.size(2)) for x in (one[0], other[0])]
        return shapes[0] == shapes[1]

    def weights(self, kind: Kind, layer: int) -> Tensor:
        """How the weights of a layer differ: (H, L, P)."""
        if not self.comparable(kind):
            raise InputError(f"the two traces have {kind} attentions of different shape")
        return self.b.layers(kind)[layer].weights - self.a.layers(kind)[layer].weights

    @cached_property
    def heads(self) -> list[tuple[Kind, int, int, float, float]]:
        """Mean and largest change of each head's weights, where they can be compared."""
        found: list[tuple[Kind, int, int, float, float]] = []
        for kind in self.a.kinds:
            if kind not in self.b.kinds or not self.comparable(kind):
                continue
            for layer in range(len(self.a.layers(kind))):
                moved = self.weights(kind, layer).abs()
                # half of the summed change of a row is the share of its weight that has moved
                shares, most = (moved.sum(-1).mean(-1) / 2).tolist(), moved.amax((1, 2)).tolist()
                found += [
                    (kind, layer, head, share, largest)
                    for head, (share, largest) in enumerate(zip(shares, most, strict=True))
                ]
        return found

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        same = self.same_target
        return {
            "text": [{"op": each.op, "a": list(each.before), "b": list(each.after)} for each in self.text],
            "logp": {
                "a": self.a.log_probability,
                "b": self._reached,
                "difference": self.log_probability,
            },
            "same_target": None
            if same is None
            else {
                "tokens": list(same.pieces),
                "a": list(same.before),
                "b": list(same.after),
                "difference": [b - a for a, b in zip(same.before, same.after, strict=True)],
                "total": same.total,
            },
            "heads": [
                {"kind": kind, "layer": layer, "head": head, "mean": mean, "max": most}
                for kind, layer, head, mean, most in self.heads
            ],
            "comparable": {kind: kind in self.b.kinds and self.comparable(kind) for kind in self.a.kinds},
        }

    def __repr__(self) -> str:
        changed = sum(each.op != "equal" for each in self.text)
        return f"<Difference: {changed} changes in the text, log-probability {self.log_probability:+.3f}>"

    def _repr_html_(self) -> str:
        told = []
        for each in self.text:
            before, after = escape(" ".join(each.before)), escape(" ".join(each.after))
            told.append(before if each.op == "equal" else f"<del>{before}</del> <ins>{after}</ins>")
        return f"<p>{' '.join(told)}</p><p>log-probability {self.log_probability:+.3f}</p>"

    def _same_vocabulary(self) -> bool:
        one, other = self.a.subject.tokenizer, self.b.subject.tokenizer
        return type(self.a.model) is type(self.b.model) and one.fingerprint == other.fingerprint

    def _fits(self) -> bool:
        longest = max(len(self.a.answer.fed), len(self.b.answer.source))
        return longest <= self.b.config.max_length


def _values(logits: Tensor, rows: list[tuple[int, int]]) -> tuple[float, ...]:
    known = log_softmax(logits)
    return tuple(float(known[row, token]) for row, token in rows)
