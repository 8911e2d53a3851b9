"""The names that the corpus of the shipped model is given: copied, agreeing, and elided as French does."""

import random
import re
from types import ModuleType

import pytest

from tests.support.recipes import recipe_module


@pytest.fixture(scope="module")
def names() -> ModuleType:
    return recipe_module("en-fr", "names")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("la femme de Anna", "la femme d'Anna"),
        ("Je sais que Emma dort.", "Je sais qu'Emma dort."),
        ("Que Igor vienne !", "Qu'Igor vienne !"),
        ("la femme de Tom", "la femme de Tom"),
        ("le livre de Yasmin", "le livre de Yasmin"),
        ("Il vient de Oslo.", "Il vient d'Oslo."),
    ],
)
def test_small_words_lose_their_vowel_before_a_vowel(names: ModuleType, before: str, after: str) -> None:
    assert names.elide(before) == after


def test_a_name_changes_on_both_sides_at_once(names: ModuleType) -> None:
    for seed in range(200):
        english, french = names.renamed("Tom likes Mary.", "Tom aime bien Marie.", random.Random(seed))
        man, woman = re.fullmatch(r"(\w+) likes (\w+)\.", english).groups()  # type: ignore[union-attr]

        assert man in names.MEN
        assert woman in names.WOMEN
        assert french == f"{man} aime bien {'Marie' if woman == 'Mary' else woman}."


def test_what_is_not_named_alike_on_both_sides_stays(names: ModuleType) -> None:
    pair = ("Tom said that Tom was ill.", "Tom a dit qu'il était malade.")

    assert names.renamed(*pair, random.Random(1)) == pair


def test_introductions_are_different_and_elided(names: ModuleType) -> None:
    found = names.introductions(1_500, random.Random(2))

    assert len(set(found)) == len(found) == 1_500
    assert not any(re.search(r"\b(de|que) [AEIOU]", french) for _, french in found)
    assert not any(" né " in french and french.split()[0] in names.WOMEN for _, french in found)


def test_no_name_begins_with_a_letter_that_may_or_may_not_elide(names: ModuleType) -> None:
    assert not [name for name in [*names.MEN, *names.WOMEN, *names.TOWNS] if name.startswith("H")]
