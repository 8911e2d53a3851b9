"""Noun phrases in both languages: determiner, adjectives and noun, agreeing."""

from dataclasses import dataclass, replace
from typing import Literal

from glassformer.text.phrasebook import english, french
from glassformer.text.phrasebook.dice import Dice
from glassformer.text.phrasebook.entries import Adjective, Noun
from glassformer.text.phrasebook.words import Both, Word, linked, listed

Role = Literal["plain", "negated", "after de", "generic", "no article"]
"""Where a phrase stands in French, which decides what becomes of "a" and of no article at all."""

POSSESSIVES = ("my", "your", "his", "her", "our", "their")
_OWNED = listed(
    "family body clothes jewel furniture household tableware container readable text artwork device"
    " tool toy instrument vehicle stationery document room idea dish fruit foodmass drink openable"
    " part money song"
)
_SPOUSES = ("husband", "wife", "fiancé", "fiancée", "boyfriend", "girlfriend")
_FIXED = {"some": "quelques", "several": "plusieurs"}


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with all that belongs to it; the French determiner depends on where it stands."""

    noun: Noun
    plural: bool
    determiner: str
    english: tuple[Word, ...]
    determined: tuple[Word, ...]
    """The French determiner where it is the same in every role; empty for "a" and for none."""
    core: tuple[Word, ...]
    """French adjectives and noun."""
    prenominal: bool
    link: int

    @property
    def gender(self) -> str:
        """Of the French noun."""
        return self.noun.gender

    def french(self, role: Role = "plain") -> tuple[Word, ...]:
        """The phrase as it reads in this role."""
        return (*(self.determined or self._article(role)), *self.core)

    def _article(self, role: Role) -> tuple[Word, ...]:
        """What "a" or no determiner becomes in this role."""
        definite = french.definite(self.gender, self.plural or "plural" in self.noun.flags, self.link)
        de = french.de(self.link)
        if role == "no article" or (role == "after de" and not self.determiner and not self._bare):
            return ()
        if self._bare or (role == "generic" and not self.determiner):
            return (definite,)
        if role == "negated":
            return (de,)
        if self.determiner == "a":
            return (french.indefinite(self.gender, self.link),)
        return (de,) if self.plural and self.prenominal else (de, definite)

    @property
    def _bare(self) -> bool:
        return "bare" in self.noun.flags

    def both(self, role: Role = "plain") -> Both:
        """The phrase in both languages."""
        return Both(self.english, self.french(role))

    def followed_by(self, more: Both) -> "NounPhrase":
        """The same phrase with something after the noun: an owner, a relative clause."""
        return replace(self, english=self.english + more.english, core=self.core + more.french)


def build(
    dice: Dice,
    noun: Noun,
    determiner: str,
    *,
    plural: bool = False,
    adjectives: tuple[Adjective, ...] = (),
    count: int = 0,
) -> NounPhrase:
    """A phrase from its parts. The determiner is the English word; "" is none, "number" is ``count``."""
    of_determiner, of_noun = dice.link(), dice.link()
    links = [dice.link() for _ in adjectives]
    word = noun.english_plural if plural else noun.english
    core = tuple(
        Word(adjective.english, (link,)) for adjective, link in zip(adjectives, links, strict=True)
    ) + linked(word, of_noun)
    shown = _english_determiner(determiner, core[0].text, count)
    link = of_determiner if shown else of_noun
    before, after = [], []
    for adjective, of_adjective in zip(adjectives, links, strict=True):
        form = adjective.form(noun.gender, plural)
        if "before" in adjective.flags:
            before.append(
                Word(form, (of_adjective,), "" if plural or noun.gender == "f" else adjective.before_vowel)
            )
        else:
            after.append(Word(form, (of_adjective,)))
    french_noun = linked(
        noun.french_plural if plural and "plural" not in noun.flags else noun.french, of_noun
    )
    return NounPhrase(
        noun,
        plural,
        determiner,
        linked(shown, of_determiner) + core,
        _determined(determiner, noun.gender, plural, count, link),
        (*before, *french_noun, *after),
        bool(before),
        link,
    )


def _english_determiner(determiner: str, following: str, count: int) -> str:
    if determiner == "a":
        return english.article(following)
    return english.number(count) if determiner == "number" else determiner


def _determined(determiner: str, gender: str, plural: bool, count: int, link: int) -> tuple[Word, ...]:
    if determiner in POSSESSIVES:
        return (french.possessive(determiner, gender, plural, link),)
    match determiner:
        case "" | "a":
            words: tuple[Word, ...] = ()
        case "the":
            words = (french.definite(gender, plural, link),)
        case "this" | "these" | "that" | "those":
            words = (french.demonstrative(gender, plural, link),)
        case "number":
            words = linked(french.number(count, gender), link)
        case "many":
            words = (Word("beaucoup", (link,)), french.de(link))
        case "all the":
            tous = Word("toutes" if gender == "f" else "tous", (link,))
            words = (tous, french.definite(gender, True, link))
        case _:
            words = linked(_FIXED[determiner], link)
    return words


def draw_adjectives(dice: Dice, noun: Noun, probability: float) -> tuple[Adjective, ...]:
    """None, one, or a short one and a colour (small black), that suit the noun."""
    suited = [a for a in dice.lexicon.suited[noun] if "pred" not in a.flags]
    if not suited or noun.kind in ("sky", "body", "ingredient") or not dice.chance(probability):
        return ()
    first = dice.pick(suited)
    colors = [a for a in suited if "color" in a.flags]
    if colors and "before" in first.flags and dice.chance(0.25):
        return first, dice.pick(colors)
    return (first,)


def draw_plural(dice: Dice, noun: Noun) -> bool:
    """Whether to speak of several; of what comes in pairs, nearly always."""
    return noun.countable and dice.chance(0.9 if "pair" in noun.flags else 0.28)


def draw_possessive(dice: Dice, noun: Noun) -> str:
    """my, your …; of a husband or a wife, of one person only."""
    return dice.pick(POSSESSIVES[:4] if noun.english in _SPOUSES else POSSESSIVES)


def may_be_owned(noun: Noun) -> bool:
    """Whether "my" goes well with it: my hat, my dog, but not my leopard or my river."""
    return noun.kind in _OWNED or "own" in noun.flags


def draw(
    dice: Dice, noun: Noun, *, fresh: bool = False, negative: bool = False, described: float = 0.3
) -> NounPhrase:
    """A phrase around a noun; ``fresh`` things are not known yet (a, some, two).

    A ``negative`` sentence keeps to the determiners that it goes well with.
    """
    plural = draw_plural(dice, noun)
    determiner = _draw_determiner(dice, noun, plural, fresh, negative)
    if noun.kind in ("person", "family", "job"):
        described /= 2
    adjectives = () if "bare" in noun.flags else draw_adjectives(dice, noun, described)
    count = 0
    if determiner == "number":
        count = dice.rng.randint(2, 10) if dice.simple or dice.chance(0.8) else dice.rng.randint(11, 100)
    return build(dice, noun, determiner, plural=plural, adjectives=adjectives, count=count)


def _draw_determiner(dice: Dice, noun: Noun, plural: bool, fresh: bool, negative: bool) -> str:
    if "bare" in noun.flags:
        return ""
    if noun.kind == "sky" and not noun.countable:
        return "the"
    if fresh:
        return _draw_fresh(dice, noun, plural, negative)
    owned = 15 if may_be_owned(noun) else 0
    if noun.kind in ("family", "body"):
        kind = "own"
    elif "mass" in noun.flags:
        kind = dice.weighted(the=35, bare=20, this=8, own=owned)
    elif plural:
        several = 0 if noun.kind in ("person", "job") else 20
        kind = dice.weighted(the=35, bare=several, this=8, own=owned, more=12)
    else:
        kind = dice.weighted(the=35, a=25, this=8, own=owned)
    options = {
        "bare": "",
        "own": draw_possessive(dice, noun),
        "this": dice.pick(("these", "those") if plural else ("this", "that")),
        "more": _draw_quantity(dice, negative),
    }
    return options.get(kind, kind)


def _draw_fresh(dice: Dice, noun: Noun, plural: bool, negative: bool) -> str:
    if "mass" in noun.flags:
        return ""
    if not plural:
        return "a"
    return "" if noun.kind not in ("person", "job") and dice.chance(0.5) else _draw_quantity(dice, negative)


def _draw_quantity(dice: Dice, negative: bool) -> str:
    if negative or dice.simple:
        return "number"
    return dice.weighted(number=5, some=2, several=1, many=2)
