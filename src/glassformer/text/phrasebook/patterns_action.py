"""Sentences about what somebody does: statements, questions, commands, wishes."""

from dataclasses import replace

from glassformer.text.phrasebook import english
from glassformer.text.phrasebook.clauses import Action, Clause, command, question, statement
from glassformer.text.phrasebook.conjugation import IL
from glassformer.text.phrasebook.dice import Dice
from glassformer.text.phrasebook.drawing import (
    action_of,
    at_place,
    city,
    country,
    draw_action,
    draw_after,
    draw_clause,
    draw_object,
    draw_polarity,
    draw_tense,
    expression,
    other_subject,
    pronoun_object,
    recipient,
)
from glassformer.text.phrasebook.entries import Verb
from glassformer.text.phrasebook.noun_phrases import build, draw
from glassformer.text.phrasebook.people import PEOPLE, Subject, draw_pronoun, draw_subject, pronoun_subject
from glassformer.text.phrasebook.words import Both, Word, linked, listed

_OF_NOTHING = listed(
    "see hear eat drink buy understand find want take read write lose forget sell know meet help like"
    " love invite recognize call thank admire look wait listen bring receive steal"
)
_TAUGHT = listed("sing dance swim drive cook ski skate speak play read write run")
# "Have to" denied is no duty at all, not the duty not to: ne pas devoir would be wrong.
_SELDOM_DENIED = ("have", "begin", "continue", "manage", "agree", "refuse", "decide", "promise", "learn")
_ASKED = {"where": "où", "when": "quand", "why": "pourquoi"}


def closed(dice: Dice, meaning: Both, mark: str = ".") -> Both:
    """The sentence with its mark at the end; sometimes the English is contracted, as it is spoken."""
    link = dice.link()
    words = meaning.english
    if dice.chance(0.25):
        words = english.contract(words)
    return Both(words + linked(mark, link), meaning.french + linked(mark, link))


def says(dice: Dice) -> Both:
    """Paul eats an apple."""
    return closed(dice, statement(dice, draw_clause(dice)))


def asks(dice: Dice) -> Both:
    """A question for yes or no, such as: do you eat apples."""
    clause = of_others(dice, replace(draw_clause(dice), polarity=""))
    return closed(dice, question(dice, clause), "?")


def of_others(dice: Dice, clause: Clause) -> Clause:
    """The same clause without I and we, about whom nobody asks."""
    if clause.subject.english in ("I", "we"):
        return replace(clause, subject=pronoun_subject(dice, "you"))
    return clause


def asks_where(dice: Dice) -> Both:
    """A question for the place, the time or the reason: why is Paul sleeping."""
    action = draw_action(dice)
    word = dice.pick([word for word in _ASKED if word != "where" or "l" in action.verb.flags])
    if word == "when" and "s" in action.verb.flags:
        word = "why"
    clause = of_others(dice, draw_clause(dice, action, plain=True))
    link = dice.link()
    return closed(dice, question(dice, clause, Both(linked(word, link), linked(_ASKED[word], link))), "?")


def asks_what(dice: Dice) -> Both:
    """A question for the object: what do you eat, who does she know."""
    verb = _transitive(dice)
    kinds = [nouns[0].kind in PEOPLE for nouns in dice.lexicon.objects[verb]]
    who = dice.pick(kinds)
    subject = draw_subject(dice, dice.lexicon.subjects[verb])
    clause = of_others(dice, Clause(subject, Action(verb), draw_tense(dice, verb, subject, "not")))
    link = dice.link()
    asked = Both(linked("what", link), (Word("que", (link,), before_vowel="qu'"),))
    if who:
        asked = Both(linked("who", link), linked("qui", link))
    return closed(dice, question(dice, clause, asked), "?")


def asks_who(dice: Dice) -> Both:
    """A question for the subject: who is eating the cake."""
    action = _peoples_action(dice)
    link = dice.link()
    who = Subject(Both(linked("who", link), linked("qui", link)), IL, "m", "he")
    clause = Clause(who, action, draw_tense(dice, action.verb, who))
    return closed(dice, statement(dice, clause), "?")


