"""An imported directory is a model directory like any other: used from Python and from the command line."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from glassformer.checkpoint import load_model, verify
from glassformer.cli.app import app
from glassformer.decoding import LanguageModel, TextEncoder, Translator
from glassformer.errors import CheckFailed, CheckpointError
from glassformer.interop import import_hugging_face
from tests.support.foreign import LANGUAGE_CASES
from tests.support.foreign_tokenizers import bart, bert, gpt2, llama3, marian, t5

pytest.importorskip("transformers", reason="the originals are written by transformers")
pytest.importorskip("sentencepiece", reason="it trains their vocabularies")

TEXTS = ["low lower lowest", "The quick brown fox jumps over the lazy dog.", "newer wider"]


def imported(make: Callable[[Path], Any], folder: Path) -> Path:
    (folder / "theirs").mkdir()
    make(folder / "theirs")
    import_hugging_face(folder / "theirs").save(folder / "ours")
    return folder / "ours"


@pytest.mark.parametrize("make", [marian, t5, bart], ids=lambda make: make.__name__)
def test_a_translator_answers_as_the_original_does(make: Callable[[Path], Any], tmp_path: Path) -> None:
    """Greedy search on texts: tokenizer, frame, start and search together."""
    transformers: Any = import_module("transformers")

    ours = imported(make, tmp_path)
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(str(tmp_path / "theirs")).eval()
    translator = Translator.from_pretrained(ours)
    tokenizer = translator.tokenizer
    forced = tokenizer.target_before
    never = [i for i in tokenizer.control_ids if i != tokenizer.eos_id]
    unused = list(range(tokenizer.size, theirs.config.vocab_size))
    found = translator.translate(TEXTS, beam=1, max_length=12, language=None)
    for text, translation in zip(TEXTS, found, strict=True):
        sources = translator.framing.sources([text])[0]
        ids = theirs.generate(
            torch.tensor([sources]),
            max_new_tokens=12 + len(forced),
            do_sample=False,
            suppress_tokens=[token for token in never + unused if token not in forced],
            forced_bos_token_id=forced[0] if forced else None,
        )[0].tolist()
        said = [token.id for token in translation.tokens]

        assert said == ids[1 : len(said) + 1]
    assert load_model(ours).config.family == "encoder-decoder"
    assert verify(ours)


@pytest.mark.parametrize("make", [marian, bart], ids=lambda make: make.__name__)
def test_a_foreign_directory_is_used_as_it_is(make: Callable[[Path], Any], tmp_path: Path) -> None:
    """``from_pretrained`` imports on the way: the same answers as from the imported directory."""
    ours = Translator.from_pretrained(imported(make, tmp_path))
    direct = Translator.from_pretrained(tmp_path / "theirs")

    assert direct.translate(TEXTS, max_length=12) == ours.translate(TEXTS, max_length=12)


def test_a_language_model_goes_on(tmp_path: Path) -> None:
    for make in (gpt2, llama3):
        (tmp_path / make.__name__).mkdir()
        model = LanguageModel.from_pretrained(imported(make, tmp_path / make.__name__))
        text = model.generate(["low lower"], max_length=5, beam=1)[0]

        assert len(text.tokens) <= 5 and model.specials.start == model.tokenizer.bos_id


def test_a_text_encoder_fills_blanks_and_embeds(tmp_path: Path) -> None:
    encoder = TextEncoder.from_pretrained(imported(bert, tmp_path))
    guesses = encoder.fill(["low [MASK] lowest"], top=3)

    assert len(guesses[0][0]) == 3
    assert not {guess.id for guess in guesses[0][0]} & set(encoder.tokenizer.control_ids)
    assert encoder.embed(TEXTS).norm(dim=-1).allclose(torch.ones(3))


def test_the_command_imports_and_reports(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    bert(tmp_path / "theirs")
    arguments = ["import", str(tmp_path / "theirs"), str(tmp_path / "ours")]
    dry = CliRunner().invoke(app, [*arguments, "--dry-run"])
    assert dry.exit_code == 0 and not (tmp_path / "ours").exists()
    done = CliRunner().invoke(app, [*arguments, "--json"])
    summary = json.loads(done.stdout)

    assert (summary["architecture"], summary["family"]) == ("bert", "encoder-only")
    tensors = summary["tensors"]
    assert tensors["stored"] == tensors["used"] + tensors["tied"] + tensors["computed"] + tensors["aside"]
    assert summary["parity"]["holds"] and summary["parity"]["largest_difference"] <= 1e-4
    saved = json.loads((tmp_path / "ours" / "import.json").read_bytes())
    assert saved["parity"] == summary["parity"] and saved["tensors"] == tensors
    assert "logits, ours against transformers" in dry.output and "stored: " in dry.output
    assert summary["out"] == str(tmp_path / "ours") and (tmp_path / "ours" / "manifest.json").is_file()


@pytest.mark.parametrize("make", [marian, t5, gpt2, bert], ids=lambda make: make.__name__)
def test_the_original_is_asked_without_opening_its_files(make: Callable[[Path], Any], tmp_path: Path) -> None:
    """One that differs is not written."""
    make(tmp_path)
    found = import_hugging_face(tmp_path)
    report = found.measure()
    assert report is not None and report.holds and report.numbers > 1_000
    with torch.no_grad():
        next(found.model.parameters()).mul_(1.5)
    other = found.measure()

    assert other is not None and not other.holds
    with pytest.raises(CheckFailed, match="the imported model differs from the original by"):
        found.save(tmp_path / "out", other)
    assert not (tmp_path / "out").exists()


def test_a_foreign_directory_is_not_taken_for_ours(tmp_path: Path) -> None:
    """Only what uses a model imports on the way; what reads our files says what to do."""
    (tmp_path / "theirs").mkdir()
    marian(tmp_path / "theirs")
    with pytest.raises(CheckpointError, match="must be imported first") as caught:
        load_model(tmp_path / "theirs")

    assert caught.value.hint == f"glassformer import {tmp_path / 'theirs'} OUT"


def test_ours_is_not_imported_again(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    ours = imported(bert, tmp_path / "a")
    with pytest.raises(CheckpointError, match="already") as caught:
        import_hugging_face(ours)

    assert caught.value.hint == f"glassformer info {ours}"


def test_a_model_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    case = LANGUAGE_CASES[3]
    case.save(case.build(), tmp_path)
    with pytest.raises(CheckpointError, match=r"there is no tokenizer\.json, nor any other file"):
        import_hugging_face(tmp_path)
