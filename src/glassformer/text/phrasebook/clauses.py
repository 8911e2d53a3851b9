"""Clauses in both languages: subject, verb, negation, objects and what follows, as statement or question."""

from dataclasses import dataclass

from glassformer.text.phrasebook.conjugation import NOUS, conjugate
from glassformer.text.phrasebook.dice import Dice
from glassformer.text.phrasebook.entries import Name, Verb
from glassformer.text.phrasebook.noun_phrases import NounPhrase, Role
from glassformer.text.phrasebook.people import REFLEXIVES, Pronoun, Subject
from glassformer.text.phrasebook.verb_groups import Tense, english_group, french_group
from glassformer.text.phrasebook.words import NOTHING, Both, Word, linked

_AFTER_FINITE = {"not": "pas", "never": "jamais", "no longer": "plus", "nothing": "rien"}
"""What the English says, and the French word after the finite verb."""

_ELIDED = {"me": "m'", "te": "t'", "se": "s'", "le": "l'", "la": "l'", "de": "d'"}

Words = tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """A verb with its object, before anybody does it at any time."""

    verb: Verb
    object: NounPhrase | Pronoun | None = None
    recipient: Pronoun | None = None
    """Somebody to whom, as a pronoun (he gives her the book)."""
    preceding: tuple[str, bool] | None = None
    """Gender and number of a direct object that stands before the clause (the apple that I ate)."""


@dataclass(frozen=True, slots=True)
class Clause:
    """Somebody does something at some time, or does not."""

    subject: Subject
    action: Action
    tense: Tense
    polarity: str = ""
    """not, never, no longer, nothing or anyone (as objects), nobody (as subject), or "" for yes."""
    modal: Verb | None = None
    frequency: Name | None = None
    """Stands before the English verb and after the French finite verb (often: souvent)."""
    degree: Name | None = None
    """Stands after the English verb and after the French finite verb (well: bien)."""
    after: Both = NOTHING


@dataclass(frozen=True, slots=True)
class _Links:
    """What the words of one clause may mean."""

    verb: int
    modal: int
    negation: int
    object: int
    recipient: int
    frequency: int


def statement(dice: Dice, clause: Clause) -> Both:
    """The clause in the order of a statement."""
    links = _fresh_links(dice, clause)
    first, adverb, rest = _english(clause, links, asking=0)
    return clause.subject.words + Both(first + adverb + rest, _french(clause, links)) + clause.after


def question(dice: Dice, clause: Clause, asked: Both | None = None) -> Both:
    """The clause as a question, after a question word if there is one; French asks with est-ce que."""
    links = _fresh_links(dice, clause)
    asking = dice.link()
    first, adverb, rest = _english(clause, links, asking)
    que = (Word("est-ce", (asking,)), Word("que", (asking,), before_vowel="qu'"))
    subject = clause.subject.words
    start = asked or NOTHING
    return (
        start
        + Both(first + subject.english + adverb + rest, que + subject.french + _french(clause, links))
        + clause.after
    )


def command(dice: Dice, action: Action, subject: Subject, negative: bool) -> Both:
    """An order to "you", or "let us"; the subject only says which of the two."""
    links = _Links(dice.link(), 0, dice.link(), dice.link(), dice.link(), 0)
    verb = action.verb
    we = subject.person == NOUS
    start = linked("do not" if negative else "", links.negation)
    if we:
        start = linked("let 's not" if negative else "let 's", links.verb)
    forms = conjugate(verb.infinitive)
    finite = forms.imperative[1 if we else 2]
    own = REFLEXIVES[subject.english][1]
    role: Role = "negated" if negative else "plain"
    object_words = _french_object(action, links, role)
    if negative:
        reflexive = (_clitic(own, links.verb),) if verb.reflexive else ()
        negation = Word("ne", (links.negation, links.verb) if we else (links.negation,), before_vowel="n'")
        pas = Word("pas", negation.links)
        french = (negation, *reflexive, Word(finite, (links.verb,)), pas)
    else:
        french = (Word(f"{finite}-{own}" if verb.reflexive else finite, (links.verb,)),)
    english = start + linked(verb.english.base, links.verb) + _english_object(action, links, subject)
    return Both(english, french + linked(verb.french_tail, links.verb) + object_words)


def _fresh_links(dice: Dice, clause: Clause) -> _Links:
    negation = clause.subject.words.english[0].links[0] if clause.polarity == "nobody" else dice.link()
    return _Links(dice.link(), dice.link(), negation, dice.link(), dice.link(), dice.link())


