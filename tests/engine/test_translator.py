"""Translator and LanguageModel on the native engine: the same answers, and who gave them."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from glassformer.checkpoint import save_model
from glassformer.decoding import LanguageModel, Translation, Translator, load
from glassformer.decoding.results import Text
from glassformer.engine import FAST_INT8, kernels, library, usable_kernels
from glassformer.errors import CheckpointError, InputError
from tests.engine.native import needs_library
from tests.unit.decoding.texts import language_model, random_model, tokenizer, translator

TEXTS = ["The cat sat on the mat.", "", "A dog is sleeping near 42 houses.", "日本語です。", "Hello!"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models") / "translator"
    translator().save_pretrained(place)
    return place


@pytest.fixture
def _no_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(library, "LIBRARY", Path("nowhere.so"))
    kernels.usable_kernels.cache_clear()
    yield
    kernels.usable_kernels.cache_clear()


def assert_alike(found: Text, expected: Text) -> None:
    assert (found.text, found.finished, found.warnings) == (
        expected.text,
        expected.finished,
        expected.warnings,
    )
    assert [token.id for token in found.tokens] == [token.id for token in expected.tokens]
    assert (found.score is None) == (expected.score is None)
    assert (found.score or 0.0) == pytest.approx(expected.score or 0.0, abs=1e-4)
    for a, b in zip(found.alternatives, expected.alternatives, strict=True):
        assert_alike(a, b)


@needs_library
def test_it_answers_as_pytorch_does(directory: Path) -> None:
    native, pytorch = (
        Translator.from_pretrained(directory),
        Translator.from_pretrained(directory, engine="pytorch"),
    )
    for options in ({}, {"beam": 1}, {"nbest": 3}, {"temperature": 0.8, "seed": 5}, {"split": True}):
        found = native.translate(TEXTS, **options)
        expected = pytorch.translate(TEXTS, **options)
        for a, b in zip(found, expected, strict=True):
            assert_alike(a, b)
            assert a.engine == ("" if a.score is None else native.engines.name)
            assert b.engine == ("" if b.score is None else "pytorch")

    assert native.engines.name.startswith("native float32 (")
    assert list(native.engines.reasons) == []
    assert list(pytorch.engines.reasons) == ['engine = "pytorch"']


@needs_library
def test_alignments_streams_and_scores_too(directory: Path) -> None:
    native, pytorch = (
        Translator.from_pretrained(directory),
        Translator.from_pretrained(directory, engine="pytorch"),
    )
    pairs = [("The cat", "Le chat"), ("", "x"), ("A dog.", "")]

    for a, b in zip(native.score(pairs), pytorch.score(pairs), strict=True):
        assert [token.id for token in a.tokens] == [token.id for token in b.tokens]
        assert (a.log_probability or 0.0) == pytest.approx(b.log_probability or 0.0, abs=1e-4)
    found, expected = (
        each.translate(TEXTS[:1], alignment=True, max_length=12)[0].alignment for each in (native, pytorch)
    )
    assert found is not None and expected is not None
    assert (found.source, found.target) == (expected.source, expected.target)
    assert np.allclose(found.weights, expected.weights, atol=1e-5)
    for beam in (1, 4):
        pieces = list(native.stream(TEXTS[0], beam=beam))
        assert "".join(piece.text for piece in pieces) == native.translate(TEXTS[:1], beam=beam)[0].text


@needs_library
def test_a_language_model(tmp_path: Path) -> None:
    language_model().save_pretrained(tmp_path / "model")
    native = LanguageModel.from_pretrained(tmp_path / "model")
    pytorch = LanguageModel.from_pretrained(tmp_path / "model", engine="pytorch")
    for options in ({"max_length": 6}, {"temperature": 1.0, "max_length": 6, "nbest": 2}):
        found = native.generate(["The cat", ""], **options)
        expected = pytorch.generate(["The cat", ""], **options)
        for a, b in zip(found, expected, strict=True):
            assert_alike(a, b)

    assert "".join(piece.text for piece in native.stream("The", max_length=5)) == (
        native.generate(["The"], max_length=5)[0].text
    )
    assert isinstance(load(tmp_path / "model"), LanguageModel)


@needs_library
def test_what_it_cannot_do_is_done_by_pytorch_and_said(directory: Path) -> None:
    model = Translator.from_pretrained(directory)
    (found,) = model.translate(["The cat."], required=["chat"], max_length=30)
    model.translate(["The cat."], beam=4, beam_groups=2, diversity=0.5, nbest=2)
    model.translate(["The cat."], coverage=0.2)

    assert found.engine == "pytorch" and "chat" in found.text
    assert list(model.engines.reasons) == [
        "the native engine has no required terms",
        "the native engine has no beam_groups = 2",
        "the native engine has no coverage = 0.2",
    ]
    assert model.translate(["The cat."])[0].engine == model.engines.name


@needs_library
def test_whoever_wants_nobody_else_is_told(directory: Path) -> None:
    model = Translator.from_pretrained(directory, engine="native")
    with pytest.raises(InputError) as error:
        model.translate(["The cat."], coverage=0.2)

    assert str(error.value) == (
        'the native engine has no coverage = 0.2; set engine = "auto", and PyTorch answers'
    )
    with pytest.raises(CheckpointError, match="cannot be had: an ensemble of 2 models"):
        Translator.from_pretrained(directory, directory, engine="native")


@needs_library
def test_an_ensemble_is_pytorchs(directory: Path) -> None:
    model = Translator.from_pretrained(directory, directory)

    assert model.engines.name == "pytorch"
    assert list(model.engines.reasons) == ["an ensemble of 2 models"]


@pytest.mark.usefixtures("_no_library")
def test_without_the_library_pytorch_answers(directory: Path) -> None:
    model = Translator.from_pretrained(directory)

    assert model.engines.name == "pytorch" == model.translate(["The cat."])[0].engine
    assert list(model.engines.reasons) == ["the native engine was not built when the package was installed"]
    with pytest.raises(CheckpointError) as error:
        Translator.from_pretrained(directory, engine="native")
    assert str(error.value) == (
        "the native engine cannot be had: the native engine was not built when the package was installed; "
        'set engine = "auto"'
    )


@needs_library
def test_the_precision_is_that_of_the_file_unless_asked(directory: Path, tmp_path: Path) -> None:
    save_model(tmp_path / "int8", random_model("encoder-decoder"), tokenizer(), card="", storage="int8")
    stored = Translator.from_pretrained(tmp_path / "int8")
    fast = usable_kernels()[0] in FAST_INT8

    assert stored.engines.name.startswith("native int8" if fast else "native float32")
    assert Translator.from_pretrained(tmp_path / "int8", precision="float32").engines.name.startswith(
        "native float32"
    )
    assert Translator.from_pretrained(directory, precision="int8").engines.name.startswith("native int8")


@needs_library
def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path / "model", random_model("encoder-decoder"), tokenizer(), card="")
    weights = tmp_path / "model" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(CheckpointError, match="SHA-256 differs"):
        Translator.from_pretrained(tmp_path / "model")


@needs_library
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read as Linux tells it")
def test_translating_imports_no_torch(directory: Path) -> None:
    """Neither does it take long, or much memory; these are printed, since machines differ."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom glassformer.cli import main\n"
        f"sys.argv = ['glassformer', 'translate', '-m', {str(directory)!r}, '--json', 'The cat sat.']\n"
        "try: main()\nexcept SystemExit as end: code = end.code\n"
        "status = dict(line.split(':', 1) for line in Path('/proc/self/status').read_text().splitlines())\n"
        "print(status['VmHWM'].split()[0], file=sys.stderr)\n"
        "sys.exit('torch' in sys.modules or code)"
    )
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ
    )
    print(f"{time.perf_counter() - start:.2f} s, {int(done.stderr.split()[-1]) / 1024:.0f} MiB")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["engine"].startswith("native")
    assert int(done.stderr.split()[-1]) < 250 * 1024


def test_a_result_tells_its_engine_last() -> None:
    """Code that builds results by position goes on working."""
    assert [field.name for field in dataclasses.fields(Translation)][-1] == "engine"
