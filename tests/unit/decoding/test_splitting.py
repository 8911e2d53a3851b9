"""Paragraphs into sentences and back."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.decoding.splitting import join, split_sentences

SENTENCES = [
    ["He left.", "She stayed!", "Why?", "Nobody knows…", "Well."],
    ["Mr. Smith met Dr. Jones at St. Mary's.", "They talked."],
    ["J. R. R. Tolkien wrote it.", "It was long."],
    ["It cost 3.50 dollars.", "Cheap!"],
    ['"Stop!" he cried.', "She did."],
    ["She said: “No.”", "He left."],
    ["The U.S. Army came.", "It went."],
    ["e.g. this one is whole, i.e. not cut.", "Yes."],
    ["M. Dupont est là.", "Mme. Curie aussi."],
    ["¿Qué hora es?", "¡Tarde!"],
    ["Il sig. Rossi è qui.", "Bene."],
    ["Das ist z.B. gut.", "Ja."],
    ["Wait... what?", "Nothing."],
    ["Version 2.0 is out.", "Get it."],
    ["(He left.)", "Then she did."],
    ["one without end"],
]


@pytest.mark.parametrize("sentences", SENTENCES, ids=lambda sentences: sentences[0])
def test_sentences_are_found(sentences: list[str]) -> None:
    assert [segment.text for segment in split_sentences(" ".join(sentences))] == sentences


def test_german_numbers_do_not_end_a_sentence() -> None:
    text = "Am 3. Oktober war es. Ja."

    assert [each.text for each in split_sentences(text, "de")] == ["Am 3. Oktober war es.", "Ja."]
    assert [each.text for each in split_sentences("It was 3. Then it was 4.", "en")] == [
        "It was 3.",
        "Then it was 4.",
    ]


def test_small_letters_begin_no_sentence() -> None:
    assert len(split_sentences("Yahoo! is a company. It is.")) == 2


def test_marks_of_other_scripts_need_no_space() -> None:
    assert [each.text for each in split_sentences("今日は。元気？「はい。」そうか！")] == [
        "今日は。",
        "元気？",
        "「はい。」",
        "そうか！",
    ]
    assert len(split_sentences("यह है। वह भी।")) == 2


def test_every_line_is_a_sentence_at_least() -> None:
    text = "One line\nanother one\r\n\r\nand. A last"

    assert [each.text for each in split_sentences(text)] == ["One line", "another one", "and.", "A last"]


@given(st.text(st.sampled_from("Ab. !?…。」\n\t\u2028\u00a0\"')3-«"), max_size=60))
@settings(deadline=None, max_examples=300)
def test_nothing_is_lost(text: str) -> None:
    segments = split_sentences(text)

    assert join(segments) == text
    assert all(each.text == each.text.strip() for each in segments)
    assert all(not each.space.strip() for each in segments)
    assert all(each.text for each in segments[1:])


@pytest.mark.parametrize("part", ["!", ". ", " ", "\n", '."', "a. A ", "(", "。", "。「", "-", "...", "A.B."])
def test_time_is_linear(part: str) -> None:
    """Twice the text may take 2.5 times as long; a second of slack is for busy machines."""
    text = part * (60_000 // len(part))
    start = time.perf_counter()
    assert join(split_sentences(text)) == text

    assert time.perf_counter() - start < 2
