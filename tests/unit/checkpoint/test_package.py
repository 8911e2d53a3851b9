"""What the package shows of itself, and what it needs."""

import subprocess
import sys

import pytest

import glassformer.checkpoint

TORCH_FREE = ("reading", "manifest", "files", "lock", "tensor_file", "storage", "model_files")


def test_half_of_the_package_needs_no_torch() -> None:
    names = ", ".join(f"glassformer.checkpoint.{name}" for name in TORCH_FREE)
    code = f"import sys, {names}; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_public_name_is_there_and_no_other() -> None:
    for name in glassformer.checkpoint.__all__:
        assert getattr(glassformer.checkpoint, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'pickle'"):
        glassformer.checkpoint.pickle  # noqa: B018
