"""What a model thinks of given outputs: their log-probabilities, all positions at once.

The numbers equal those of decoding, which takes one position at a time.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.decoding.generation import evaluating
from glassformer.decoding.hypothesis import Specials
from glassformer.decoding.planning import budgeted
from glassformer.decoding.step import Decodable, average, log_softmax, padded_ids, source_batch
from glassformer.decoding.targets import Target, TargetScore, perplexity, word_log_probabilities
from glassformer.nn import EncoderDecoder
from glassformer.nn.shapes import Hidden

__all__ = ["Target", "TargetScore", "perplexity", "score_targets", "word_log_probabilities"]

_LOGITS_AT_ONCE = 1 << 24


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
