"""The shipped translator, exported: the same 500 translations as ours by another program."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from glassformer.decoding import Translator
from glassformer.decoding.pretrained import shipped_model
from glassformer.errors import CheckpointError
from glassformer.interop import FORMATS, export_model
from glassformer.text.phrasebook import generate

pytestmark = pytest.mark.long

SENTENCES = 500
LEAST = 0.99


@pytest.fixture(scope="module")
def model() -> Path:
    try:
        return shipped_model()
    except CheckpointError as error:
        pytest.skip(str(error))


def test_ctranslate2_translates_as_we_do(model: Path, tmp_path: Path) -> None:
    """Beam 4 without a length penalty, whose formulas differ."""
    ctranslate2: Any = pytest.importorskip("ctranslate2", reason="it translates the exported model")
    export_model(model, tmp_path / "ct2", "ctranslate2")
    texts = [phrase.english for phrase in generate(SENTENCES, seed=7)]
    ours = Translator.from_pretrained(model)
    found = ours.translate(texts, beam=4, alpha=0.0, min_length=2)  # there, an output is never empty
    tokenizer = ours.tokenizer
    pieces, sources = tokenizer.raw_pieces, tokenizer.source.raw_pieces
    results = ctranslate2.Translator(str(tmp_path / "ct2"), compute_type="float32").translate_batch(
        [[sources[i] for i in ids] for ids in tokenizer.encode_source(texts)],
        beam_size=4,
        length_penalty=0.0,
        suppress_sequences=[[pieces[i]] for i in tokenizer.control_ids if i != tokenizer.eos_id],
    )
    place = {piece: i for i, piece in enumerate(pieces)}
    theirs = [tokenizer.decode([place[piece] for piece in result.hypotheses[0]]) for result in results]
    same = sum(one.text == other for one, other in zip(found, theirs, strict=True))
    print(f"{same} of {SENTENCES} translations are the same")

    assert same >= LEAST * SENTENCES


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_holds_the_shipped_model(format: str, model: Path, tmp_path: Path) -> None:
    for package in ("transformers", "ctranslate2", "onnx", "onnxruntime"):
        pytest.importorskip(package, reason="it reads what is exported")
    report = export_model(model, tmp_path / "out", format)
    print(report)

    assert report.holds and import_module("glassformer.interop").FORMATS == FORMATS
