"""The numbers that the corpus of the shipped model is given: the same on both sides, as French counts."""

import random
import re
from types import ModuleType

import pytest

from tests.support.recipes import recipe_module


@pytest.fixture(scope="module")
def counting() -> ModuleType:
    return recipe_module("en-fr", "counting")


def test_a_number_changes_on_both_sides_at_once(counting: ModuleType) -> None:
    for seed in range(50):
        english, french = counting.renumbered(
            "I was born in 1985.", "Je suis né en 1985.", random.Random(seed)
        )

        assert re.findall(r"\d+", english) == re.findall(r"\d+", french)
        assert 1800 <= int(re.findall(r"\d+", english)[0]) <= 2030


@pytest.mark.parametrize(
    "pair",
    [
        ("It is 10:30.", "Il est 10 h 30."),
        ("He is 15.", "Il a quinze ans."),
        ("It costs 1,500 dollars.", "Ça coûte 1 500 dollars."),
        ("From 10 to 12.", "De 10 à 12."),
    ],
)
def test_numbers_that_are_written_in_two_ways_stay(counting: ModuleType, pair: tuple[str, str]) -> None:
    assert counting.renumbered(*pair, random.Random(3)) == pair


def test_a_number_in_words_may_be_in_digits(counting: ModuleType) -> None:
    for seed in range(50):
        pair = ("She has three cats.", "Elle a trois chats.")
        english, french = counting.in_digits(*pair, random.Random(seed))
        (number,) = re.findall(r"\d+", english)

        assert (english, french) == (f"She has {number} cats.", f"Elle a {number} chats.")
        assert int(number) >= 2


def test_a_clock_has_twelve_hours(counting: ModuleType) -> None:
    pair = ("Come at three o'clock.", "Viens à trois heures.")
    numbers = {counting.in_digits(*pair, random.Random(seed))[0].split()[2] for seed in range(200)}

    assert numbers == {str(hour) for hour in range(2, 13)}


@pytest.mark.parametrize(
    "pair",
    [
        ("I have two or three cats.", "J'ai deux ou trois chats."),
        ("He is thirty-three.", "Il a trente-trois ans."),
        ("At half past three.", "À trois heures et demie."),
        ("I have a cat.", "J'ai un chat."),
        ("Three men came.", "Trois hommes sont venus."),
        ("It takes fifteen minutes.", "Cela prend un quart d'heure."),
    ],
)
def test_other_numbers_stay_in_words(counting: ModuleType, pair: tuple[str, str]) -> None:
    assert counting.in_digits(*pair, random.Random(3)) is None


def test_both_sides_count_alike(counting: ModuleType) -> None:
    found = counting.counted(3_000, random.Random(2))

    assert len(set(found)) == len(found) == 3_000
    for english, french in found:
        here, there = (re.findall(r"\d+", text) for text in (english.replace(":00", ""), french))
        assert sorted(here) == sorted(there)  # a date may name the month first
        assert min(map(int, there[:1])) >= 2


def test_what_is_written_is_french(counting: ModuleType) -> None:
    texts = [french for _, french in counting.counted(3_000, random.Random(5))]

    assert not [text for text in texts if re.search(r"\b(le|la|je|de) [aeiouéœ]", text, re.IGNORECASE)]
    assert not [text for text in texts if re.search(r"\d%|\d\.\d|\d:\d|\S[?!]", text)]
