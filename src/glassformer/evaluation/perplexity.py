"""A language model against a text: its perplexity, by token, by word and in bits per byte."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch

from glassformer.data import NO_LABEL
from glassformer.data.batch import Specials, window_batch
from glassformer.data.sampler import WindowPlan
from glassformer.decoding import LanguageModel
from glassformer.errors import DataError
from glassformer.nn import projected_cross_entropy

BATCH_TOKENS = 4096


@dataclass(frozen=True)
class TextEvaluation:
    """How well a language model foresees a text."""

    perplexity: float
    """Per token; comparable only between models with one tokenizer."""
    word_perplexity: float
    """Per word and line end, comparable between tokenizers."""
    bits_per_byte: float
    """The same again, comparable between languages."""
    loss: float
    """Mean negative log-likelihood of a token, in nats."""
    tokens: int
    """Tokens foreseen, a ``</s>`` for every line included."""
    words: int
    context: int
    """Tokens seen at once."""

    def to_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        return asdict(self)


@torch.no_grad()
def evaluate_text(
    model: LanguageModel,
    lines: Sequence[str],
    *,
    context: int | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> TextEvaluation:
    """Foresee each token of a text, cut into windows as in training; ``progress`` is told of lines done.

    The windows are those of validation: a model sees nothing from before its window. ``context`` is their
    length; unset, it is that of training, or all that the model can see.
    """
    tokenizer, (network, *others) = model.tokenizer, model.models
    if others:
        raise DataError("the perplexity of an ensemble is not measured; evaluate its models one by one")
    texts = [tokenizer.normalise(line) for line in lines]
    if not any(texts):
        raise DataError("the text is blank; there is nothing to foresee")
    stream = np.array([i for ids in tokenizer.encode_batch(texts) for i in (*ids, tokenizer.eos_id)])
    longest = network.config.max_length
    context = min(context or model.context or longest, longest)
    order = WindowPlan(len(stream), context, max(BATCH_TOKENS, context), 0, shuffle=False).epoch(0)
    total = 0.0
    for i in range(len(order)):
        batch = window_batch(stream, order[i], Specials.of(tokenizer))
        real = batch.labels != NO_LABEL
        hidden = network.decode(batch.target, network.remember())[real]
        output = network.output
        total += float(projected_cross_entropy(hidden, output.weight, output.bias, batch.labels[real]).nll)
        progress(len(texts) * (i + 1) // len(order))
    words = sum(len(text.split()) + 1 for text in texts)
    n_bytes = sum(len(text.encode()) + 1 for text in texts)
    return TextEvaluation(
        perplexity=_exp(total / len(stream)),
        word_perplexity=_exp(total / words),
        bits_per_byte=total / math.log(2) / n_bytes,
        loss=total / len(stream),
        tokens=len(stream),
        words=words,
        context=context,
    )


def _exp(loss: float) -> float:
    return math.exp(min(loss, 700.0))
