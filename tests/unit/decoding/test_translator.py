"""Text in, text out: whatever the text, and whatever is asked."""

import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from glassformer.config import DecodeConfig
from glassformer.decoding import Translation, Translator, load
from glassformer.decoding.framing import Framing
from glassformer.decoding.hypothesis import Query
from glassformer.errors import CheckpointError, ConfigError, InputError
from tests.unit.decoding.texts import language_model, random_model, tokenizer, translator

SHORT = DecodeConfig(beam=2, max_length=6)
BLANKS = ["", " ", "\t", "\u00a0", "\u3000", "\u200b", "\r\n", "\u2028", "\x00\x07"]
ODD = [
    "a",
    "☃",
    "</s> <pad> <unk> ▁ @@ >>fra<<",
    "one\r\ntwo\u2028three\u0085four",
    "\ufdd0\uffff\ue000\U0010ffff",
    "👨‍👩‍👧 🏳️‍🌈 🇫🇷 👍🏽",
    "שלום 123 abc مرحبا",
    "日本語です。ｱｲｳ１２３",
    "क्‍ष ไทย",
    "e" + "\u0301" * 15,
    "%s%n {0} $(id)",
    "<script>alert(1)</script>",
    "\x1b[2J",
]


def test_a_text_gives_a_text_and_a_list_a_list() -> None:
    model = translator()
    texts = ["The cat sat.", "", "A dog."]

    assert isinstance(model("The cat sat."), str)
    assert model(texts) == [found.text for found in model.translate(texts)]
    assert model([]) == [] == model.translate([])


