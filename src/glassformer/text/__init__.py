"""Text: corpora read, checked and mended; text to ids and back. Nothing here needs torch."""

from glassformer.text.cleaning import Finding, Report, check
from glassformer.text.corpus import Corpus, Example, Labelled, Lines, Pair, Pairs, open_corpus
from glassformer.text.fixing import Fixed, Verdict, fix, sift
from glassformer.text.oddities import Limits
from glassformer.text.stream import TextStream
from glassformer.text.tokenizer import Tokenizer

__all__ = [
    "Corpus",
    "Example",
    "Finding",
    "Fixed",
    "Labelled",
    "Limits",
    "Lines",
    "Pair",
    "Pairs",
    "Report",
    "TextStream",
    "Tokenizer",
    "Verdict",
    "check",
    "fix",
    "open_corpus",
    "sift",
]
