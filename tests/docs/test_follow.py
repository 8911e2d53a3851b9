"""docs/follow-a-sentence.md shows what the shipped model computes."""

import re

import pytest

from tools.follow_a_sentence import PAGE, page, shipped_trace

NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?|\de-\d+")


def test_the_numbers_on_the_page_are_those_of_the_model() -> None:
    """If this fails: ``python -m tools.follow_a_sentence``. Another processor may round otherwise."""
    written, made = PAGE.read_text(encoding="utf-8"), page(shipped_trace())

    assert NUMBER.sub("#", written) == NUMBER.sub("#", made)
    shown, computed = ([float(number) for number in NUMBER.findall(text)] for text in (written, made))
    assert shown == pytest.approx(computed, abs=0.0101)
