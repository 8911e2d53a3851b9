"""A library that is missing, old, or on a CPU that lies: PyTorch serves, and nobody dies."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from glassformer.engine import NotNative, describe_kernels, kernels, library
from glassformer.engine.library import Library, load_library
from tests.engine.native import needs_compiler
from tests.engine.small_library import small_library


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    kernels.usable_kernels.cache_clear()
    yield
    kernels.usable_kernels.cache_clear()


def use(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "LIBRARY", path)


def test_no_library_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(tmp_path / "nowhere.so", monkeypatch)
    with pytest.raises(NotNative) as error:
        load_library()

    assert str(error.value) == "the native engine was not built when the package was installed"


def test_what_is_no_library_is_said(tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("hello")
    with pytest.raises(NotNative, match="the native engine does not load"):
        Library(tmp_path / "text.so")


@needs_compiler
def test_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotNative) as error:
        Library(small_library(tmp_path, version=7))

    assert str(error.value) == ("the native engine speaks version 7 of its interface, not 1; reinstall")


@needs_compiler
def test_a_function_that_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotNative, match=r"does not load .*gf_score"):
        Library(small_library(tmp_path, missing="gf_score"))


@needs_compiler
def test_kernels_that_survive_their_trial_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(small_library(tmp_path), monkeypatch)

    assert kernels.usable_kernels() == ("amx", "portable")
    assert describe_kernels() == "amx"


@needs_compiler
@pytest.mark.parametrize("trial", ["dies", "is wrong", "hangs"])
def test_a_cpu_that_lies_kills_a_child_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trial: str
) -> None:
    monkeypatch.setattr(kernels, "_PATIENCE", 1.0)
    use(small_library(tmp_path, trial=trial), monkeypatch)

    assert kernels.usable_kernels() == ("portable",)
    assert describe_kernels() == "portable (amx: a trial did not survive)"


@needs_compiler
def test_without_an_interpreter_nothing_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(small_library(tmp_path), monkeypatch)
    monkeypatch.setattr("sys.executable", "")

    assert kernels.usable_kernels() == ("portable",)
