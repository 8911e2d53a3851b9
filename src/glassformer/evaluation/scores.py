"""BLEU, chrF and TER by sacreBLEU, each with the signature that makes it comparable."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from glassformer.errors import DataError


@dataclass(frozen=True)
class Score:
    """One figure and how it was computed."""

    value: float
    signature: str


@dataclass(frozen=True)
class TextScores:
    """How near hypotheses are to their references."""

    bleu: Score
    chrf: Score
    ter: Score
    sentences: int

    def to_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        return asdict(self)


def text_scores(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool = False
) -> TextScores:
    """Corpus scores; ``references[i]`` are all the references of sentence i, which may differ in number."""
    streams = reference_streams(hypotheses, references)
    bleu, chrf, ter = BLEU(lowercase=lowercase), CHRF(lowercase=lowercase), TER(case_sensitive=not lowercase)
    return TextScores(
        bleu=_score(bleu, hypotheses, streams),
        chrf=_score(chrf, hypotheses, streams),
        ter=_score(ter, hypotheses, streams),
        sentences=len(hypotheses),
    )


def tokenized_bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """BLEU over blank-separated words as they stand, the way papers before sacreBLEU counted.

    The caller tokenises and lower-cases both sides alike. It is not comparable with other tokenisations.
    """
    bleu = BLEU(tokenize="none", force=True)  # force: yes, the text is tokenised
    return _score(bleu, hypotheses, reference_streams(hypotheses, references))


def _score(
    metric: BLEU | CHRF | TER, hypotheses: Sequence[str], streams: Sequence[Sequence[str | None]]
) -> Score:
    value = float(metric.corpus_score(hypotheses, streams).score)  # type: ignore[arg-type]  # None: no such reference
    return Score(value, str(metric.get_signature()))


def reference_streams(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> list[list[str | None]]:
    """References by number instead of by sentence, as sacreBLEU takes them."""
    if len(hypotheses) != len(references):
        raise DataError(
            f"{len(hypotheses)} hypotheses, but references for {len(references)}; they must pair up"
        )
    if not hypotheses:
        raise DataError("there is nothing to score; give at least one sentence")
    counts = [len(given) for given in references]
    most = max(counts)
    if 0 in counts:
        raise DataError(f"sentence {counts.index(0) + 1} has no reference; give at least one")
    return [[given[i] if i < len(given) else None for given in references] for i in range(most)]
