"""Tests of what the native library does for training."""

import pytest

from glassformer.nn.native import native_library

needs_native = pytest.mark.skipif(
    native_library() is None, reason="needs the native library and a processor with AVX-512"
)
