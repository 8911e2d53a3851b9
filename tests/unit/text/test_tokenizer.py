"""Tokenizers: what goes in comes out, nothing special comes of text; T1 to T10 of the reliability page."""

import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.config import TokenizerConfig
from glassformer.errors import ConfigError, InputError
from glassformer.text import Pairs, Tokenizer
from glassformer.text.vocabulary import Kind
from tests.unit.text.trained import CORPUS, KINDS, NEWER_THAN_THE_LIBRARY, TRAPS, texts, tokenizer

every_kind = pytest.mark.parametrize("kind", KINDS)
quick = settings(deadline=None, max_examples=120)

BAD_TEXTS = [
    "",
    " ",
    "\t",
    "\u00a0",
    "\u3000",
    "\u200b",
    "a",
    "☃",
    "\x00\x01\x1b[2J\x9b",
    "one\r\ntwo\u2028three\u0085four",
    "\ufdd0\uffff\ue000\U0010ffff",
    "👨‍👩‍👧‍👦 🇫🇷🇩🇪 👍🏽 🏴\U000e0067\U000e0062\U000e007f",
    "מחיר 25 USD שלום abc",
    "漢字かな交じり文１２３ｶﾅ",
    "ภาษาไทย ខ្មែរ क्\u200dष می\u200cروم",
    "e" + "\u0301" * 500,
    "ᚠᛇᚻ᛫ᛒᛦᚦ",
    "%s%n {0} $(id) =cmd|' /C calc'!A0",
    *TRAPS,
]


@every_kind
@quick
@given(text=texts())
def test_text_comes_back_as_the_normaliser_left_it(kind: Kind, text: str) -> None:  # T1, T2, T3, T4
    trained = tokenizer(kind)
    ids = trained.encode(text)

    assert trained.decode(ids) == trained.normalise(text)
    assert all(trained.vocabulary.n_control <= token < trained.size for token in ids)
    assert trained.encode(trained.normalise(text)) == ids


@every_kind
@pytest.mark.parametrize("text", BAD_TEXTS)
def test_bad_texts_come_back_too(kind: Kind, text: str) -> None:
    trained = tokenizer(kind)
    ids = trained.encode(text)

    assert trained.decode(ids) == trained.normalise(text)
    assert bool(ids) == bool(trained.normalise(text))


@every_kind
@pytest.mark.parametrize("trap", TRAPS)
def test_no_trap_is_special(kind: Kind, trap: str) -> None:
    trained = tokenizer(kind)
    around = f"say {trap} and{trap}so{trap}"

    assert trained.decode(trained.encode(trap)) == trap
    assert trained.decode(trained.encode(around)) == around
    assert min(trained.encode(around)) >= trained.vocabulary.n_control


@every_kind
def test_not_even_a_tag_of_signs_can_be_learned(kind: Kind) -> None:
    trained = Tokenizer.train(["a>>-<< ##- ."] * 50, TokenizerConfig(kind=kind, languages=("-",)))

    assert trained.language_id("-") not in trained.encode("a>>-<<")
    assert trained.decode(trained.encode(">>-<< a##-.##.")) == ">>-<< a##-.##."


@every_kind
@quick
@given(texts=st.lists(texts(), max_size=5))
def test_a_batch_is_its_texts(kind: Kind, texts: list[str]) -> None:  # T5
    trained = tokenizer(kind)

    assert trained.encode_batch(texts) == [trained.encode(text) for text in texts]


@every_kind
@quick
@given(data=st.data())
def test_streamed_text_joins_to_the_whole(kind: Kind, data: st.DataObject) -> None:  # T6
    trained = tokenizer(kind)
    ids = data.draw(st.lists(st.integers(0, trained.size - 1), max_size=40))
    stream = trained.stream()
    pieces = [stream.feed(token) for token in ids] + [stream.finish()]

    assert "".join(pieces) == trained.decode(ids)
    assert all(piece.encode().decode() == piece for piece in pieces)


@every_kind
@quick
@given(first=texts(), second=texts())
def test_a_stream_goes_on_after_a_prompt(kind: Kind, first: str, second: str) -> None:
    trained = tokenizer(kind)
    prompt, rest = trained.encode(first), trained.encode(second)
    stream = trained.stream(after=prompt)
    continued = "".join([*map(stream.feed, rest), stream.finish()])

    assert trained.decode(prompt) + continued == trained.decode(prompt + rest)


@every_kind
@quick
@given(text=texts())
def test_offsets_slice_the_normalised_text(kind: Kind, text: str) -> None:  # T10
    trained = tokenizer(kind)
    ids = trained.encode(text)
    normalised = trained.normalise(text)
    spans = trained.offsets(ids)

    assert len(spans) == len(ids)
    covered = 0
    for (start, stop), piece in zip(spans, trained.pieces(ids), strict=True):
        assert start <= covered <= stop
        if "<0x" not in piece or piece == "<":  # a whole piece, not bytes of a character
            shown = normalised[start:stop].replace(" ", "▁")
            assert shown == (piece if start else piece.removeprefix("▁")) or (not start and shown == piece)
        covered = stop
    assert covered == len(normalised)


@every_kind
@quick
@given(text=texts())
def test_how_a_letter_was_typed_makes_no_difference(kind: Kind, text: str) -> None:
    trained = tokenizer(kind)
    known = "".join(char for char in text if char not in NEWER_THAN_THE_LIBRARY)

    assert trained.encode(unicodedata.normalize("NFD", known)) == trained.encode(known)