def asks_how_many(dice: Dice) -> Both:
    """A question for the number: how many apples did you eat; the object in front, the participle agrees."""
    verb = _transitive(dice)
    found = draw_object(dice, verb)
    if not found.noun.countable:
        return asks(dice)
    many = build(dice, found.noun, "", plural=True)
    subject = draw_subject(dice, dice.lexicon.subjects[verb])
    action = Action(verb, preceding=(many.gender, True))
    clause = Clause(subject, action, draw_tense(dice, verb, subject, "not"))
    link = dice.link()
    asked = Both(
        linked("how many", link) + many.english,
        (Word("combien", (link,)), Word("de", (link,), "d'"), *many.core),
    )
    return closed(dice, question(dice, of_others(dice, clause), asked), "?")


def commands(dice: Dice) -> Both:
    """Open the door! Let us open the door. Do not open the door, please."""
    negative = dice.chance(0.25)
    action = _peoples_action(dice, deliberate=True, negative=negative)
    subject = pronoun_subject(dice, "we" if not dice.simple and dice.chance(0.2) else "you")
    order = command(dice, action, subject, negative)
    if subject.english == "you" and dice.chance(0.25):
        comma, please = dice.link(), dice.link()
        order += Both(
            linked(",", comma) + linked("please", please),
            linked(",", comma) + linked(("s'", "il", "vous", "plaît"), please),
        )
        return closed(dice, order)
    return closed(dice, order, "!")


def wants(dice: Dice) -> Both:
    """Paul wants to buy a car."""
    modal = dice.pick(dice.lexicon.verbs["modal"])
    base = modal.english.base
    polarity = "not" if base not in _SELDOM_DENIED and dice.chance(0.2) else ""
    action = _peoples_action(dice, deliberate=True, negative=bool(polarity))
    while not _fits(base, action.verb):
        action = _peoples_action(dice, deliberate=True, negative=bool(polarity))
    subject = draw_subject(dice, dice.lexicon.subjects[modal])
    past = dice.chance(0.25) and base != "must"
    after = draw_after(dice, subject, action, "was doing", busy=True)
    clause = Clause(subject, action, "past" if past else "present", polarity, modal, after=after)
    if not polarity and dice.chance(0.25) and base != "must":
        return closed(dice, question(dice, clause if base == "can" else of_others(dice, clause)), "?")
    return closed(dice, statement(dice, clause))


def _fits(modal: str, verb: Verb) -> bool:
    """Whether one can know how to do it, learn it, begin it or go on with it, as the modal says."""
    if modal in ("know", "learn"):
        return verb.english.base in _TAUGHT
    return modal not in ("begin", "continue") or "a" in verb.flags or verb.english.base in _TAUGHT


def sees_them(dice: Dice) -> Both:
    """She saw me yesterday; I often help them."""
    verb = dice.pick(
        [v for v in dice.lexicon.verbs["transitive"] if _takes_pronoun(dice, v) and v.infinitive != "avoir"]
    )
    subject = draw_subject(dice, dice.lexicon.subjects[verb])
    clause = draw_clause(dice, Action(verb, draw_pronoun(dice, subject)), subject)
    return closed(dice, statement(dice, clause))


def gives(dice: Dice) -> Both:
    """I give the book to Paul; I give him the book."""
    verb = dice.pick([v for v in dice.lexicon.verbs["transitive"] if "d" in v.flags])
    found = draw_object(dice, verb)
    subject = draw_subject(dice, dice.lexicon.subjects[verb])
    polarity = draw_polarity(dice)
    tense = draw_tense(dice, verb, subject, polarity)
    if verb.english.base not in ("explain", "return", "write") and dice.chance(0.5) and not dice.simple:
        clause = Clause(subject, Action(verb, found, draw_pronoun(dice, subject)), tense, polarity)
    else:
        clause = Clause(subject, Action(verb, found), tense, polarity, after=recipient(dice, subject))
    return closed(dice, statement(dice, clause))


