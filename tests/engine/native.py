"""The native engine for tests: whether it was built, its kernels, and engines of small models."""

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Literal

import pytest

from glassformer.decoding.generation import Decoder
from glassformer.decoding.hypothesis import Specials
from glassformer.decoding.native import NativeDecoder
from glassformer.decoding.step import Decodable
from glassformer.engine import LIBRARY, Engine, NotNative, usable_kernels

ROOT = Path(__file__).parents[2]

needs_library = pytest.mark.skipif(
    not LIBRARY.is_file(), reason="the native engine is not built; run python native/build.py"
)
needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
)


def kernels() -> list[str]:
    """The kernel sets that run here."""
    try:
        return list(usable_kernels())
    except NotNative:
        return []


every_kernel = pytest.mark.parametrize("kernel", kernels() or [pytest.param("none", marks=needs_library)])


def builder() -> ModuleType:
    """``native/build.py`` as a module."""
    name = "native_build_for_tests"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / "native" / "build.py")
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def engine_of(
    model: Decodable,
    kernel: str | None = None,
    precision: Literal["float32", "int8"] = "float32",
    threads: int = 1,
) -> Engine:
    """The same model in the native engine."""
    parameters = {name: value.detach().float().numpy() for name, value in model.named_parameters()}
    return Engine(model.config, parameters, precision, kernels=kernel, threads=threads)


def native_of(decoder: Decoder, kernel: str | None = None, **settings: object) -> NativeDecoder:
    """The native twin of a decoder by PyTorch."""
    engine = engine_of(decoder.models[0], kernel, **settings)  # type: ignore[arg-type]  # passed on
    return NativeDecoder(engine, decoder.specials, decoder.shortlist)


def specials_of(decoder: Decoder) -> Specials:
    """The special ids of a decoder."""
    return decoder.specials
