"""Text that goes on."""

from pathlib import Path

import pytest

from glassformer.config import DecodeConfig
from glassformer.decoding import LanguageModel, load
from glassformer.errors import InputError
from tests.unit.decoding.texts import language_model, tokenizer

PROMPTS = ["The cat", "", "A dog is sleeping near", "日本"]


@pytest.mark.parametrize("settings", [{"beam": 1}, {"beam": 3}, {"temperature": 0.9, "seed": 3}], ids=str)
def test_what_streams_is_what_comes_alone_or_together(settings: dict[str, object]) -> None:
    """T6: every piece is whole characters."""
    model, config = language_model(), DecodeConfig.model_validate({"max_length": 10} | settings)
    together = model.generate(PROMPTS, config)
    for prompt, found in zip(PROMPTS, together, strict=True):
        pieces = [piece.text for piece in model.stream(prompt, config)]

        assert [piece.encode().decode() for piece in pieces] == pieces
        if not config.sampling:
            assert "".join(pieces) == found.text
            assert model.generate([prompt], config)[0].text == found.text


def test_text_goes_on_where_the_prompt_ends() -> None:
    model = language_model()
    (found,) = model.generate(["The cat"], beam=1, max_length=6)
    ids = [token.id for token in found.tokens if token.id != tokenizer().eos_id]

    assert "The cat" + found.text == tokenizer().decode([*tokenizer().encode("The cat"), *ids])
    assert isinstance(model("The cat"), str) and len(model(["The cat", "A dog"])) == 2


def test_scores_sum_up() -> None:
    scored, blank = language_model().score(["The cat sat on the mat.", " "])

    assert scored.perplexity is not None and scored.perplexity > 1
    assert [word for word, _ in scored.words] == ["The", "cat", "sat", "on", "the", "mat.", "</s>"]
    assert blank.log_probability is None
    with pytest.raises(InputError, match=r"^a text of 61 tokens is longer than max_length = 40; split it"):
        language_model().score(["cat " * 60])


def test_a_prompt_that_fills_the_model_is_refused() -> None:
    message = "a prompt of 61 tokens leaves no room in the 40 of max_length; shorten it"
    with pytest.raises(InputError) as error:
        language_model()("cat " * 60)
    assert str(error.value) == message
    with pytest.raises(InputError) as error:  # at once, not at the first token
        language_model().stream("cat " * 60)
    assert str(error.value) == message


def test_forbidden_texts_do_not_come() -> None:
    model = language_model()
    (plain,) = model.generate(["The cat"], beam=1, max_length=6)
    first = plain.tokens[0]
    (other,) = model.generate(["The cat"], beam=1, max_length=6, forbidden=[first.piece.replace("▁", "")])

    assert other.tokens[0].id != first.id or not first.piece.startswith("▁")
    with pytest.raises(InputError, match="forbidden texts are a list"):
        model.generate(["The cat"], forbidden="cat")


def test_a_directory_gives_back_the_model(tmp_path: Path) -> None:
    model = language_model()
    model.save_pretrained(tmp_path / "lm")
    again, picked = LanguageModel.from_pretrained(tmp_path / "lm", engine="pytorch"), load(tmp_path / "lm")

    assert isinstance(picked, LanguageModel)
    assert again.generate(["A dog"], max_length=4) == model.generate(["A dog"], max_length=4)