@every_kind
@settings(deadline=None, max_examples=20)
@given(text=texts(), half=st.characters(categories=["Cs"]), place=st.integers(0, 20))
def test_half_characters_are_refused(kind: Kind, text: str, half: str, place: int) -> None:
    broken = text[:place] + half + text[place:]
    at = min(place, len(text)) + 1

    with pytest.raises(InputError) as error:
        tokenizer(kind).encode_batch(["fine", broken])

    assert str(error.value) == (
        f"the text has half a character (the lone surrogate U+{ord(half):04X} at character {at}); "
        "send whole ones"
    )


@every_kind
def test_time_grows_with_the_text(kind: Kind) -> None:  # T9
    trained = tokenizer(kind)
    begin = time.process_time()
    for text in ("a" * 100_000, "☃" * 50_000, "e" + "\u0301" * 200_000, "a " * 50_000, "</s>" * 20_000):
        assert trained.decode(trained.encode(text)) == trained.normalise(text)

    assert time.process_time() - begin < 20  # quadratic time would take many minutes


@every_kind
def test_lower_case_is_folded(kind: Kind) -> None:
    trained = tokenizer(kind, lowercase=True)

    assert trained.decode(trained.encode("Un CHAT, Éléonore")) == "un chat, éléonore"
    assert trained.encode("LE CHAT") == trained.encode("le chat")


@every_kind
def test_special_ids_are_the_same_everywhere(kind: Kind) -> None:
    trained = tokenizer(kind)
    special = [trained.pad_id, trained.bos_id, trained.eos_id, trained.unk_id, trained.mask_id]

    assert special == [0, 1, 2, 3, 4]
    assert trained.pieces(special) == ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]
    assert [trained.token_to_id(name) for name in ("<pad>", "</s>", ">>fr<<", "no such")] == [0, 2, 5, None]
    assert (trained.language_id("fr"), trained.language_id("de")) == (5, 6)
    assert trained.decode([1, *trained.encode("A dog."), 2, 0, 0]) == "A dog."


def test_an_unknown_language_is_told() -> None:
    with pytest.raises(InputError) as error:
        tokenizer("bpe").language_id("fra")
    with pytest.raises(InputError) as none:
        Tokenizer.train(CORPUS, TokenizerConfig(kind="char")).language_id("fr")

    assert (
        str(error.value) == "language 'fra' has no tag in this tokenizer; did you mean 'fr'?; it knows fr, de"
    )
    assert str(none.value) == "language 'fr' has no tag in this tokenizer; it knows none"


@pytest.mark.parametrize("wrong", [-1, 10_000])
def test_an_id_outside_is_told(wrong: int) -> None:
    trained = tokenizer("char")
    message = f"id {wrong} is not in the vocabulary; its ids are 0 to {trained.size - 1}"

    for method in (trained.decode, trained.pieces, trained.offsets, trained.stream, trained.unknown_ratio):
        with pytest.raises(InputError) as error:
            method([5, wrong])
        assert str(error.value) == message
    with pytest.raises(InputError):
        trained.stream().feed(wrong)


@every_kind
def test_an_unknown_script_is_noticed(kind: Kind) -> None:
    trained = tokenizer(kind)

    assert trained.unknown_ratio(trained.encode("The cat sat on the mat.")) == 0
    assert trained.unknown_ratio(trained.encode("ᚠᛇᚻ᛫ᛒᛦᚦ")) > 0.8
    assert trained.unknown_ratio([trained.eos_id]) == 0
    assert trained.unknown_ratio([trained.unk_id]) == 1


def test_pieces_are_for_people() -> None:
    trained = tokenizer("bpe")

    assert trained.pieces(trained.encode("The cat </s> ☃")) == [
        *["▁The", "▁cat", "▁<", "/", "s", ">", "▁", "<0xE2>", "<0x98>", "<0x83>"]
    ]


def test_a_word_is_the_same_wherever_it_stands() -> None:
    for kind in ("bpe", "unigram", "wordpiece", "byte"):
        trained = tokenizer(kind)
        for word in ("cat", "☃", "cat☃", "catsat" * 40):
            assert trained.encode(f"The {word}") == trained.encode("The") + trained.encode(word)


def test_what_we_spell_is_what_the_library_would() -> None:
    trained = tokenizer("wordpiece")
    words = ["cat", "catsat", "sleepinghouses", "mat", "señorcat"]

    assert [trained._speller.word(f" {word}") for word in words] == trained.encode_batch(words)


def test_bytes_that_make_no_character_are_replaced() -> None:
    trained = tokenizer("bpe")
    snow = trained.encode("☃")

    assert trained.decode(snow[:-1]) == "\ufffd"
    assert trained.decode(snow[:-1] + trained.encode("a")) == "\ufffd a"


def test_separate_vocabularies() -> None:
    pairs = Pairs.from_list([("the cat sat", "le chat s'assit"), ("a dog", "un chien")] * 9)
    two = Tokenizer.train(pairs, TokenizerConfig(vocab_size=260, joint=False))
    one = Tokenizer.train(pairs, TokenizerConfig(vocab_size=260))

    assert one.joint and one.source is one
    assert one.encode_source(["the cat"]) == one.encode_target(["the cat"]) == [one.encode("the cat")]
    assert not two.joint and two.source is not two
    assert two.encode_source(["the cat"]) == two.source.encode_batch(["the cat"])
    assert two.encode_target(["le chat"]) == two.encode_batch(["le chat"])
    assert len(two.encode_source(["the cat"])[0]) < len(two.encode_target(["the cat"])[0])
    assert two.source.decode(two.encode_source(["the cat"])[0]) == "the cat"
    assert two.decode(two.encode_target(["le chat"])[0]) == "le chat"


def test_one_side_cannot_have_two_vocabularies() -> None:
    with pytest.raises(ConfigError) as error:
        Tokenizer.train(["a"], TokenizerConfig(joint=False))

    assert str(error.value) == (
        "tokenizer: joint = false needs pairs, which have two sides; set joint = true"
    )
