"""The Transformer as finished software: learns from your text, runs fast, lets you see through it.

Names are loaded on first use: importing this does not import torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glassformer.config import ModelConfig, RunConfig
    from glassformer.decoding import LanguageModel, TextEncoder, Translator, load
    from glassformer.nn import build_model as Transformer
    from glassformer.text import Labelled, Lines, Pairs, Tokenizer

__version__ = "0.1.0"

__all__ = [
    "Labelled",
    "LanguageModel",
    "Lines",
    "ModelConfig",
    "Pairs",
    "RunConfig",
    "TextEncoder",
    "Tokenizer",
    "Transformer",
    "Translator",
    "__version__",
    "load",
]

_HOMES = {
    "Labelled": "text",
    "LanguageModel": "decoding",
    "Lines": "text",
    "ModelConfig": "config",
    "Pairs": "text",
    "RunConfig": "config",
    "TextEncoder": "decoding",
    "Tokenizer": "text",
    "Transformer": "nn.build_model",
    "Translator": "decoding",
    "load": "decoding",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    part, _, other = _HOMES[name].partition(".")
    value = getattr(import_module(f"{__name__}.{part}"), other or name)
    globals()[name] = value
    return value
