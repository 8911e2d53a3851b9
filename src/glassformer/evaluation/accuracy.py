"""A classifier against labelled texts: how often it is right, and about which labels it is not."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from glassformer.decoding import TextEncoder
from glassformer.errors import DataError, suggest

CHUNK = 256


@dataclass(frozen=True)
class LabelScore:
    """How one label fares; all shares are in percent."""

    name: str
    texts: int
    """Texts that have it."""
    precision: float
    """Of the texts that got it, the share that have it."""
    recall: float
    """Of the texts that have it, the share that got it."""


@dataclass(frozen=True)
class LabelEvaluation:
    """What labelled texts say of a classifier."""

    accuracy: float
    """Share of texts that got their label, in percent. A blank text gets none, so it counts as wrong."""
    texts: int
    labels: tuple[LabelScore, ...]
    predictions: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Plain data, for JSON; the predictions are left out."""
        return {
            "accuracy": self.accuracy,
            "texts": self.texts,
            "labels": [asdict(label) for label in self.labels],
        }


def evaluate_labels(
    encoder: TextEncoder,
    examples: Sequence[tuple[str, str]],
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> LabelEvaluation:
    """Classify texts whose labels are known, pairs of text and label."""
    if not examples:
        raise DataError("there is nothing to evaluate on; give at least one text with its label")
    for number, (_, label) in enumerate(examples, start=1):
        if label not in encoder.labels:
            known = ", ".join(encoder.labels)
            raise DataError(
                f"line {number}: this model has no label {label!r}{suggest(label, encoder.labels)}; "
                f"it has {known}"
            )
    predictions: list[str] = []
    for start in range(0, len(examples), CHUNK):
        found = encoder.classify([text for text, _ in examples[start : start + CHUNK]])
        predictions += [labels[0].name if labels else "" for labels in found]
        progress(len(predictions))
    wanted = [label for _, label in examples]
    right = sum(one == other for one, other in zip(predictions, wanted, strict=True))
    scores = tuple(_score(name, predictions, wanted) for name in encoder.labels)
    return LabelEvaluation(100 * right / len(wanted), len(wanted), scores, tuple(predictions))


def _score(name: str, predictions: Sequence[str], wanted: Sequence[str]) -> LabelScore:
    got = sum(label == name for label in predictions)
    have = sum(label == name for label in wanted)
    both = sum(a == b == name for a, b in zip(predictions, wanted, strict=True))
    return LabelScore(name, have, 100 * both / max(1, got), 100 * both / max(1, have))
