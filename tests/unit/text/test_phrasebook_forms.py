"""Forms of both languages, and how words join into sentences."""

import pytest

from glassformer.text.phrasebook import english, french
from glassformer.text.phrasebook.words import (
    Word,
    elide,
    english_words,
    french_words,
    join_english,
    join_french,
    linked,
)


def texts(words: list[Word]) -> list[str]:
    return [word.text for word in words]


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("chat", "chats"),
        ("cheval", "chevaux"),
        ("journal", "journaux"),
        ("gâteau", "gâteaux"),
        ("jeu", "jeux"),
        ("souris", "souris"),
        ("nez", "nez"),
        ("prix", "prix"),
    ],
)
def test_french_plurals(singular: str, plural: str) -> None:
    assert french.plural(singular) == plural


def test_in_a_compound_the_head_or_every_word_is_plural() -> None:
    assert french.plural_noun(("machine", "à", "laver")) == ("machines", "à", "laver")
    assert french.plural_noun(("carte", "postale")) == ("cartes", "postales")
    assert french.plural_noun(("carte", "d'", "identité")) == ("cartes", "d'", "identité")


@pytest.mark.parametrize(
    ("masculine", "feminine"),
    [
        ("petit", "petite"),
        ("heureux", "heureuse"),
        ("actif", "active"),
        ("léger", "légère"),
        ("rouge", "rouge"),
    ],
)
def test_french_feminines(masculine: str, feminine: str) -> None:
    assert french.feminine(masculine) == feminine


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (1, "un"),
        (16, "seize"),
        (17, "dix-sept"),
        (20, "vingt"),
        (21, "vingt et un"),
        (22, "vingt-deux"),
        (61, "soixante et un"),
        (70, "soixante-dix"),
        (71, "soixante et onze"),
        (77, "soixante-dix-sept"),
        (80, "quatre-vingts"),
        (81, "quatre-vingt-un"),
        (88, "quatre-vingt-huit"),
        (90, "quatre-vingt-dix"),
        (91, "quatre-vingt-onze"),
        (99, "quatre-vingt-dix-neuf"),
        (100, "cent"),
        (101, "cent un"),
        (200, "deux cents"),
        (280, "deux cent quatre-vingts"),
    ],
)
def test_french_numbers(n: int, words: str) -> None:
    assert " ".join(french.number(n)) == words


def test_numbers_ending_in_one_agree() -> None:
    assert french.number(1, "f") == ("une",)
    assert french.number(21, "f") == ("vingt", "et", "une")
    assert french.number(81, "f") == ("quatre-vingt-une",)
    assert french.number(71, "f") == ("soixante", "et", "onze")


@pytest.mark.parametrize(
    ("noun", "gender", "expected"),
    [
        ("ami", "m", ["l'", "ami"]),
        ("école", "f", ["l'", "école"]),
        ("homme", "m", ["l'", "homme"]),
        ("*héros", "m", ["le", "héros"]),
        ("*harpe", "f", ["la", "harpe"]),
        ("*yaourt", "m", ["le", "yaourt"]),
        ("œuf", "m", ["l'", "œuf"]),
    ],
)
def test_elision_before_a_vowel_and_a_mute_h_only(noun: str, gender: str, expected: list[str]) -> None:
    assert texts(elide([french.definite(gender, False), Word(noun)])) == expected


@pytest.mark.parametrize(
    ("preposition", "noun", "gender", "plural", "expected"),
    [
        ("à", "parc", "m", False, "au parc"),
        ("à", "enfants", "m", True, "aux enfants"),
        ("à", "école", "f", False, "à l'école"),
        ("à", "gare", "f", False, "à la gare"),
        ("à", "*héros", "m", False, "au héros"),
        ("de", "lit", "m", False, "du lit"),
        ("de", "lits", "m", True, "des lits"),
        ("de", "homme", "m", False, "de l'homme"),
        ("de", "*hiboux", "m", True, "des hiboux"),
    ],
)
def test_contraction(preposition: str, noun: str, gender: str, plural: bool, expected: str) -> None:
    words = elide([Word(preposition), french.definite(gender, plural), Word(noun)])

    assert join_french(texts(words)) == expected


def test_a_contracted_word_keeps_both_meanings() -> None:
    au, parc = elide([Word("à", (1,)), french.definite("m", False, 2), Word("parc", (3,))])

    assert (au.text, au.links, parc.links) == ("au", (1, 2), (3,))


