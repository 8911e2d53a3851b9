"""The lexicon is whole: every reference resolves and no English word has two translations."""

from collections import defaultdict

import pytest

from glassformer.text.phrasebook.lexicon import Lexicon, load


@pytest.fixture(scope="module")
def full() -> Lexicon:
    return load("full")


def test_it_has_thousands_of_lemmas_and_the_simple_level_some_hundreds(full: Lexicon) -> None:
    assert full.size() >= 2500
    assert 200 <= load("simple").size() <= 400


def test_an_english_noun_has_one_translation(full: Lexicon) -> None:
    for word, homonyms in full.by_english.items():
        assert len({(noun.french, noun.gender) for noun in homonyms}) == 1, word


def test_an_adjective_has_one_translation(full: Lexicon) -> None:
    english = [adjective.english for adjective in full.adjectives]

    assert len(set(english)) == len(english)


def test_a_verb_with_the_same_kind_of_object_has_one_translation(full: Lexicon) -> None:
    uses: defaultdict[tuple[str, ...], set[tuple[str, str]]] = defaultdict(set)
    for section, verbs in full.verbs.items():
        for verb in verbs:
            for nouns in full.objects[verb] or ((),):
                for noun in nouns or (None,):
                    thing = noun.english if noun else ""
                    key = (section, verb.english.base, *verb.english_tail, thing)
                    uses[key].add((verb.infinitive, verb.preposition))

    ambiguous = {key: value for key, value in uses.items() if len(value) > 1}
    assert {key for key in ambiguous if key[0] == "transitive"} == set()


def test_every_class_and_noun_that_is_named_exists(full: Lexicon) -> None:
    named = [
        *(kind for adjective in full.adjectives for kind in full.classes(adjective.suits)),
        *(
            kind
            for verbs in full.verbs.values()
            for verb in verbs
            for kind in full.classes(verb.subjects + verb.objects)
        ),
    ]
    for kind in named:
        if kind.startswith("="):
            assert kind[1:].replace("_", " ") in full.by_english, kind
        else:
            assert kind in full.nouns, kind


def test_flags_are_known(full: Lexicon) -> None:
    for nouns in full.nouns.values():
        for noun in nouns:
            assert noun.flags <= {"mass", "sg", "bare", "plural", "own", "pair"}, noun
    for adjective in full.adjectives:
        assert adjective.flags <= {"before", "er", "inv", "pred", "attr", "only", "color", "nation"}, (
            adjective
        )
    for verbs in full.verbs.values():
        for verb in verbs:
            assert verb.flags <= set("snxgldimakt"), verb


@pytest.mark.parametrize(
    ("english", "french", "gender"),
    [
        ("owl", "*hibou", "m"),
        ("hero", "*héros", "m"),
        ("lobster", "*homard", "m"),
        ("hedgehog", "*hérisson", "m"),
        ("hatred", "*haine", "f"),
        ("tooth", "dent", "f"),
        ("tree", "arbre", "m"),
        ("water", "eau", "f"),
        ("problem", "problème", "m"),
        ("hand", "main", "f"),
        ("sea", "mer", "f"),
        ("museum", "musée", "m"),
        ("high school", "lycée", "m"),
        ("page", "page", "f"),
        ("silence", "silence", "m"),
        ("tower", "tour", "f"),
    ],
)
def test_nouns_have_their_gender(full: Lexicon, english: str, french: str, gender: str) -> None:
    noun = full.by_english[english][0]

    assert (" ".join(noun.french), noun.gender) == (french, gender)


@pytest.mark.parametrize(
    ("english", "english_plural", "french_plural"),
    [
        ("horse", "horses", "chevaux"),
        ("newspaper", "newspapers", "journaux"),
        ("eye", "eyes", "yeux"),
        ("cake", "cakes", "gâteaux"),
        ("cabbage", "cabbages", "choux"),
        ("jewel", "jewels", "bijoux"),
        ("pebble", "pebbles", "cailloux"),
        ("knee", "knees", "genoux"),
        ("owl", "owls", "*hiboux"),
        ("festival", "festivals", "festivals"),
        ("tire", "tires", "pneus"),
        ("child", "children", "enfants"),
        ("mouse", "mice", "souris"),
        ("knife", "knives", "couteaux"),
        ("goose", "geese", "oies"),
        ("potato", "potatoes", "pommes de terre"),
        ("rainbow", "rainbows", "arcs-en-ciel"),
        ("shopping mall", "shopping malls", "centres commerciaux"),
    ],
)
def test_irregular_plurals(full: Lexicon, english: str, english_plural: str, french_plural: str) -> None:
    noun = full.by_english[english][0]

    assert (noun.english_plural, " ".join(noun.french_plural)) == (english_plural, french_plural)