def _english(clause: Clause, links: _Links, asking: int) -> tuple[Words, Words, Words]:
    """The first auxiliary, the adverbs, and the rest of the English predicate."""
    outer = clause.modal or clause.action.verb
    link = links.modal if clause.modal else links.verb
    plain_not = clause.polarity in ("not", "anyone")
    group = english_group(outer, clause.tense, clause.subject, supported=plain_not or asking > 0)
    ask = (asking,) if asking else ()
    first = linked(group.auxiliaries, link, *ask)
    adverb: Words = ()
    if plain_not and group.auxiliaries == ("can",):
        first = linked("cannot", link, links.negation, *ask)
    elif plain_not:
        adverb = linked("not", links.negation)
    elif clause.polarity in ("never", "no longer"):
        adverb = linked(clause.polarity, links.negation)
    if clause.frequency:
        adverb += linked(clause.frequency.english, links.frequency)
    rest = linked(group.main, link)
    if clause.modal:
        rest += linked(clause.modal.english_tail, link) + linked(clause.action.verb.english.base, links.verb)
    rest += _english_object(clause.action, links, clause.subject)
    if clause.degree:
        rest += linked(clause.degree.english, links.frequency)
    if clause.polarity in ("nothing", "anyone"):
        rest += linked(clause.polarity, links.negation)
    return first, adverb, rest


def _english_object(action: Action, links: _Links, subject: Subject) -> Words:
    """All that follows the English verb: its tail, recipient and object in their order."""
    tail = tuple(
        Word(REFLEXIVES[subject.english][0] if word == "oneself" else word, (links.verb,))
        for word in action.verb.english_tail
    )
    recipient = linked(action.recipient.english, links.recipient) if action.recipient else ()
    if isinstance(action.object, Pronoun):
        pronoun = linked(action.object.english, links.object)
        return recipient + (pronoun + tail if action.verb.separable else tail + pronoun)
    return tail + recipient + (action.object.english if action.object else ())


def _french(clause: Clause, links: _Links) -> Words:
    """The French predicate."""
    action, modal = clause.action, clause.modal
    preceding = action.preceding
    if isinstance(action.object, Pronoun) and not action.verb.preposition:
        preceding = (action.object.gender, action.object.plural)
    outer = modal or action.verb
    group = french_group(outer, clause.tense, clause.subject, None if modal else preceding)
    link = links.modal if modal else links.verb
    clitics = _clitics(action, clause.subject, links)
    outside = () if modal or group.clitics_inside else clitics
    words: Words = (*outside, Word(group.finite, (link,)))
    if clause.polarity:
        words = (Word("ne", (links.negation,), before_vowel="n'"), *words)
    words += linked(_AFTER_FINITE.get(clause.polarity, ""), links.negation)
    beside = clause.frequency or clause.degree
    if beside:
        words += linked(beside.french, links.frequency)
    if group.clitics_inside and not modal:
        words += clitics
    words += linked(group.rest, link)
    if modal:
        words += linked(modal.french_tail, links.modal) + _preposition(modal, links.modal)
        words += (*clitics, Word(action.verb.infinitive, (links.verb,)))
    words += linked(action.verb.french_tail, links.verb)
    words += _french_object(action, links, _role(clause))
    return words + linked("personne" if clause.polarity == "anyone" else "", links.negation)


def _role(clause: Clause) -> Role:
    return "negated" if clause.polarity else "plain"


def _french_object(action: Action, links: _Links, role: Role) -> Words:
    verb, found = action.verb, action.object
    if not isinstance(found, NounPhrase):
        return ()
    if verb.preposition:
        role = "after de" if verb.preposition == "de" else "plain"
    elif "g" in verb.flags:
        role = "generic"
    elif verb.infinitive == "parler":
        role = "no article"
    return _preposition(verb, links.verb) + found.french(role)


def _preposition(verb: Verb, link: int) -> Words:
    if not verb.preposition:
        return ()
    return (Word(verb.preposition, (link,), before_vowel=_ELIDED.get(verb.preposition, "")),)


def _clitics(action: Action, subject: Subject, links: _Links) -> Words:
    found: list[Word] = []
    if action.verb.reflexive:
        found.append(_clitic(REFLEXIVES[subject.english][1], links.verb))
    if action.recipient:
        found.append(_clitic(action.recipient.dative, links.recipient))
    if isinstance(action.object, Pronoun):
        dative = bool(action.verb.preposition)
        found.append(_clitic(action.object.dative if dative else action.object.accusative, links.object))
    return tuple(found)


def _clitic(text: str, link: int) -> Word:
    return Word(text, (link,), before_vowel=_ELIDED.get(text, ""))
