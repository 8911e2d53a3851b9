"""How good the weights are: the loss over the whole validation set, and what decoding a part of it gives."""

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from glassformer.config import ModelConfig
from glassformer.data import Batch
from glassformer.nn import Transformer
from glassformer.training.distributed import Workers
from glassformer.training.events import Sample
from glassformer.training.task import tally

HIGHER_IS_BETTER = {"loss": False, "bleu": True, "chrf": True, "accuracy": True}


class TextScores(NamedTuple):
    """What the decoder that users get makes of the validation set."""

    scores: Mapping[str, float]
    samples: tuple[Sample, ...]


Stop = Callable[[], bool]
DecodeValid = Callable[[Transformer, Stop], TextScores | None]
"""Translate the validation set; gives up, with None, when the second argument says so."""


def validate(
    model: Transformer,
    batches: Iterable[Batch],
    decode: DecodeValid | None,
    workers: Workers,
    stop: Stop,
) -> TextScores | None:
    """Every score there is; None if it was cut short.

    The loss is shared out over processes, decoding is done by the first. Several processes count the
    loss to the end, so that all of them stop at the same place.
    """
    totals = [0.0, 0.0, 0.0]
    for i, batch in enumerate(batches):
        if workers.world == 1 and stop():
            return None
        if i % workers.world == workers.rank:
            totals = [a + b for a, b in zip(totals, tally(model, batch), strict=True)]
    nll, targets, correct = workers.sums(*totals)
    scores = _figures(model.config, nll, targets, correct)
    decoded = workers.share(lambda: TextScores({}, ()) if decode is None else decode(model, stop))
    return None if decoded is None else TextScores(scores | dict(decoded.scores), decoded.samples)


def _figures(config: ModelConfig, nll: float, targets: float, correct: float) -> dict[str, float]:
    loss = nll / max(1.0, targets)
    figures = {"loss": loss, "ppl": math.exp(min(loss, 700.0))}
    if config.family == "encoder-only" and config.head == "classifier":
        figures["accuracy"] = 100 * correct / max(1.0, targets)
    return figures


def improves(scores: Mapping[str, float], best: Mapping[str, float], key: str) -> bool:
    """Whether these scores are better than the best so far, by the one that decides."""
    if key not in best:
        return True
    return scores[key] > best[key] if HIGHER_IS_BETTER[key] else scores[key] < best[key]


def write_samples(path: Path, samples: Iterable[Sample]) -> None:
    """A table of samples, for people and spreadsheets."""
    rows = ["source\treference\thypothesis\tscore", *("\t".join(map(_cell, sample)) for sample in samples)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def _cell(value: object) -> str:
    """One cell: no tab or line break inside, and nothing that a spreadsheet would run."""
    text = f"{value:.4f}" if isinstance(value, float) else " ".join(str(value).split())
    return f"'{text}" if text[:1] in ("=", "+", "@") else text
