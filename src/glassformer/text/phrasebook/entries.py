"""The kinds of entry in the lexicon, and how one line of a data file becomes one of them.

An entry is equal to itself only: it is a key in tables, and homonyms are different words.
"""

from dataclasses import dataclass

from glassformer.text.phrasebook import english, french
from glassformer.text.phrasebook.english import EnglishVerb
from glassformer.text.phrasebook.words import english_words

PREPOSITIONS = ("à", "de", "dans", "sur")
"""What a French verb may end with to govern its object."""


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun with both numbers of both languages."""

    english: str
    english_plural: str
    french: tuple[str, ...]
    french_plural: tuple[str, ...]
    gender: str
    flags: frozenset[str]
    feminine: tuple[str, ...]
    """What a woman of this kind is called in "she is a …"; empty where nothing is sure."""
    kind: str
    simple: bool

    @property
    def countable(self) -> bool:
        """Whether it has a plural."""
        return not self.flags & {"mass", "sg", "bare"}


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective; French forms go masculine, feminine, masculine plural, feminine plural."""

    english: str
    french: tuple[str, str, str, str]
    before_vowel: str
    flags: frozenset[str]
    suits: tuple[str, ...]
    simple: bool

    def form(self, gender: str, plural: bool) -> str:
        """The French form that agrees."""
        return self.french[(gender == "f") + 2 * plural]


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb in one of its uses: what it governs, who does it, to what."""

    english: EnglishVerb
    english_tail: tuple[str, ...]
    separable: bool
    """Whether a pronoun object stands before the tail (turn it on)."""
    infinitive: str
    reflexive: bool
    french_tail: tuple[str, ...]
    preposition: str
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    flags: frozenset[str]
    simple: bool


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A person, city or country, or an expression that never changes."""

    english: tuple[str, ...]
    french: tuple[str, ...]
    gender: str
    """m, f, mp, fp, or 0 for a country without article; empty where there is nothing to agree with."""
    simple: bool


def parse_noun(line: str, heading: list[str]) -> Noun:
    """From ``+horse: cheval m`` under ``[animal]``."""
    simple, left, right = _sides(line)
    body, _, feminine = right.partition(" | ")
    words = body.split(" ")
    at = next(i for i, word in enumerate(words) if word in ("m", "f", "mp", "fp"))
    singular, _, many = " ".join(words[:at]).partition("/")
    flags = frozenset([*words[at + 1 :], *heading[1:]])
    forms = french.lexical_words(singular)
    english_singular, _, english_many = left.partition("/")
    if words[at] in ("mp", "fp"):
        flags |= {"plural"}
    return Noun(
        english_singular,
        english_many or english.plural(english_singular),
        forms,
        french.lexical_words(_same_mark(singular, many)) if many else french.plural_noun(forms),
        words[at][0],
        flags,
        french.lexical_words(feminine),
        heading[0],
        simple,
    )


def parse_adjective(line: str, heading: list[str]) -> Adjective:
    """From ``+white: blanc/blanche color only : clothes flower``; the classes default to the heading's."""
    simple, left, right = _sides(line)
    body, _, suits = right.partition(" : ")
    forms, *flags = body.split(" ")
    masculine, feminine, third, *_ = [*forms.split("/"), "", ""]
    if "inv" in flags:
        four = (masculine,) * 4
    else:
        feminine = feminine or french.feminine(masculine)
        many = third if third.endswith("s") else french.plural(masculine)
        four = (masculine, feminine, many, feminine + "s")
    before_vowel = "" if third.endswith("s") else third
    classes = tuple(suits.split()) if suits else tuple(heading)
    return Adjective(left, four, before_vowel, frozenset(flags), classes, simple)


def parse_verb(line: str) -> Verb:
    """From ``+eat/ate/eaten: manger < people animal > food ; l``."""
    simple, left, right = _sides(line)
    rest, _, flags = right.partition(" ; ")
    rest, _, objects = rest.partition(" > ")
    body, _, subjects = rest.partition(" < ")
    head, *tail = left.split(" ")
    reflexive = body.startswith(("se ", "s'"))
    infinitive, *french_tail = body.removeprefix("se ").removeprefix("s'").split(" ")
    preposition = french_tail.pop() if french_tail and french_tail[-1] in PREPOSITIONS else ""
    return Verb(
        english.verb_forms(head),
        tuple(word.removeprefix("~") for word in tail),
        any(word.startswith("~") for word in tail),
        infinitive,
        reflexive,
        french.lexical_words(" ".join(french_tail)) if french_tail else (),
        preposition,
        tuple(subjects.split()) or ("people",),
        tuple(objects.split()),
        frozenset(flags.split()),
        simple,
    )


def parse_name(line: str) -> Name:
    """From ``London: Londres`` or ``France: France f``."""
    simple, left, right = _sides(line)
    words = right.split(" ")
    gender = words.pop() if words[-1] in ("m", "f", "mp", "fp", "0") else ""
    return Name(english_words(left), french.lexical_words(" ".join(words)), gender, simple)


def _sides(line: str) -> tuple[bool, str, str]:
    left, _, right = line.partition(": ")
    return left.startswith("+"), left.removeprefix("+"), right


def _same_mark(singular: str, many: str) -> str:
    return "*" + many if singular.startswith("*") else many
