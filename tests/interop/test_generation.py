"""Imported models are asked as their directories say: generation_config.json in our words."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from glassformer.config import DecodeConfig, ModelConfig
from glassformer.decoding import LanguageModel, Translator
from glassformer.errors import CheckpointError
from glassformer.interop import import_hugging_face
from glassformer.interop.generation import read_generation
from glassformer.interop.settings import Settings
from tests.support.foreign_tokenizers import gpt2, marian

pytest.importorskip("transformers", reason="the originals are those of transformers")
pytest.importorskip("sentencepiece", reason="it trains their vocabularies")

SIDES = ModelConfig(family="encoder-decoder", vocab_size=50)
PLAIN = Settings("config.json", {})


def decode(config: ModelConfig = SIDES, n_forced: int = 0, **table: object) -> DecodeConfig | None:
    return read_generation(Settings("generation_config.json", table), PLAIN, config, n_forced).decode


def test_only_what_is_said_counts() -> None:
    assert decode() is None
    assert decode(bos_token_id=3, pad_token_id=1) is None
    assert decode(num_beams=1) == DecodeConfig(beam=1)


def test_their_length_penalty_divides_by_the_length() -> None:
    assert decode(num_beams=6) == DecodeConfig(beam=6, alpha=1.0, length_penalty="average")
    expected = DecodeConfig(beam=5, alpha=-0.5, length_penalty="average")
    assert decode(num_beams=5, length_penalty=-0.5) == expected


def test_their_lengths_count_the_start() -> None:
    assert decode(max_length=10, min_length=4) == DecodeConfig(max_length=9, min_length=4)
    assert decode(n_forced=1, max_length=10, min_length=4) == DecodeConfig(max_length=8, min_length=3)
    assert decode(max_new_tokens=7, min_new_tokens=2) == DecodeConfig(max_length=7, min_length=3)


def test_the_length_of_a_language_model_has_a_prompt_in_it() -> None:
    causal = ModelConfig(family="decoder-only", vocab_size=50)

    assert decode(causal, max_length=50) is None
    assert decode(causal, max_new_tokens=50) == DecodeConfig(max_length=50)


def test_sampling_is_followed() -> None:
    assert decode(do_sample=True) == DecodeConfig(temperature=1.0, top_k=50)
    expected = DecodeConfig(temperature=0.6, top_k=0, top_p=0.9)
    assert decode(do_sample=True, temperature=0.6, top_k=0, top_p=0.9) == expected
    assert decode(temperature=0.6) is None  # without do_sample they search


def test_older_directories_have_it_in_config_json() -> None:
    old = Settings("config.json", {"num_beams": 4, "length_penalty": 2.0, "no_repeat_ngram_size": 3})
    found = read_generation(Settings("generation_config.json", {}), old, SIDES)

    expected = DecodeConfig(beam=4, alpha=2.0, length_penalty="average", no_repeat_ngram=3)
    assert found.decode == expected


def test_what_is_not_followed_is_told() -> None:
    table = {"early_stopping": True, "num_beam_groups": 1, "temperature": 9.0, "do_sample": True}
    found = read_generation(Settings("a/generation_config.json", table), PLAIN, SIDES)

    assert found.decode == DecodeConfig(temperature=2.0, top_k=50)
    assert found.notes == (
        "temperature = 9.0 is beyond ours; it was taken as 2",
        "early_stopping of generation_config.json is not followed: "
        "a search here ends when nothing better can come",
    )


@pytest.mark.parametrize("value", [True, "1", [1], 1e9])
def test_what_is_no_penalty_is_refused(value: object) -> None:
    with pytest.raises(CheckpointError, match=r"length_penalty = .* is impossible"):
        decode(num_beams=4, length_penalty=value)


def test_users_of_a_directory_ask_as_it_says(tmp_path: Path) -> None:
    wanted = {"num_beams": 3, "length_penalty": 1.5, "max_length": 14}
    translator = Translator.from_pretrained(imported(marian, tmp_path, wanted))
    model = LanguageModel.from_pretrained(imported(gpt2, tmp_path, {"do_sample": True, "top_p": 0.5}))

    assert translator.decode == DecodeConfig(beam=3, alpha=1.5, length_penalty="average", max_length=13)
    assert model.decode == DecodeConfig(temperature=1.0, top_k=50, top_p=0.5)


def imported(make: Callable[[Path], Any], folder: Path, wanted: Mapping[str, object]) -> Path:
    theirs, ours = folder / f"{make.__name__}-theirs", folder / make.__name__
    theirs.mkdir()
    make(theirs)
    path = theirs / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | wanted))
    import_hugging_face(theirs).save(ours)
    return ours
