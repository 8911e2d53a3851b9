"""The Transformer as finished software: learns from your text, runs fast, lets you see through it.

Names are loaded on first use: importing this does not import torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glassformer.config import ModelConfig, RunConfig
    from glassformer.decoding import LanguageModel, TextEncoder, Translator, load
    from glassformer.evaluation import evaluate_files as evaluate
    from glassformer.explorer import html_of
    from glassformer.interop import import_hugging_face
    from glassformer.nn import build_model as Transformer
    from glassformer.probe import Trace, explain, trace
    from glassformer.text import Labelled, Lines, Pairs, Tokenizer
    from glassformer.workflow.fitting import fit

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
    "Trace",
    "Transformer",
    "Translator",
    "__version__",
    "evaluate",
    "explain",
    "fit",
    "html_of",
    "import_hugging_face",
    "load",
    "trace",
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
    "Trace": "probe",
    "Transformer": "nn.build_model",
    "Translator": "decoding",
    "evaluate": "evaluation.evaluate_files",
    "explain": "probe",
    "fit": "workflow.fitting.fit",
    "html_of": "explorer",
    "import_hugging_face": "interop",
    "load": "decoding",
    "trace": "probe",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    part, _, other = home.rpartition(".") if "." in home else (home, "", name)
    value = getattr(import_module(f"{__name__}.{part}"), other)
    globals()[name] = value
    return value
