"""Whether one translator is really better than another, by paired bootstrap resampling (Koehn 2004)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from glassformer.evaluation.scores import chosen_tokenizer, reference_streams


@dataclass(frozen=True)
class Comparison:
    """One metric of two systems on the same sentences."""

    metric: str
    first: float
    second: float
    p_value: float
    """How often a resampled test set would show this much of a difference by chance."""
    interval: tuple[float, float]
    """Half widths of the 95 % intervals of the two."""

    @property
    def significant(self) -> bool:
        """Whether chance is an unlikely reason for the difference."""
        return self.p_value < 0.05


def compare(
    first: Sequence[str],
    second: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    samples: int = 1000,
    tokenize: str | None = None,
) -> list[Comparison]:
    """BLEU and chrF of two lists of hypotheses, with the chance that they differ by luck.

    The samples are sacreBLEU's, whose seed is fixed: the same input gives the same answer.
    """
    streams = cast("list[list[str]]", reference_streams(first, references))  # a None: no such reference
    words = chosen_tokenizer(references, tokenize)
    metrics = {"BLEU": BLEU(references=streams, tokenize=words, force=True), "chrF": CHRF(references=streams)}
    systems: list[tuple[str, Sequence[str]]] = [("first", list(first)), ("second", list(second))]
    _, results = PairedTest(systems, metrics, None, test_type="bs", n_samples=samples)()
    found = []
    for metric, pair in results.items():
        if metric != "System":
            one, other = cast("list[Result]", pair)
            # Where nothing differs, sacreBLEU counts every sample as a surprise.
            chance = 1.0 if other.p_value is None or one.score == other.score else float(other.p_value)
            interval = (float(one.ci or 0.0), float(other.ci or 0.0))
            found.append(Comparison(metric, float(one.score), float(other.score), chance, interval))
    return found