def goes(dice: Dice) -> Both:
    """We went to the beach; they will go to Canada."""
    verb = dice.pick(dice.lexicon.verbs["motion"])
    relation = verb.english_tail[-1]
    plain = replace(verb, english_tail=verb.english_tail[:-1], preposition="")
    subject = draw_subject(dice, dice.lexicon.subjects[verb])
    kind = dice.weighted(place=6, city=3, country=3 if relation == "to" else 0)
    if kind == "place":
        goal = at_place(dice, relation, build(dice, dice.noun_of("goal"), "the"))
    elif kind == "city":
        goal = city(dice, "to" if relation == "to" else "in")
    else:
        goal = country(dice, relation)
    polarity = draw_polarity(dice)
    clause = Clause(subject, Action(plain), draw_tense(dice, verb, subject, polarity), polarity, after=goal)
    if not polarity and dice.chance(0.2):
        return closed(dice, question(dice, of_others(dice, clause)), "?")
    return closed(dice, statement(dice, clause))


def nothing(dice: Dice) -> Both:
    """I see nothing; nobody is sleeping; he does not know anyone."""
    if dice.chance(0.4):
        action = _peoples_action(dice, negative=True)
        link = dice.link()
        subject = Subject(Both(linked("nobody", link), linked("personne", link)), IL, "m", "he")
        clause = Clause(subject, action, draw_tense(dice, action.verb, subject), "nobody")
        return closed(dice, statement(dice, clause))
    verb = dice.pick([v for v in dice.lexicon.verbs["transitive"] if _may_be_nothing(v)])
    subject = draw_subject(dice, dice.lexicon.subjects[verb])
    polarity = "anyone" if dice.noun(dice.lexicon.objects[verb]).kind in PEOPLE else "nothing"
    return closed(
        dice, statement(dice, Clause(subject, Action(verb), draw_tense(dice, verb, subject), polarity))
    )


def _may_be_nothing(verb: Verb) -> bool:
    return verb.english.base in _OF_NOTHING and not verb.preposition and not verb.separable


def would_like(dice: Dice) -> Both:
    """I would like a coffee, please: a wish, always polite."""
    verb = next(v for v in dice.lexicon.verbs["transitive"] if v.english.base == "want")
    wish = replace(verb, english=english.verb_forms("like"))
    found = draw(dice, dice.noun(dice.lexicon.objects[verb]), fresh=True)
    clause = Clause(draw_subject(dice, dice.lexicon.subjects[verb]), Action(wish, found), "would")
    if dice.chance(0.3):
        return closed(dice, question(dice, clause), "?")
    return closed(dice, statement(dice, clause))


def has_already(dice: Dice) -> Both:
    """Paul has already eaten; I have never seen a whale."""
    action = _peoples_action(dice, negative=True)
    if "s" in action.verb.flags:
        return says(dice)
    subject = other_subject(dice, action)
    if dice.chance(0.4):
        return closed(dice, statement(dice, Clause(subject, action, "perfect", "never")))
    already = replace(dice.lexicon.names["frequency"][0], english=("already",), french=("déjà",))
    return closed(dice, statement(dice, Clause(subject, action, "perfect", frequency=already)))


def greets(dice: Dice) -> Both:
    """A fixed expression, word for word from the lexicon."""
    return expression(dice, dice.pick(dice.lexicon.names["exact"]))


def _transitive(dice: Dice) -> Verb:
    """A verb with a direct object."""
    return dice.pick([v for v in dice.lexicon.verbs["transitive"] if not v.preposition])


def _takes_pronoun(dice: Dice, verb: Verb) -> bool:
    return pronoun_object(dice, verb, pronoun_subject(dice, "I")) is not None


def _peoples_action(dice: Dice, *, deliberate: bool = False, negative: bool = False) -> Action:
    """Something that people do; on purpose, if asked."""
    while True:
        verb = dice.pick(dice.lexicon.verbs["transitive" if dice.chance(0.7) else "intransitive"])
        fits = "people" in verb.subjects and "oneself" not in verb.english_tail
        if fits and not (deliberate and verb.flags & {"s", "x"}):
            return action_of(dice, verb, negative=negative)
