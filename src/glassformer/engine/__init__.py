"""Inference on a CPU by native code, without torch: a model directory in, hypotheses out.

``Engine`` is the thin Python face of ``native/``, a library that is built when the package is installed. It
does what ``decoding`` does with PyTorch, in ids. ``NotNative`` says what it cannot do, and why.
"""

from glassformer.engine.engine import Engine, Given, Lists, Precision
from glassformer.engine.hypothesis import Beginning, Hypothesis, Query, Specials
from glassformer.engine.kernels import FAST_INT8, describe_kernels, usable_kernels
from glassformer.engine.library import LIBRARY, EngineError, Full, NotNative, load_library
from glassformer.engine.packing import Manner
from glassformer.engine.session import Session
from glassformer.engine.unpacking import Answers

__all__ = [
    "FAST_INT8",
    "LIBRARY",
    "Answers",
    "Beginning",
    "Engine",
    "EngineError",
    "Full",
    "Given",
    "Hypothesis",
    "Lists",
    "Manner",
    "NotNative",
    "Precision",
    "Query",
    "Session",
    "Specials",
    "describe_kernels",
    "load_library",
    "usable_kernels",
]