def test_a_pronoun_does_not_contract() -> None:
    assert texts(elide([Word("de"), Word("le", before_vowel="l'"), Word("voir")])) == ["de", "le", "voir"]


def test_determiners_give_way_before_a_vowel() -> None:
    assert texts(elide([french.possessive("my", "f", False), Word("amie")])) == ["mon", "amie"]
    assert texts(elide([french.possessive("her", "f", False), Word("*harpe")])) == ["sa", "harpe"]
    assert texts(elide([french.demonstrative("m", False), Word("ami")])) == ["cet", "ami"]
    assert texts(elide([french.demonstrative("m", False), Word("*héros")])) == ["ce", "héros"]
    assert texts(elide([Word("beau", before_vowel="bel"), Word("arbre")])) == ["bel", "arbre"]


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("cat", "cats"),
        ("box", "boxes"),
        ("lady", "ladies"),
        ("boy", "boys"),
        ("slice of ham", "slices of ham"),
    ],
)
def test_english_plurals(singular: str, plural: str) -> None:
    assert english.plural(singular) == plural


@pytest.mark.parametrize(
    ("verb", "past", "third", "ing"),
    [
        ("open", "opened", "opens", "opening"),
        ("stop", "stopped", "stops", "stopping"),
        ("carry", "carried", "carries", "carrying"),
        ("play", "played", "plays", "playing"),
        ("watch", "watched", "watches", "watching"),
        ("describe", "described", "describes", "describing"),
        ("agree", "agreed", "agrees", "agreeing"),
        ("prefer", "preferred", "prefers", "preferring"),
        ("fix", "fixed", "fixes", "fixing"),
        ("lie", "lied", "lies", "lying"),
        ("go/went/gone", "went", "goes", "going"),
        ("have/had/had", "had", "has", "having"),
    ],
)
def test_english_verbs(verb: str, past: str, third: str, ing: str) -> None:
    forms = english.verb_forms(verb)

    assert (forms.past, forms.third, forms.ing) == (past, third, ing)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("apple", "an"),
        ("house", "a"),
        ("hour", "an"),
        ("honest", "an"),
        ("university", "a"),
        ("uniform", "a"),
        ("umbrella", "an"),
        ("ukulele", "a"),
        ("European", "a"),
        ("unexpected", "an"),
        ("éclair", "an"),
        ("T-shirt", "a"),
    ],
)
def test_a_and_an_follow_the_sound(word: str, expected: str) -> None:
    assert english.article(word) == expected


def test_comparatives() -> None:
    assert [english.compared(word) for word in ("big", "nice", "happy", "old", "slow")] == [
        "bigger",
        "nicer",
        "happier",
        "older",
        "slower",
    ]


@pytest.mark.parametrize(
    ("plain", "spoken"),
    [
        ("I do not eat .", "I don't eat."),
        ("he will not eat .", "he won't eat."),
        ("she cannot eat .", "she can't eat."),
        ("I am not big .", "I'm not big."),
        ("he is not big .", "he isn't big."),
        ("he is big .", "he's big."),
        ("we will eat .", "we'll eat."),
        ("you are big .", "you're big."),
        ("the cat is big .", "the cat is big."),
    ],
)
def test_contractions(plain: str, spoken: str) -> None:
    assert join_english(texts(list(english.contract(linked(plain, 1))))) == spoken


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("I don't see Paul's cat.", "I don't see Paul 's cat ."),
        ("We'll buy twenty-two T-shirts!", "We 'll buy twenty-two T-shirts !"),
    ],
)
def test_english_words(sentence: str, words: str) -> None:
    assert " ".join(english_words(sentence)) == words
    assert join_english(words.split()) == sentence


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("Est-ce qu'il n'a pas l'œuf ?", "Est-ce qu' il n' a pas l' œuf ?"),
        ("Ouvrez, s'il vous plaît.", "Ouvrez , s' il vous plaît ."),
        ("Aujourd'hui, j'ai vingt-deux ans !", "Aujourd'hui , j' ai vingt-deux ans !"),
        ("La presqu'île d'Arthur.", "La presqu'île d' Arthur ."),
    ],
)
def test_french_words(sentence: str, words: str) -> None:
    assert " ".join(french_words(sentence)) == words
    assert join_french(words.split()) == sentence
