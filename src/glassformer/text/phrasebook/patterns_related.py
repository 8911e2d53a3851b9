"""Sentences within sentences: relative clauses, and what somebody says or thinks."""

from dataclasses import replace

from glassformer.text.phrasebook.clauses import Action, Clause, statement
from glassformer.text.phrasebook.conjugation import IL, ILS
from glassformer.text.phrasebook.dice import Dice
from glassformer.text.phrasebook.drawing import draw_action, draw_clause, draw_tense
from glassformer.text.phrasebook.entries import Verb
from glassformer.text.phrasebook.noun_phrases import build
from glassformer.text.phrasebook.patterns_action import closed
from glassformer.text.phrasebook.patterns_being import BE, draw_described, predicate, predicates
from glassformer.text.phrasebook.patterns_joined import joined, people_action
from glassformer.text.phrasebook.people import PEOPLE, Subject, draw_subject, phrase_subject
from glassformer.text.phrasebook.verb_groups import Tense
from glassformer.text.phrasebook.words import Both, Word, linked, listed

_MET = listed("see know meet thank help look wait listen hear recognize admire invite")


def who_does(dice: Dice) -> Both:
    """The man who is singing is my uncle; I know the woman who sells flowers."""
    verb = dice.pick([v for v in dice.lexicon.verbs["transitive"] if _direct_people(dice, v)])
    outer = draw_subject(dice, dice.lexicon.subjects[verb])
    found = build(dice, dice.noun_of("person", "job"), "the", plural=dice.chance(0.3))
    inner = people_action(dice)
    link = dice.link()
    who = Subject(
        Both(linked("who", link), linked("qui", link)),
        ILS if found.plural else IL,
        found.gender,
        "they" if found.plural else "he",
    )
    relative = statement(dice, Clause(who, inner, draw_tense(dice, inner.verb, who)))
    action = Action(verb, found.followed_by(relative))
    return closed(dice, statement(dice, Clause(outer, action, draw_tense(dice, verb, outer))))


def _direct_people(dice: Dice, verb: Verb) -> bool:
    people = any(nouns[0].kind in PEOPLE for nouns in dice.lexicon.objects[verb])
    return people and verb.english.base in _MET and not verb.preposition


def that_somebody(dice: Dice) -> Both:
    """The book that I bought is interesting: que goes in front, so the participle agrees."""
    verb = dice.pick(
        [v for v in dice.lexicon.verbs["transitive"] if not v.preposition and "people" in v.subjects]
    )
    noun = dice.noun(dice.lexicon.objects[verb])
    suited = [a for a in predicates(dice, noun) if "nation" not in a.flags]
    if not suited or noun.kind == "family":
        return joined(dice)
    found = build(dice, noun, "the", plural=noun.countable and dice.chance(0.3))
    doer = draw_subject(dice, dice.lexicon.subjects[verb])
    inner = Clause(
        doer, Action(verb, preceding=(found.gender, found.plural)), draw_tense(dice, verb, doer, "not")
    )
    if verb.english.base == verb.english.past:
        inner = replace(inner, tense="past")
    link = dice.link()
    that = Both(linked("that", link), (Word("que", (link,), before_vowel="qu'"),))
    whole = found.followed_by(that + statement(dice, inner))
    subject = phrase_subject(whole)
    tense: Tense = "past" if inner.tense == "was doing" else "present"
    if inner.subject.words.english[0].text == "that":
        return joined(dice)
    outer = Clause(subject, Action(BE), tense, after=predicate(dice, dice.pick(suited), subject))
    return closed(dice, statement(dice, outer))


def says_that(dice: Dice) -> Both:
    """I think that Paul is tired; she knew that it was raining is said elsewhere."""
    verb = dice.pick(dice.lexicon.verbs["clause"])
    subject = draw_subject(dice, dice.lexicon.subjects[verb])
    past = dice.chance(0.3)
    if verb.english.base == verb.english.past:
        past = True
    trimmed = replace(verb, english_tail=())
    link = dice.link()
    that = Both(linked("that", link), (Word("que", (link,), before_vowel="qu'"),))
    if dice.chance(0.5):
        who, adjective = draw_described(dice)
        inner = Clause(who, Action(BE), "past" if past else "present", after=predicate(dice, adjective, who))
    else:
        inner = draw_clause(dice, draw_action(dice, transitive=0.5), plain=True)
        progressive = not inner.action.verb.flags & {"s", "n"}
        if past:
            tense: Tense = "was doing" if progressive else "past"
            inner = replace(inner, tense=tense)
    outer = Clause(
        subject, Action(trimmed), "past" if past else "present", after=that + statement(dice, inner)
    )
    return closed(dice, statement(dice, outer))
