"""BLEU, chrF and TER by sacreBLEU, each with the signature that makes it comparable."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from glassformer.errors import ConfigError, DataError, suggest
from glassformer.text.scripts import SCRIPTS, script_of

TOKENIZERS = ("13a", "intl", "zh", "char", "none")
"""How BLEU may find words without further software; see sacreBLEU."""

_KANA = re.compile("[\u3040-\u30ff]")


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
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    lowercase: bool = False,
    tokenize: str | None = None,
) -> TextScores:
    """Corpus scores; ``references[i]`` are all the references of sentence i, which may differ in number.

    ``tokenize`` is how sacreBLEU finds words; unset, the way that suits the script of the references.
    """
    streams = reference_streams(hypotheses, references)
    tokenize = chosen_tokenizer(references, tokenize)
    bleu, chrf = _bleu(tokenize, lowercase=lowercase), CHRF(lowercase=lowercase)
    asian = tokenize in ("zh", "char")
    ter = TER(case_sensitive=not lowercase, normalized=asian, asian_support=asian)
    return TextScores(
        bleu=_score(bleu, hypotheses, streams),
        chrf=_score(chrf, hypotheses, streams),
        ter=_score(ter, hypotheses, streams),
        sentences=len(hypotheses),
    )


def bleu_interval(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], tokenize: str, samples: int = 1000
) -> float:
    """Half the width of the 95 % interval of BLEU; 0 for a single sentence.

    The samples are sacreBLEU's, whose seed is fixed: the same input gives the same answer.
    """
    streams = reference_streams(hypotheses, references)
    score = _bleu(tokenize).corpus_score(hypotheses, streams, n_bootstrap=samples)  # type: ignore[arg-type]  # None: no such reference
    return float(score._ci)  # sacreBLEU has no public name for it


def fitting_tokenizer(references: Sequence[Sequence[str]]) -> str:
    """The tokenizer of sacreBLEU for the script of most references.

    The usual one, 13a, needs spaces between words. Chinese has none, nor has Japanese, and Korean words are
    long: over 13a their scores mean little (sacrebleu#147).
    """
    texts = [given[0] for given in references]
    scripts = Counter(SCRIPTS[script_of(text)] for text in texts)
    if scripts["east asian"] > len(texts) / 2:
        return "char" if any(_KANA.search(text) for text in texts) else "zh"
    return "char" if scripts["hangul"] > len(texts) / 2 else "13a"


def chosen_tokenizer(references: Sequence[Sequence[str]], wanted: str | None) -> str:
    """The tokenizer that is wanted, or the one that fits."""
    if wanted is None:
        return fitting_tokenizer(references)
    if wanted not in TOKENIZERS:
        raise ConfigError(
            f"{wanted!r} is no way to find words{suggest(wanted, TOKENIZERS)}; "
            f"there are {', '.join(TOKENIZERS)}"
        )
    return wanted


def tokenized_bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """BLEU over blank-separated words as they stand, the way papers before sacreBLEU counted.

    The caller tokenises and lower-cases both sides alike. It is not comparable with other tokenisations.
    """
    return _score(_bleu("none"), hypotheses, reference_streams(hypotheses, references))


def looks_tokenised(references: Sequence[Sequence[str]]) -> bool:
    """Whether full stops stand apart, as no one writes them: then BLEU is not what others call BLEU."""
    return sum(given[0].endswith(" .") for given in references) > len(references) / 10


def _bleu(tokenize: str, *, lowercase: bool = False) -> BLEU:
    """``force``: else sacreBLEU prints three lines at each call where the text ``looks_tokenised``."""
    return BLEU(lowercase=lowercase, tokenize=tokenize, force=True)


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
