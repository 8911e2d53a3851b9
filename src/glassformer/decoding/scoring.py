"""What a model thinks of given outputs: their log-probabilities, all positions at once.

The numbers equal those of decoding, which takes one position at a time.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.decoding.generation import budgeted, evaluating
from glassformer.decoding.hypothesis import Specials
from glassformer.decoding.step import Decodable, average, log_softmax, padded_ids, source_batch
from glassformer.nn import EncoderDecoder
from glassformer.nn.shapes import Hidden

_LOGITS_AT_ONCE = 1 << 24


@dataclass(frozen=True, slots=True)
class Target:
    """An output to be scored."""

    input: tuple[int, ...]
    """The source of an encoder-decoder, or the prompt of a decoder-only model; see ``Query.ids``."""
    ids: tuple[int, ...]
    """The output without ``<s>`` and ``</s>``."""
    finished: bool = True
    """Whether ``</s>`` follows, and is scored too."""
    n_forced: int = 0
    """How many of its tokens are taken as given: they do not count in sums."""


@dataclass(frozen=True, slots=True)
class TargetScore:
    """The log-probability of each token of an output, ``</s>`` included if it is finished."""

    token_log_probabilities: tuple[float, ...]
    n_forced: int = 0

    @property
    def log_probability(self) -> float:
        """The sum over the tokens that were not given."""
        return math.fsum(self.token_log_probabilities[self.n_forced :])

    @property
    def perplexity(self) -> float:
        """The exponential of the mean negative log-probability."""
        return perplexity([self])


def perplexity(scores: Iterable[TargetScore]) -> float:
    """The perplexity per token over many outputs; infinite where there is nothing to measure."""
    counted = [value for score in scores for value in score.token_log_probabilities[score.n_forced :]]
    if not counted:
        return math.inf
    mean = -math.fsum(counted) / len(counted)
    return math.exp(mean) if mean < 700 else math.inf


def word_log_probabilities(log_probabilities: Sequence[float], words: Sequence[int | None]) -> list[float]:
    """The sums over the tokens of each word, given the number of the word that each token belongs to.

    Tokens of no word, such as ``</s>``, have None.
    """
    n_words = 1 + max((word for word in words if word is not None), default=-1)
    parts: list[list[float]] = [[] for _ in range(n_words)]
    for value, word in zip(log_probabilities, words, strict=True):
        if word is not None:
            parts[word].append(value)
    return [math.fsum(part) for part in parts]


@torch.inference_mode()
def score_targets(
    models: Sequence[Decodable], targets: Sequence[Target], specials: Specials, *, batch_tokens: int = 4096
) -> list[TargetScore]:
    """The score of each target, in order. Several models are averaged as in decoding."""
    scores = [TargetScore(())] * len(targets)
    sizes = [len(target.input) + len(target.ids) + 1 for target in targets]
    with evaluating(models):
        for batch in budgeted(sizes, batch_tokens):
            rows = _score_batch(models, [targets[i] for i in batch], specials)
            for i, row in zip(batch, rows, strict=True):
                scores[i] = TargetScore(tuple(row), targets[i].n_forced)
    return scores


def _score_batch(
    models: Sequence[Decodable], targets: Sequence[Target], specials: Specials
) -> list[list[float]]:
    labels = [[*target.ids, specials.end] if target.finished else list(target.ids) for target in targets]
    hidden = [_hidden(model, targets, specials) for model in models]
    gold = padded_ids(labels, specials.end)
    rows = max(1, _LOGITS_AT_ONCE // (models[0].config.vocab_size * max(gold.size(1), 1)))
    found = [
        _gold_log_probabilities(models, [x[at : at + rows] for x in hidden], gold[at : at + rows])
        for at in range(0, len(gold), rows)
    ]
    values = torch.cat(found).tolist()
    return [row[: len(label)] for row, label in zip(values, labels, strict=True)]


def _gold_log_probabilities(models: Sequence[Decodable], hidden: Sequence[Hidden], gold: Tensor) -> Tensor:
    pairs = zip(models, hidden, strict=True)
    spread = average([log_softmax(model.output(x[:, : gold.size(1)])) for model, x in pairs])
    chosen: Tensor = spread.gather(2, gold[..., None])[..., 0]
    return chosen


def _hidden(model: Decodable, targets: Sequence[Target], specials: Specials) -> Hidden:
    """The hidden state before each token of each target, and before what follows it."""
    if isinstance(model, EncoderDecoder):
        source, mask = source_batch([target.input for target in targets], specials.pad)
        fed = padded_ids([[specials.start, *target.ids] for target in targets], specials.pad)
        return model.decode(fed, model.remember(model.encode(source, mask), mask))
    # Padding stands behind, where no position looks; the rows are then brought to begin where targets do.
    fed = padded_ids([[*target.input, *target.ids] for target in targets], specials.pad)
    hidden = model.decode(fed, model.remember())
    first = torch.tensor([len(target.input) - 1 for target in targets])
    size = 1 + max(len(target.ids) for target in targets)
    places = (first[:, None] + torch.arange(size)).clamp(max=hidden.size(1) - 1)
    return hidden[torch.arange(len(targets))[:, None], places]
