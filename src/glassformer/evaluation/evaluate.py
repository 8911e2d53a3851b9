"""A translator against a test set: scores, perplexity, and how they depend on length."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from glassformer.config import DecodeConfig
from glassformer.decoding import Translator
from glassformer.evaluation.reference_set import read_reference_set
from glassformer.evaluation.scores import (
    Score,
    TextScores,
    bleu_interval,
    chosen_tokenizer,
    reference_streams,
    text_scores,
)

BUCKETS = (1, 6, 11, 21, 41)
"""First length of each bucket, in words of the source."""


@dataclass(frozen=True)
class Bucket:
    """The sentences of some lengths."""

    words: str
    sentences: int
    bleu: float
    chrf: float


@dataclass(frozen=True)
class Evaluation:
    """What a test set says of a translator."""

    scores: TextScores
    interval: float
    """Half the width of the 95 % interval of BLEU, by bootstrap resampling of the sentences."""
    perplexity: float
    """Per token, of the first references."""
    buckets: tuple[Bucket, ...]
    hypotheses: tuple[str, ...]

    @property
    def bleu(self) -> Score:
        """Corpus BLEU."""
        return self.scores.bleu

    def to_dict(self) -> dict[str, object]:
        """Plain data, for JSON; the hypotheses are left out."""
        buckets = [vars(bucket) for bucket in self.buckets]
        figures = {"interval": self.interval, "perplexity": self.perplexity}
        return {**self.scores.to_dict(), **figures, "buckets": buckets}

    def __str__(self) -> str:
        """BLEU as one publishes it."""
        return f"BLEU {self.bleu.value:.2f} ± {self.interval:.2f}  {self.bleu.signature}"


def evaluate(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    config: DecodeConfig | None = None,
    *,
    tokenize: str | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Evaluation:
    """Translate a test set as users would, and score it against all its references.

    ``tokenize`` is how BLEU finds words; unset, the way that suits the script of the references.
    """
    reference_streams(sources, references)  # told before hours of work
    tokenize = chosen_tokenizer(references, tokenize)
    hypotheses = translate_all(translator, sources, config, progress)
    scores = text_scores(hypotheses, references, tokenize=tokenize)
    first = [(source, given[0]) for source, given in zip(sources, references, strict=True)]
    told = [token.log_probability for found in translator.score(first) for token in found.tokens]
    return Evaluation(
        scores,
        bleu_interval(hypotheses, references, tokenize),
        _perplexity(told),
        tuple(_buckets(sources, hypotheses, references, tokenize)),
        tuple(hypotheses),
    )


def evaluate_files(
    translator: Translator,
    source: Path | str,
    *references: Path | str,
    config: DecodeConfig | None = None,
    tokenize: str | None = None,
) -> Evaluation:
    """The same of files, line by line beside each other; see ``read_reference_set``."""
    found = read_reference_set(source, references)
    return evaluate(translator, found.sources, found.references, config, tokenize=tokenize)


def _perplexity(log_probabilities: Sequence[float]) -> float:
    """Of all tokens, those of long and of short sentences alike."""
    mean = sum(log_probabilities) / max(1, len(log_probabilities))
    return math.exp(min(-mean, 700.0))


def translate_all(
    translator: Translator,
    sources: Sequence[str],
    config: DecodeConfig | None,
    progress: Callable[[int], None] = lambda _: None,
    chunk: int = 256,
) -> list[str]:
    """The best translation of each source; ``progress`` is told how many are done."""
    found: list[str] = []
    for start in range(0, len(sources), chunk):
        found += [result.text for result in translator.translate(sources[start : start + chunk], config)]
        progress(len(found))
    return found


def _buckets(
    sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[Sequence[str]], tokenize: str
) -> list[Bucket]:
    """Scores by the length of the source, of the lengths that occur."""
    ends = (*BUCKETS[1:], 1_000_000)
    buckets = []
    for start, end in zip(BUCKETS, ends, strict=True):
        chosen = [i for i, source in enumerate(sources) if start <= len(source.split()) < end]
        if chosen:
            given = [references[i] for i in chosen]
            scores = text_scores([hypotheses[i] for i in chosen], given, tokenize=tokenize)
            words = f"{start}–{end - 1}" if end < 1_000_000 else f"{start}+"
            buckets.append(Bucket(words, len(chosen), scores.bleu.value, scores.chrf.value))
    return buckets
