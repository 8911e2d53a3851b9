"""One pass of a model over given ids, and how well it does what it did before."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.decoding.step import log_softmax
from glassformer.nn import DecoderOnly, EncoderDecoder, EncoderOnly, Transformer
from glassformer.probe.question import Answer


class Output(NamedTuple):
    """What a pass gave; what the family or its head does not have is None."""

    logits: Tensor | None = None
    """Over the vocabulary, of each position: (T, V)."""
    classes: Tensor | None = None
    """Over labels: (C,)."""
    vector: Tensor | None = None
    """Of the whole text, of length 1: (D,)."""


def run_pass(model: Transformer, found: Answer) -> Output:
    """One pass over the source and the output, all positions at once."""
    match model:
        case EncoderDecoder():
            cache = model.remember(model.encode(torch.tensor([found.source])))
            return Output(logits=model.output(model.decode(torch.tensor([found.fed]), cache))[0])
        case DecoderOnly():
            hidden = model.decode(torch.tensor([found.fed]), model.remember())
            return Output(logits=model.output(hidden)[0])
        case EncoderOnly():
            ids = torch.tensor([found.source])
            result = model(ids)[0]
            match model.config.head:
                case "masked-lm":
                    return Output(logits=result)
                case "classifier":
                    return Output(classes=result)
                case "embedding":
                    return Output(vector=result)


@dataclass(frozen=True, slots=True)
class Goal:
    """What a pass is measured by: the log-probability of an output, a label or guesses, or a direction."""

    rows: Tensor | None = None
    ids: Tensor | None = None
    label: int | None = None
    vector: Tensor | None = None

    def reached(self, output: Output) -> float:
        """The log-probability of the goal under a pass; the cosine with it for vectors."""
        if self.rows is not None and self.ids is not None and output.logits is not None:
            return float(log_softmax(output.logits[self.rows])[torch.arange(len(self.rows)), self.ids].sum())
        if self.label is not None and output.classes is not None:
            return float(log_softmax(output.classes)[self.label])
        if self.vector is not None and output.vector is not None:
            return float(F.cosine_similarity(self.vector, output.vector, dim=-1))
        return 0.0
