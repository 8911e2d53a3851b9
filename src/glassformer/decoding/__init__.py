"""From a model to text one can rely on: search, sampling, constraints, scores, alignments.

Tensors: a ``Query`` goes into a ``Decoder`` and comes out as ``Hypothesis``. Texts: ``Translator``,
``LanguageModel`` and ``TextEncoder``, one for each family; ``load`` picks the one that fits a directory.
"""

from pathlib import Path

from glassformer.decoding.alignment import Link, Reading
from glassformer.decoding.generation import Decoder
from glassformer.decoding.hypothesis import Hypothesis, Query, Specials
from glassformer.decoding.language_model import LanguageModel
from glassformer.decoding.pretrained import read_directory
from glassformer.decoding.results import Alignment, Generation, Scored, Streamed, Token, Translation
from glassformer.decoding.sampling import Sampling
from glassformer.decoding.scoring import Target, TargetScore, perplexity, score_targets
from glassformer.decoding.search import BeamSearch, BeamStep
from glassformer.decoding.shortlist import Shortlist
from glassformer.decoding.splitting import Segment, split_sentences
from glassformer.decoding.step import Stepper
from glassformer.decoding.text_encoder import Guess, Label, TextEncoder
from glassformer.decoding.translator import Translator
from glassformer.nn import DecoderOnly, EncoderDecoder, EncoderOnly

__all__ = [
    "Alignment",
    "BeamSearch",
    "BeamStep",
    "Decoder",
    "Generation",
    "Guess",
    "Hypothesis",
    "Label",
    "LanguageModel",
    "Link",
    "Query",
    "Reading",
    "Sampling",
    "Scored",
    "Segment",
    "Shortlist",
    "Specials",
    "Stepper",
    "Streamed",
    "Target",
    "TargetScore",
    "TextEncoder",
    "Token",
    "Translation",
    "Translator",
    "load",
    "perplexity",
    "score_targets",
    "split_sentences",
]


def load(directory: Path | str) -> Translator | LanguageModel | TextEncoder:
    """What a model or run directory is for, by its family."""
    found, tokenizer = read_directory(directory)
    match found.model:
        case EncoderDecoder():
            return Translator(found.model, tokenizer)
        case DecoderOnly():
            return LanguageModel(found.model, tokenizer)
        case EncoderOnly():
            return TextEncoder(found.model, tokenizer)
