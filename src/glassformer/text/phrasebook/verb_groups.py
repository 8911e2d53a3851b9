"""The verb alone: the English auxiliaries and the French tense that one meaning takes."""

from dataclasses import dataclass
from typing import Literal

from glassformer.text.phrasebook.conjugation import Conjugation, agree, conjugate
from glassformer.text.phrasebook.english import EnglishVerb
from glassformer.text.phrasebook.entries import Verb
from glassformer.text.phrasebook.people import Subject
from glassformer.text.phrasebook.words import listed

Tense = Literal["present", "progressive", "past", "was doing", "future", "going to", "perfect", "would"]

_ETRE = listed(
    "aller venir revenir devenir arriver partir repartir entrer sortir monter descendre rester tomber"
    " mourir naître rentrer retourner"
)
_BE_PRESENT = {"I": "am", "he": "is", "she": "is", "it": "is"}
_SINGULAR_THIRD = ("he", "she", "it")
_MODAL_PAST = {"can": "could", "must": "must"}


@dataclass(frozen=True, slots=True)
class EnglishGroup:
    """Auxiliaries, which a question puts before the subject, and the rest."""

    auxiliaries: tuple[str, ...]
    main: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FrenchGroup:
    """The finite verb and what follows the negation: a participle or an infinitive, or nothing."""

    finite: str
    rest: str = ""
    clitics_inside: bool = False
    """Whether pronouns stand before the rest (je vais le voir) and not before the finite verb."""


def english_group(verb: Verb, tense: Tense, subject: Subject, supported: bool) -> EnglishGroup:
    """The English verb; ``supported`` asks for "do" where there is no auxiliary (questions, not)."""
    forms = verb.english
    if forms.base in _MODAL_PAST:
        return EnglishGroup((_MODAL_PAST[forms.base] if tense == "past" else forms.base,), ())
    if tense in ("present", "past"):
        return _simple(forms, tense == "past", subject, supported)
    third = subject.english in _SINGULAR_THIRD
    be = _BE_PRESENT.get(subject.english, "are")
    groups: dict[str, tuple[str, tuple[str, ...]]] = {
        "progressive": (be, (forms.ing,)),
        "was doing": (_was(subject), (forms.ing,)),
        "future": ("will", (forms.base,)),
        "would": ("would", (forms.base,)),
        "going to": (be, ("going", "to", forms.base)),
        "perfect": ("has" if third else "have", (forms.participle,)),
    }
    auxiliary, main = groups[tense]
    return EnglishGroup((auxiliary,), main)


def _simple(forms: EnglishVerb, past: bool, subject: Subject, supported: bool) -> EnglishGroup:
    """Simple present and past."""
    third = subject.english in _SINGULAR_THIRD
    if forms.base == "be":
        be = _was(subject) if past else _BE_PRESENT.get(subject.english, "are")
        return EnglishGroup((be,), ())
    if supported:
        return EnglishGroup(("did" if past else "does" if third else "do",), (forms.base,))
    return EnglishGroup((), (forms.past if past else forms.third if third else forms.base,))


def _was(subject: Subject) -> str:
    return "was" if subject.english in ("I", "he", "she", "it") else "were"


def french_group(
    verb: Verb, tense: Tense, subject: Subject, preceding: tuple[str, bool] | None
) -> FrenchGroup:
    """The French verb; ``preceding`` is gender and number of a direct object that stands before it."""
    forms = conjugate(verb.infinitive)
    person = subject.person
    if tense == "going to":
        return FrenchGroup(conjugate("aller").present[person], forms.infinitive, clitics_inside=True)
    if tense == "perfect" or (tense == "past" and not is_state(verb)):
        return _compound(verb, forms, subject, preceding)
    if tense in ("past", "was doing"):
        return FrenchGroup(forms.imperfect[person])
    if tense == "future":
        return FrenchGroup(forms.future[person])
    if tense == "would":
        return FrenchGroup(forms.conditional[person])
    return FrenchGroup(forms.present[person])


def is_state(verb: Verb) -> bool:
    """Whether the verb tells a state, whose simple past is the imparfait (he knew: il savait)."""
    return "s" in verb.flags


def _compound(
    verb: Verb, forms: Conjugation, subject: Subject, preceding: tuple[str, bool] | None
) -> FrenchGroup:
    with_etre = verb.reflexive or verb.infinitive in _ETRE
    auxiliary = conjugate("être" if with_etre else "avoir").present[subject.person]
    if with_etre:
        return FrenchGroup(auxiliary, agree(forms.participle, subject.gender, subject.plural))
    gender, plural = preceding or ("m", False)
    return FrenchGroup(auxiliary, agree(forms.participle, gender, plural))
