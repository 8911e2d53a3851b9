"""The normaliser: documented, idempotent, blind to how a letter was typed."""

import unicodedata

import pytest
from hypothesis import given, settings

from glassformer.text.normalizer import build_normalizer, is_plain
from tests.unit.text.trained import NEWER_THAN_THE_LIBRARY, texts

NORMALISER = build_normalizer()
LOWERCASE = build_normalizer(lowercase=True)


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("", ""),
        (" \t\u00a0\u3000\u200b\u2028\ufeff", ""),
        ("  a \u00a0\u202f b\t\n", "a b"),
        ("a\r\nb\u2028c\u0085d\u2029e\x0cf", "a b c d e f"),
        ("a\x00b\x07c\x1b[2J\x7f\x9f", "abc[2J"),
        ("co\u00adoperate", "cooperate"),
        ("e\u0301", "é"),
        ("e\u200b\u0301", "é"),
        ("\u212b", "Å"),
        ("１２ ｶﾅ ﷺ", "１２ ｶﾅ ﷺ"),
        ("क्\u200dष می\u200cروم", "क्\u200dष می\u200cروم"),
        ("👨\u200d👩\u200d👧 🏳\ufe0f", "👨\u200d👩\u200d👧 🏳\ufe0f"),
        ("\u202eabc\u202c \u2067x\u2069 \u200eא\u200f", "abc x \u200eא\u200f"),
        ("x" + "\u0323" * 500 + "y", "x" + "\u0323" * 32 + "y"),
        ("\ue000\ufdd0\U0010ffff", "\ue000\ufdd0\U0010ffff"),
        ("</s> ▁ @@", "</s> ▁ @@"),
    ],
)
def test_what_it_changes_and_what_it_keeps(text: str, normalised: str) -> None:
    assert NORMALISER.normalize_str(text) == normalised


@settings(deadline=None, max_examples=300)
@given(text=texts())
def test_twice_is_once(text: str) -> None:
    once = NORMALISER.normalize_str(text)
    lower = LOWERCASE.normalize_str(text)

    assert NORMALISER.normalize_str(once) == once
    assert LOWERCASE.normalize_str(lower) == lower


@settings(deadline=None, max_examples=300)
@given(text=texts())
def test_composed_and_decomposed_text_are_one(text: str) -> None:
    known = "".join(char for char in text if char not in NEWER_THAN_THE_LIBRARY)
    decomposed = unicodedata.normalize("NFD", known)

    assert NORMALISER.normalize_str(decomposed) == NORMALISER.normalize_str(known)
    assert LOWERCASE.normalize_str(decomposed) == LOWERCASE.normalize_str(known)


@settings(deadline=None, max_examples=300)
@given(text=texts())
def test_only_words_and_single_spaces_are_left(text: str) -> None:
    normalised = NORMALISER.normalize_str(text)

    assert normalised == " ".join(normalised.split())
    assert not any(unicodedata.category(char) in ("Cc", "Zl", "Zp") for char in normalised)


@settings(deadline=None, max_examples=300)
@given(text=texts())
def test_plain_text_is_left_alone(text: str) -> None:
    plain = " ".join(text.encode("ascii", "ignore").decode().split())

    assert not is_plain(plain) or NORMALISER.normalize_str(plain) == plain
    assert not is_plain(text) or NORMALISER.normalize_str(text) == text


def test_what_is_plain() -> None:
    assert all(map(is_plain, ["", "a", "A dog, 42 <s>!"]))
    assert not any(map(is_plain, [" ", " a", "a ", "a  b", "a\tb", "é", "a\n", "a\x7f"]))
