"""From a model to text one can rely on: search, sampling, constraints, scores, alignments.

Tensors: a ``Query`` goes into a ``Decoder`` and comes out as ``Hypothesis``. Texts: ``Translator``,
``LanguageModel`` and ``TextEncoder``, one for each family; ``load`` picks the one that fits a directory.

Names are loaded on first use: where the native engine answers, nothing here needs torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glassformer.decoding.alignment import Link, Reading
    from glassformer.decoding.engines import EngineChoice
    from glassformer.decoding.generation import Decoder
    from glassformer.decoding.hypothesis import Hypothesis, Query, Specials
    from glassformer.decoding.language_model import LanguageModel
    from glassformer.decoding.loading import load
    from glassformer.decoding.results import Alignment, Generation, Scored, Streamed, Token, Translation
    from glassformer.decoding.sampling import Sampling
    from glassformer.decoding.scoring import score_targets
    from glassformer.decoding.search import BeamSearch, BeamStep
    from glassformer.decoding.shortlist import Shortlist
    from glassformer.decoding.splitting import Segment, split_sentences
    from glassformer.decoding.step import Stepper
    from glassformer.decoding.targets import Target, TargetScore, perplexity
    from glassformer.decoding.text_encoder import Guess, Label, TextEncoder
    from glassformer.decoding.translator import Translator

__all__ = [
    "Alignment",
    "BeamSearch",
    "BeamStep",
    "Decoder",
    "EngineChoice",
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

_HOMES = {
    "alignment": ("Link", "Reading"),
    "engines": ("EngineChoice",),
    "generation": ("Decoder",),
    "hypothesis": ("Hypothesis", "Query", "Specials"),
    "language_model": ("LanguageModel",),
    "loading": ("load",),
    "results": ("Alignment", "Generation", "Scored", "Streamed", "Token", "Translation"),
    "sampling": ("Sampling",),
    "scoring": ("score_targets",),
    "search": ("BeamSearch", "BeamStep"),
    "shortlist": ("Shortlist",),
    "splitting": ("Segment", "split_sentences"),
    "step": ("Stepper",),
    "targets": ("Target", "TargetScore", "perplexity"),
    "text_encoder": ("Guess", "Label", "TextEncoder"),
    "translator": ("Translator",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
