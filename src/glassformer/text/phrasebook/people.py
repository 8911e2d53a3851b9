"""Who does it: subjects and the pronouns that stand for people and things."""

from dataclasses import dataclass

from glassformer.text.phrasebook.conjugation import IL, ILS, JE, NOUS, VOUS
from glassformer.text.phrasebook.dice import Dice
from glassformer.text.phrasebook.entries import Noun
from glassformer.text.phrasebook.lexicon import Choices
from glassformer.text.phrasebook.noun_phrases import (
    NounPhrase,
    build,
    draw_adjectives,
    draw_plural,
    draw_possessive,
    may_be_owned,
)
from glassformer.text.phrasebook.words import Both, Word, linked

PEOPLE = ("person", "family", "job")


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject: its words, and all that a verb or an adjective agrees with."""

    words: Both
    person: int
    gender: str
    english: str
    """The pronoun it agrees like: I, you, he, she, it, we or they."""
    human: bool = True

    @property
    def plural(self) -> bool:
        """Whether French adjectives agree in the plural; "you" is one polite person here."""
        return self.person in (NOUS, ILS)


@dataclass(frozen=True, slots=True)
class Pronoun:
    """An object pronoun: English after the verb, French before it."""

    english: str
    accusative: str
    dative: str
    gender: str
    plural: bool


_SUBJECTS = {
    "I": ("je", JE, "m"),
    "you": ("vous", VOUS, "m"),
    "he": ("il", IL, "m"),
    "she": ("elle", IL, "f"),
    "we": ("nous", NOUS, "m"),
    "they": ("ils", ILS, "m"),
}
_OBJECTS = {
    "I": Pronoun("me", "me", "me", "m", False),
    "you": Pronoun("you", "vous", "vous", "m", False),
    "he": Pronoun("him", "le", "lui", "m", False),
    "she": Pronoun("her", "la", "lui", "f", False),
    "we": Pronoun("us", "nous", "nous", "m", True),
    "they": Pronoun("them", "les", "leur", "m", True),
}
REFLEXIVES = {
    "I": ("myself", "me"),
    "you": ("yourself", "vous"),
    "he": ("himself", "se"),
    "she": ("herself", "se"),
    "it": ("itself", "se"),
    "we": ("ourselves", "nous"),
    "they": ("themselves", "se"),
}


def pronoun_subject(dice: Dice, english: str) -> Subject:
    """The subject that this English pronoun makes; they are masculine, you are one polite man."""
    french, person, gender = _SUBJECTS[english]
    link = dice.link()
    word = Word(french, (link,), before_vowel="j'" if french == "je" else "")
    return Subject(Both((Word(english, (link,)),), (word,)), person, gender, english)


def referring_subject(dice: Dice, gender: str, plural: bool, english: str) -> Subject:
    """A pronoun that takes up something named before, with its French gender."""
    french = ("elle" if gender == "f" else "il") + ("s" if plural else "")
    link = dice.link()
    return Subject(
        Both((Word(english, (link,)),), (Word(french, (link,)),)), ILS if plural else IL, gender, english
    )


def phrase_subject(found: NounPhrase) -> Subject:
    """A noun phrase as subject."""
    human = found.noun.kind in PEOPLE
    if found.plural:
        return Subject(found.both(), ILS, found.gender, "they", human)
    english = "it" if not human else ("she" if found.gender == "f" else "he")
    return Subject(found.both(), IL, found.gender, english, human)


def name_subject(dice: Dice) -> Subject:
    """A name, or two joined by "and"."""
    subject = single_name(dice)
    if dice.simple or not dice.chance(0.15):
        return subject
    other = single_name(dice)
    if other.words.english[0].text == subject.words.english[0].text:
        return subject
    link = dice.link()
    both = subject.words + Both(linked("and", link), linked("et", link)) + other.words
    gender = "f" if subject.gender == other.gender == "f" else "m"
    return Subject(both, ILS, gender, "they")


def single_name(dice: Dice) -> Subject:
    """One person by name."""
    female = dice.chance(0.5)
    name = dice.pick(dice.lexicon.names["female" if female else "male"])
    link = dice.link()
    return Subject(
        Both(linked(name.english, link), linked(name.french, link)),
        IL,
        "f" if female else "m",
        "she" if female else "he",
    )


def draw_subject(dice: Dice, choices: Choices) -> Subject:
    """A subject of these classes; people are often pronouns and names."""
    nouns = dice.pick(choices)
    if nouns[0].kind in PEOPLE:
        kind = dice.weighted(pronoun=45, name=20, noun=35)
        if kind == "pronoun":
            return pronoun_subject(dice, dice.pick(list(_SUBJECTS)))
        if kind == "name":
            return name_subject(dice)
    return phrase_subject(known_phrase(dice, dice.pick(nouns)))


def known_phrase(dice: Dice, noun: Noun, described: float = 0.25, *, all_of: bool = False) -> NounPhrase:
    """A phrase for something definite: the, this, my, Paul's, and "all the" where it is asked for.

    As a subject "all the" is not: what "all the cats are not here" denies, English leaves open.
    """
    plural = draw_plural(dice, noun)
    own = noun.kind in ("family", "body")
    kind = dice.weighted(
        the=0 if own else 60,
        this=0 if own or noun.kind == "sky" else 12,
        own=25 if may_be_owned(noun) else 0,
        all=15 if all_of and plural and not own and not dice.simple else 0,
        owner=12 if may_be_owned(noun) and not dice.simple else 0,
    )
    if noun.kind in PEOPLE:
        described /= 2
    adjectives = () if "bare" in noun.flags else draw_adjectives(dice, noun, described)
    determiner = {"own": draw_possessive(dice, noun), "all": "all the", "owner": "the"}.get(kind, kind)
    if kind == "this":
        determiner = dice.pick(("these", "those") if plural else ("this", "that"))
    found = build(dice, noun, determiner, plural=plural, adjectives=adjectives)
    return owned(dice, found) if kind == "owner" else found


def owned(dice: Dice, found: NounPhrase) -> NounPhrase:
    """One thing as somebody's, "the car" made "Paul's car": la voiture de Paul."""
    owner = single_name(dice)
    link = dice.link()
    article, *rest = found.english
    possession = Word("'s", (link, *article.links))
    after = Both((), (Word("de", (link,), before_vowel="d'"), *owner.words.french))
    longer = found.followed_by(after)
    return NounPhrase(
        longer.noun,
        longer.plural,
        longer.determiner,
        (*owner.words.english, possession, *rest),
        longer.determined,
        longer.core,
        longer.prenominal,
        longer.link,
    )


def draw_pronoun(dice: Dice, subject: Subject) -> Pronoun:
    """An object pronoun for somebody who is not the subject."""
    same = ("I", "we") if subject.english in ("I", "we") else (subject.english,)
    others = [key for key in _OBJECTS if key not in same]
    return _OBJECTS[dice.pick(others)]


def thing_pronoun(gender: str, plural: bool) -> Pronoun:
    """It or them, for something named before."""
    if plural:
        return Pronoun("them", "les", "leur", gender, True)
    return Pronoun("it", "la" if gender == "f" else "le", "lui", gender, False)