@pytest.mark.parametrize("text", BLANKS)
def test_a_blank_text_stays_blank_without_asking_the_model(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B40, B41."""
    model = translator()
    monkeypatch.setattr(model.models[0], "encode", lambda *_: pytest.fail("the model was asked"))

    assert model(text) == ""
    assert model.translate([text, text], alignment=True) == [Translation("", None, None, (), True)] * 2
    assert model.translate([text], split=True)[0].text == ""
    assert list(model.stream(text)) == []


@pytest.mark.parametrize("text", ODD)
def test_any_text_gives_one_result(text: str) -> None:
    """B42 to B63: nothing crashes, nothing special comes of it, and what streams is what comes."""
    model = translator()
    (found,) = model.translate([text], SHORT)

    assert found.score is not None
    found.text.encode()
    for piece in (pieces := list(model.stream(text, SHORT))):
        piece.text.encode()
    assert "".join(piece.text for piece in pieces) == found.text


def test_half_a_character_is_refused() -> None:
    with pytest.raises(InputError, match="lone surrogate"):
        translator()("a\ud800")


def test_a_long_text_is_refused_with_limit_and_count() -> None:
    """B44."""
    long = "cat " * 60
    for call in (translator(), lambda text: list(translator().stream(text))):
        with pytest.raises(InputError) as error:
            call(long)

        assert str(error.value) == (
            "a source of 61 tokens is longer than max_length = 40; "
            "split it, or train with a larger max_length"
        )
    with pytest.raises(InputError, match=r"^text 2: a source of 61 tokens"):
        translator()(["cat", long])


def test_a_long_text_of_short_sentences_can_be_split() -> None:
    text = "  The cat sat.  A dog.\n\nThe mat." + " A dog." * 20
    model = translator()
    (found,) = model.translate([text], SHORT, split=True, nbest=2)
    parts = model.translate(["The cat sat.", "A dog.", "The mat."], SHORT, nbest=2)

    assert found.text.startswith(f"  {parts[0].text}  {parts[1].text}\n\n{parts[2].text} ")
    assert found.log_probability == pytest.approx(
        sum(parts[i].log_probability or 0 for i in (0, 1, 2)) + 20 * (parts[1].log_probability or 0), abs=1e-3
    )
    assert len(found.alternatives) == 1
    assert found.alternatives[0].text.startswith(f"  {parts[0].alternatives[0].text}  ")
    assert "".join(piece.text for piece in model.stream(text, SHORT, split=True)) == found.text


def test_a_sentence_too_long_is_refused_even_when_split() -> None:
    with pytest.raises(InputError, match=r"a sentence of 61 tokens is longer .* shorten it"):
        translator().translate(["Short.\n" + "cat " * 60], split=True)


def test_a_line_of_a_megabyte_is_refused_in_time() -> None:
    with pytest.raises(InputError, match="is longer than max_length = 40"):
        translator()("word " * 200_000)


def test_a_thousand_shuffled_texts_come_back_in_order() -> None:
    """P12: 1,000 of 1,000."""
    words = ["cat", "dog", "mat", "The", "sleeping", "houses", ""]
    draw = random.Random(2)
    texts = [" ".join(draw.choices(words, k=draw.randint(0, 4))) for _ in range(1000)]
    model, config = translator(), DecodeConfig(beam=1, max_length=2)
    alone = {text: model.translate([text], config)[0].text for text in set(texts[:40])}
    together = [found.text for found in model.translate(texts, config)]
    backwards = [found.text for found in model.translate(texts[::-1], config)][::-1]

    assert together == backwards
    assert all(found == alone[text] for text, found in zip(texts, together, strict=True) if text in alone)


def test_results_say_everything() -> None:
    model = translator()
    (found,) = model.translate(["The cat sat on the mat."], beam=3, nbest=3, max_length=6)
    own = [token.log_probability for token in found.tokens]

    assert len(found.alternatives) == 2
    assert found.score is not None and found.score >= (found.alternatives[0].score or 0)
    assert sum(own) == pytest.approx(found.log_probability)
    assert found.n_input_tokens == len(tokenizer().encode("The cat sat on the mat.")) + 1
    assert json.loads(json.dumps(found.to_dict()))["text"] == found.text
    assert str(found) == found.text
    assert "<ol>" in found._repr_html_()


def test_shown_text_is_escaped() -> None:
    assert Translation("<b>&", -1.0, -1.0, (), True)._repr_html_() == (
        "<span dir='auto'>&lt;b&gt;&amp;</span> <small>-1.00</small>"
    )


def test_unknown_characters_and_limits_are_reported() -> None:
    (found,) = translator().translate(["ჯჰჳ ჴჵ"], beam=1, max_length=2, min_length=2)

    assert found.unknown_ratio > 0.5
    assert any("characters that the tokenizer does not know" in warning for warning in found.warnings)
    if not found.finished:
        assert "the output met its limit of 2 tokens" in found.warnings


@pytest.mark.parametrize("settings", [{}, {"beam": 1}, {"temperature": 1.0}], ids=str)
def test_a_prefix_is_kept(settings: dict[str, object]) -> None:
    """S8."""
    config = DecodeConfig.model_validate({"max_length": 5} | settings)
    texts = ["The cat sat.", "A dog.", "The mat."]
    prefixes = ["Le chat", "", "Un chien"]
    for found, prefix in zip(translator().translate(texts, config, prefix=prefixes), prefixes, strict=True):
        assert found.text.startswith(prefix)
    assert "".join(x.text for x in translator().stream("A dog.", config, prefix="Le chat")).startswith(
        "Le chat"
    )


def test_terms_are_required_forbidden_and_looked_up() -> None:
    model = translator()
    (always,) = model.translate(["A dog."], required=["tapis", "Le chat"], max_length=30)
    where, elsewhere = model.translate(
        ["The cat sat.", "The catalogue."], required={"cat": "Привет"}, max_length=30
    )
    plain = model.translate(["A dog."], max_length=8)[0]
    word = next(token.piece for token in plain.tokens if token.piece.isprintable())
    (without,) = model.translate(["A dog."], forbidden=[word.replace("▁", "")], max_length=8)

    assert "tapis" in always.text and "Le chat" in always.text
    assert "Привет" in where.text
    assert elsewhere.text == model.translate(["The catalogue."], max_length=30)[0].text
    assert without.text != plain.text or "▁" not in word


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "translate: beam = 0 should be greater than 0"),
        ({"beam": -1}, "translate: beam = -1 should be greater than 0"),
        ({"beam": 2.5}, "translate: beam = 2.5 should be a valid integer"),
        ({"beam": "4"}, 'translate: beam = "4" should be a valid integer'),
        ({"temperature": -1.0}, "translate: temperature = -1.0 should be greater than or equal to 0"),
        ({"temperature": float("inf")}, "translate: temperature = Infinity should be a finite number"),
        ({"temperature": 1.0, "top_p": 0.0}, "translate: top_p = 0.0 should be greater than 0"),
        ({"max_length": 0}, "translate: max_length = 0 should be greater than 0"),
        ({"min_length": 5, "max_length": 4}, "translate: min_length = 5 is more than max_length = 4"),
        ({"nbest": 5}, "translate: nbest = 5 is more than beam = 4"),
        ({"seed": -1}, "translate: seed = -1 should be greater than or equal to 0"),
        ({"seed": 2**64}, "translate: seed = 18446744073709551616 should be less than 18446744073709551616"),
        ({"temprature": 1.0}, "translate: unknown key 'temprature'; did you mean 'temperature'?"),
        ({"top_k": 5}, "translate: top_k = 5 is for sampling; set temperature, for example 1.0"),
        ({"top_p": 0.5}, "translate: top_p = 0.5 is for sampling; set temperature, for example 1.0"),
        (
            {"temperature": 1.0, "coverage": 0.2},
            "translate: coverage = 0.2 is for searching; leave temperature unset",
        ),
        (
            {"beam": 4, "beam_groups": 3, "nbest": 3, "diversity": 1.0},
            "translate: beam_groups = 3 does not divide beam = 4; groups must be equal",
        ),
        (
            {"beam_groups": 2, "nbest": 2},
            "translate: beam_groups = 2 and diversity = 0.0 do not go together; set both or neither",
        ),
        (
            {"beam_groups": 2, "diversity": 1.0},
            "translate: nbest = 1 is less than beam_groups = 2, which give at least one result each",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_options_that_cannot_be_are_refused(options: dict[str, object], message: str) -> None:
    """B30 to B37."""
    with pytest.raises(ConfigError) as error:
        translator().translate(["A dog."], **options)  # type: ignore[arg-type]

    assert str(error.value) == message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prefix": "cat " * 60}, "a prefix of 60 tokens leaves no room in the 40 of max_length; shorten it"),
        ({"language": "fr"}, "language 'fr' has no tag in this tokenizer; it knows none"),
        ({"prefix": ["a", "b"]}, "2 prefixes for 1 texts; give one for each, or one for all"),
        ({"forbidden": "cat"}, "required and forbidden texts are lists; put a single one in a list"),
        ({"prefix": "A", "split": True}, "a prefix belongs to one sentence; set split = false"),
    ],
    ids=["prefix", "language", "prefixes", "forbidden", "split"],
)
def test_wishes_that_cannot_be_are_refused(arguments: dict[str, object], message: str) -> None:
    """B38, B39."""
    with pytest.raises(InputError) as error:
        translator().translate(["A dog."], **arguments)  # type: ignore[arg-type]

    assert str(error.value) == message


def test_what_is_no_text_is_refused() -> None:
    """B11."""
    with pytest.raises(InputError, match="give a list of texts"):
        translator().translate("A dog.")
    with pytest.raises(InputError, match=r"^text 2: this is no text but of type int$"):
        translator().translate(["A dog.", 3])  # type: ignore[list-item]
    with pytest.raises(InputError, match="nbest = 2 cannot be streamed; set nbest = 1"):
        translator().stream("A dog.", nbest=2)


@pytest.mark.parametrize(
    ("known", "usual", "asked", "tagged"),
    [
        ((), None, None, None),
        (("fr",), None, None, "fr"),  # there is only one to mean
        (("fr", "de"), None, "de", "de"),
        (("fr", "de"), "fr", None, "fr"),
        (("fr", "de"), "fr", "de", "de"),
    ],
)
def test_a_language_is_asked_for_by_its_tag(
    known: tuple[str, ...], usual: str | None, asked: str | None, tagged: str | None
) -> None:
    texts = tokenizer(*known)
    ((first, *_, last),) = Framing(texts, 40, usual).sources(["A dog."], asked)

    assert last == texts.eos_id
    assert first == (texts.encode("A dog.")[0] if tagged is None else texts.language_id(tagged))


def test_an_unknown_or_unnamed_language_is_refused_with_the_list() -> None:
    """B38."""
    framing = Framing(tokenizer("fr", "de"), 40)
    with pytest.raises(InputError) as unnamed:
        framing.sources(["A dog."])
    with pytest.raises(InputError) as unknown:
        framing.sources(["A dog."], "fra")

    assert str(unnamed.value) == "this model has several target languages; name one of fr, de"
    assert str(unknown.value) == (
        "language 'fra' has no tag in this tokenizer; did you mean 'fr'?; it knows fr, de"
    )


def test_scores_are_those_of_translating() -> None:
    model = translator()
    source = "The cat sat on the mat."
    (found,) = model.translate([source], beam=3, max_length=30)
    scored, nothing = model.score([(source, found.text), ("", "A dog.")])
    again = tokenizer().encode(found.text)

    if again == [token.id for token in found.tokens if token.id != tokenizer().eos_id] and found.finished:
        assert scored.log_probability == pytest.approx(found.log_probability, abs=1e-5)
    assert sum(value for _, value in scored.words) == pytest.approx(scored.log_probability)
    assert scored.words[-1][0] == "</s>"
    assert nothing.log_probability is None
    with pytest.raises(InputError, match=r"^a target of 61 tokens is longer than max_length = 40"):
        model.score([(source, "cat " * 60)])


def test_alignments_are_between_words() -> None:
    model = translator()
    found, _ = model.translate(
        ["The cat sat on the mat.", ""], prefix="Le chat est là", max_length=4, alignment=True
    )
    alignment = found.alignment

    assert alignment is not None
    assert alignment.source == ("The", "cat", "sat", "on", "the", "mat.")
    assert alignment.target[:3] == ("Le", "chat", "est")
    assert len(alignment.weights) == len(alignment.target) == len(alignment.links)
    assert all(sum(row) <= 1 + 1e-5 for row in alignment.weights)
    assert len(alignment.pharaoh.split()) == len(alignment.target)


def test_alignments_of_several_sentences_follow_each_other() -> None:
    model = translator()
    (found,) = model.translate(["The cat. A dog."], SHORT, split=True, alignment=True)

    assert found.alignment is not None
    assert found.alignment.source == ("The", "cat.", "A", "dog.")
    assert all(0 <= link.source < 4 for link in found.alignment.links)
    assert len(found.alignment.weights) == len(found.alignment.target)


def test_the_layer_for_alignments_can_be_chosen() -> None:
    model = translator()
    reading = model.choose_reading([("The cat sat.", "Le chat."), ("A dog 42.", "Le 42")])

    assert 0 <= reading.layer < 2


def test_an_ensemble_of_the_same_is_the_same() -> None:
    single = translator()
    double = Translator([single.models[0], single.models[0]], tokenizer())

    assert double.translate(["A dog."], SHORT)[0].text == single.translate(["A dog."], SHORT)[0].text


def test_a_directory_gives_back_the_translator(tmp_path: Path) -> None:
    model = translator()
    model.save_pretrained(tmp_path / "model")
    for again in (
        Translator.from_pretrained(tmp_path / "model"),
        Translator.from_pretrained(tmp_path / "model", str(tmp_path / "model")),
        load(tmp_path / "model"),
    ):
        assert isinstance(again, Translator)
        assert again.translate(["A dog."], SHORT)[0].text == model.translate(["A dog."], SHORT)[0].text


def test_a_directory_of_another_family_names_what_fits(tmp_path: Path) -> None:
    language_model().save_pretrained(tmp_path / "lm")
    with pytest.raises(CheckpointError) as error:
        Translator.from_pretrained(tmp_path / "lm")

    assert (
        str(error.value)
        == f'{tmp_path / "lm"}: this is a model of family = "decoder-only"; use LanguageModel'
    )


def test_an_ensemble_is_not_saved_as_one(tmp_path: Path) -> None:
    model = translator().models[0]
    with pytest.raises(InputError, match="an ensemble of 2 models is not one directory"):
        Translator([model, model], tokenizer()).save_pretrained(tmp_path / "no")


def test_threads_share_a_translator() -> None:
    """Also while one of them looks at attention."""
    model = translator()
    texts = [f"The cat sat on {i} mats." for i in range(12)]
    expected = [model.translate([text], SHORT, coverage=0.1, alignment=True) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        plain = [pool.submit(model.translate, [text], SHORT) for text in texts]
        found = list(
            pool.map(lambda text: model.translate([text], SHORT, coverage=0.1, alignment=True), texts)
        )

    assert found == expected
    assert [future.result() for future in plain] == [model.translate([text], SHORT) for text in texts]


def test_sampling_does_not_depend_on_what_else_is_translated() -> None:
    model = translator()
    texts = ["The cat sat.", "A dog.", "The mat."]
    together = model.translate(texts, temperature=1.0, seed=5, max_length=8)
    batched = model.translate(texts, temperature=1.0, seed=5, max_length=8, batch_tokens=1)

    assert [found.text for found in together] == [found.text for found in batched]
    assert model.translate(texts, temperature=1.0, seed=6, max_length=8) != together


def test_ids_beyond_the_tokenizer_are_never_chosen() -> None:
    size = tokenizer().size
    model = random_model("encoder-decoder", vocab_size=size + 30)
    asked = Translator(model, tokenizer())  # type: ignore[arg-type]
    found = asked.decoder.decode([Query((9, 10, 2))], DecodeConfig(temperature=2.0, nbest=50, max_length=10))

    assert all(token < size for each in found[0] for token in each.ids)
