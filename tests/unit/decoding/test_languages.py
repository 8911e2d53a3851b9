"""Target languages at the time of use: one for all texts, one for each, or the translator's own."""

import pytest

from glassformer.decoding import Translator
from glassformer.decoding.framing import Framing, Wishes
from glassformer.decoding.splitting import Segment
from glassformer.errors import InputError
from glassformer.nn import EncoderDecoder
from tests.unit.decoding.texts import random_model, tokenizer


def test_each_text_may_ask_for_its_own_language() -> None:
    texts = tokenizer("fr", "de")
    framing = Framing(texts, 40, "fr")
    found = framing.sources(["A dog.", "A dog.", "A dog."], ["de", None, "fr"])

    assert [ids[0] for ids in found] == [texts.language_id(each) for each in ("de", "fr", "fr")]
    assert found == [framing.sources(["A dog."], each)[0] for each in ("de", "fr", "fr")]


def test_every_sentence_of_a_text_has_the_language_of_the_text() -> None:
    texts = tokenizer("fr", "de")
    cut = [[Segment("A dog.", " "), Segment("A cat.", "")], [Segment("A dog.", "")]]
    queries = Framing(texts, 40).queries(cut, Wishes(language=["de", "fr"]), split=True)

    assert [query.ids[0] for query in queries.values()] == [
        texts.language_id(each) for each in ("de", "de", "fr")
    ]


def test_as_many_languages_as_texts_are_needed() -> None:
    with pytest.raises(InputError) as error:
        Framing(tokenizer("fr", "de"), 40).sources(["A dog."], ["fr", "de"])

    assert str(error.value) == "2 languages for 1 texts; give one for each, or one for all"


def test_a_translator_into_a_language_is_a_new_one() -> None:
    texts = tokenizer("fr", "de")
    model = random_model("encoder-decoder", vocab_size=texts.size)
    assert isinstance(model, EncoderDecoder)
    both = Translator(model, texts)
    german = both.into("de")

    assert german(["A dog."]) == [both.translate(["A dog."], language="de")[0].text]
    assert both.framing.language is None
    with pytest.raises(InputError, match="'es' has no tag"):
        both.into("es")
