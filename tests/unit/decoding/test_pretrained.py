"""Directories that do not give what was asked for say why."""

from pathlib import Path

import pytest

from glassformer.checkpoint import save_model
from glassformer.decoding import Translator
from glassformer.errors import CheckpointError
from tests.unit.decoding.texts import random_model, tokenizer, translator


def test_a_model_of_texts_needs_a_tokenizer(tmp_path: Path) -> None:
    save_model(tmp_path / "model", random_model("encoder-decoder"), None, card="")
    with pytest.raises(CheckpointError) as error:
        Translator.from_pretrained(tmp_path / "model")

    assert str(error.value) == f"{tmp_path / 'model'}: no tokenizer.json here; a model of texts needs one"


def test_an_ensemble_needs_one_tokenizer(tmp_path: Path) -> None:
    translator().save_pretrained(tmp_path / "one")
    Translator(translator().models, tokenizer("x")).save_pretrained(tmp_path / "two")
    with pytest.raises(CheckpointError) as error:
        Translator.from_pretrained(tmp_path / "one", tmp_path / "two")

    assert str(error.value) == (
        f"{tmp_path / 'two'}: its tokenizer is not that of {tmp_path / 'one'}; an ensemble needs one for all"
    )
