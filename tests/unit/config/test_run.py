"""A run from what a user wrote: preset filled in, vocabulary taken over."""

import pytest

from glassformer.config import ModelConfig, TokenizerConfig, resolve
from glassformer.errors import ConfigError

DATA: dict[str, object] = {"train": {"pairs": "a.tsv"}}


def test_without_a_word_on_the_model_it_is_the_small_one() -> None:
    run = resolve({"data": DATA}, "run.toml")

    assert run.model == ModelConfig.preset("small", vocab_size=TokenizerConfig().vocab_size)


def test_a_preset_is_filled_in_and_what_stands_beside_it_wins() -> None:
    run = resolve({"data": DATA, "model": {"preset": "tiny-lm", "d_ff": 77}}, "run.toml")

    assert run.model == ModelConfig.preset("tiny-lm", vocab_size=8000, d_ff=77)


def test_the_vocabulary_follows_the_tokenizer_until_the_model_says_otherwise() -> None:
    follows = resolve({"data": DATA, "tokenizer": {"vocab_size": 500}}, "run.toml")
    differs = resolve(
        {"data": DATA, "tokenizer": {"vocab_size": 500}, "model": {"vocab_size": 7}}, "run.toml"
    )

    assert follows.model.vocab_size == 500
    assert differs.model.vocab_size == 7


def test_what_the_user_wrote_is_left_as_it_was() -> None:
    written: dict[str, object] = {"data": DATA, "model": {"preset": "tiny"}}
    resolve(written, "run.toml")

    assert written == {"data": DATA, "model": {"preset": "tiny"}}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"preset": 5}, "run.toml [model]: preset = 5 should be a name in quotes"),
        ({"preset": True}, "run.toml [model]: preset = true should be a name in quotes"),
        ({"preset": "smal"}, "there is no preset 'smal'; did you mean 'small'?"),
        ({"n_head": 5}, "run.toml [model]: unknown key 'n_head'; did you mean 'n_heads'?"),
        (5, "run.toml: model = 5 should be a table"),
    ],
)
def test_mistakes_of_a_model_table_are_told(model: object, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        resolve({"data": DATA, "model": model}, "run.toml")

    assert str(error.value) == message
