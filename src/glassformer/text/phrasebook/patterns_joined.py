"""Sentences of two parts, joined by and, but, because, if or when, and pronouns that look back."""

from collections.abc import Sequence

from glassformer.text.phrasebook.clauses import Action, Clause, statement
from glassformer.text.phrasebook.dice import Dice
from glassformer.text.phrasebook.drawing import action_of, draw_action, draw_clause, draw_tense
from glassformer.text.phrasebook.entries import Adjective, Verb
from glassformer.text.phrasebook.noun_phrases import NounPhrase, build, draw
from glassformer.text.phrasebook.patterns_action import closed
from glassformer.text.phrasebook.patterns_being import BE, personal, predicate, predicates
from glassformer.text.phrasebook.people import (
    Subject,
    draw_subject,
    known_phrase,
    phrase_subject,
    pronoun_subject,
    referring_subject,
    thing_pronoun,
)
from glassformer.text.phrasebook.verb_groups import Tense
from glassformer.text.phrasebook.words import Both, Word, linked, listed

_CONJUNCTIONS = {"and": ("et",), "but": ("mais",)}
_REFUSED = (
    *listed("sleep work sing dance walk run swim travel cook drive speak smile laugh"),
    "go out",
    "come back",
)
_REASONS = listed("tired sick busy lazy shy worried nervous sad furious")
_CONDITIONS = listed("tired sick ready busy rich sad happy free absent patient careful")
_CONSEQUENCES = (
    *listed("rest sleep stay leave travel dance sing work wait laugh come"),
    "go out",
    "come back",
    "go home",
)
_OPPOSED = tuple(
    frozenset(group.split())
    for group in (
        "small big large tiny enormous huge gigantic little",
        "beautiful pretty ugly magnificent splendid superb",
        "old new young modern ancient",
        "hot cold frozen",
        "clean dirty",
        "full empty",
        "open closed locked",
        "rich poor wealthy",
        "happy sad cheerful gloomy delighted furious",
        "good bad excellent delicious exquisite tasty rotten",
        "strong weak",
        "fast slow",
        "fat thin slim",
        "nice mean kind cruel",
        "calm nervous",
        "polite rude",
        "patient impatient",
        "married single",
        "intelligent stupid clever",
        "present absent",
        "awake asleep dead alive",
        "active passive lazy hardworking",
        "optimistic pessimistic",
        "careful careless",
        "guilty innocent",
        "heavy light",
        "long short",
        "high low",
        "wide narrow",
        "useful useless",
        "easy difficult simple complicated complex",
        "interesting boring fascinating exciting",
        "raw cooked",
        "sweet salty bitter sour",
        "wet dry",
        "sincere honest",
        "brave shy",
        "generous selfish",
        "talkative silent discreet",
        "seated asleep",
    )
)
_TIRED = ("tired", "sick", "slow", "young", "weak", "nervous")
_WIDE = ("wide", "long", "narrow")


def joined(dice: Dice) -> Both:
    """Paul is singing and Marie is dancing; the dog barks but the cat sleeps."""
    word = dice.pick(list(_CONJUNCTIONS))
    first = draw_clause(dice, people_action(dice), plain=True)
    second = draw_clause(dice, people_action(dice), plain=True)
    for _ in range(60):
        if second.tense == first.tense and second.subject.english != first.subject.english:
            break
        second = draw_clause(dice, people_action(dice), plain=True)
    return closed(dice, statement(dice, first) + conjunction(dice, word) + statement(dice, second))


def same_subject(dice: Dice) -> Both:
    """Marie is tired but she is working; the soup is good but it is cold."""
    if dice.chance(0.5):
        suited = personal(dice)
        subject = draw_subject(dice, [dice.lexicon.nouns["person"]])
    else:
        noun = dice.noun(list(dice.lexicon.nouns.values()))
        suited = predicates(dice, noun)
        subject = phrase_subject(known_phrase(dice, noun, 0.0))
    if len(suited) < 2:
        return joined(dice)
    first, second = dice.pick(suited), dice.pick(suited)
    again = taken_up(dice, subject)
    clause = Clause(again, Action(BE), "present", after=predicate(dice, second, again))
    if opposed(first, second):
        if not subject.human:
            return joined(dice)
        clause = draw_clause(dice, people_action(dice), again, plain=True)
    start = statement(dice, Clause(subject, Action(BE), "present", after=predicate(dice, first, subject)))
    return closed(dice, start + conjunction(dice, dice.pick(("and", "but"))) + statement(dice, clause))


def opposed(first: Adjective, second: Adjective) -> bool:
    """Whether nothing is both, or both say the same."""
    pair = {first.english, second.english}
    same_kind = first.flags & second.flags & {"color", "nation"}
    return len(pair) == 1 or bool(same_kind) or any(len(pair & group) == 2 for group in _OPPOSED)


def taken_up(dice: Dice, subject: Subject) -> Subject:
    """The pronoun for a subject just named; a pronoun is said again."""
    text = subject.words.english[0].text
    if text in ("I", "you", "we", "he", "she", "they"):
        return pronoun_subject(dice, text)
    return referring_subject(dice, subject.gender, subject.plural, subject.english)


def people_action(dice: Dice) -> Action:
    """Something that people do."""
    while True:
        action = draw_action(dice, transitive=0.4)
        if "people" in action.verb.subjects:
            return action


def conjunction(dice: Dice, word: str) -> Both:
    """The word "and" or "but"."""
    link = dice.link()
    return Both(linked(word, link), linked(_CONJUNCTIONS[word], link))


def two_objects(dice: Dice) -> Both:
    """She buys a skirt and two shirts."""
    verb = dice.pick(
        [
            v
            for v in dice.lexicon.verbs["transitive"]
            if not v.preposition and not v.flags & {"g", "k", "m", "s"}
        ]
    )
    subject = draw_subject(dice, dice.lexicon.subjects[verb])
    nouns = dice.pick(dice.lexicon.objects[verb])
    first, second = dice.pick(nouns), dice.pick(nouns)
    if first.french == second.french:
        return joined(dice)
    if "bare" in first.flags | second.flags or first.kind == "family":
        return joined(dice)
    action = Action(verb, draw(dice, first, fresh=True))
    after = conjunction(dice, "and") + draw(dice, second, fresh=True).both()
    clause = Clause(subject, action, draw_tense(dice, verb, subject), after=after)
    return closed(dice, statement(dice, clause))


def because(dice: Dice) -> Both:
    """He is not working because he is sick."""
    subject = draw_subject(dice, [dice.lexicon.nouns["person"]])
    action = Action(_named(dice, "intransitive", _REFUSED))
    tense = draw_tense(dice, action.verb, subject, "not")
    first = statement(dice, Clause(subject, action, tense, "not"))
    again = taken_up(dice, subject)
    was: Tense = "past" if tense in ("past", "was doing") else "present"
    reason = Clause(again, Action(BE), was, after=predicate(dice, _adjective(dice, _REASONS), again))
    return closed(dice, first + _because(dice) + statement(dice, reason))


def _adjective(dice: Dice, known: Sequence[str]) -> Adjective:
    return dice.pick([adjective for adjective in dice.lexicon.adjectives if adjective.english in known])


def _named(dice: Dice, section: str, known: Sequence[str]) -> Verb:
    """A verb of this section, by the English it begins with."""
    verbs = dice.lexicon.verbs[section]
    return dice.pick([v for v in verbs if " ".join((v.english.base, *v.english_tail)) in known])


def _because(dice: Dice) -> Both:
    link = dice.link()
    return Both(linked("because", link), (*linked("parce", link), Word("que", (link,), before_vowel="qu'")))


def too_tired(dice: Dice) -> Both:
    """The animal did not cross the street because it was too tired, or because it was too wide.

    What "it" is, and so il or elle, is known only from the last word.
    """
    cross = next(v for v in dice.lexicon.verbs["transitive"] if v.english.base == "cross")
    animal = build(dice, dice.noun_of("animal"), "the")
    way = build(
        dice,
        dice.pick(
            [
                n
                for n in dice.lexicon.objects[cross][0]
                if n.english in ("street", "river", "road", "bridge", "avenue")
            ]
        ),
        "the",
    )
    of_animal = dice.chance(0.5)
    known = _TIRED if of_animal else _WIDE
    thing = animal if of_animal else way
    adjective = _adjective(dice, known)
    clause = Clause(phrase_subject(animal), Action(cross, way), "past", "not")
    it = referring_subject(dice, thing.gender, False, "it")
    link = dice.link()
    too = Both(linked("too", link), linked("trop", link))
    reason = Clause(it, Action(BE), "past", after=too + predicate(dice, adjective, it))
    return closed(dice, statement(dice, clause) + _because(dice) + statement(dice, reason))


def does_it(dice: Dice) -> Both:
    """I bought an apple and I ate it: the pronoun and the participle know the gender."""
    lexicon = dice.lexicon
    buy = next(v for v in lexicon.verbs["transitive"] if v.english.base == "buy")
    then = dice.pick(
        [v for v in lexicon.verbs["transitive"] if v.english.base in _THEN and not v.preposition]
    )
    noun = dice.noun(lexicon.objects[then])
    if noun.kind not in _BOUGHT or "mass" in noun.flags:
        return same_subject(dice)
    found: NounPhrase = draw(dice, noun, fresh=True)
    subject = draw_subject(dice, lexicon.subjects[buy])
    tense: Tense = dice.pick(("past", "past", "future"))
    first = Clause(subject, Action(buy, found), tense)
    again = taken_up(dice, subject)
    second = Clause(again, Action(then, thing_pronoun(found.gender, found.plural)), tense)
    return closed(dice, statement(dice, first) + conjunction(dice, "and") + statement(dice, second))


_THEN = listed("eat lose read sell wash wear repair hide forget taste peel cut")
_BOUGHT = listed("fruit vegetable dish readable clothes jewel vehicle household tool toy")


def if_it_rains(dice: Dice) -> Both:
    """If it rains, we will stay at home; if Paul is tired, he will sleep."""
    subject = draw_subject(dice, [dice.lexicon.nouns["person"]])
    adjective = _adjective(dice, _CONDITIONS)
    condition = Clause(subject, Action(BE), "present", after=predicate(dice, adjective, subject))
    again = taken_up(dice, subject)
    action = Action(_named(dice, "intransitive", _CONSEQUENCES))
    then = Clause(again, action, "future")
    link, comma = dice.link(), dice.link()
    elided = "s'" if subject.words.french[0].text in ("il", "ils") else ""
    start = Both(linked("if", link), (Word("si", (link,), before_vowel=elided),))
    middle = Both(linked(",", comma), linked(",", comma))
    return closed(dice, start + statement(dice, condition) + middle + statement(dice, then))


def while_doing(dice: Dice) -> Both:
    """When I was young, I lived in Paris: two pasts, both imparfait."""
    subject = draw_subject(dice, [dice.lexicon.nouns["person"]])
    if subject.plural and subject.english != "we":
        subject = pronoun_subject(dice, "they")
    adjective = _adjective(dice, ("young",))
    when, comma = dice.link(), dice.link()
    first = Clause(subject, Action(BE), "past", after=predicate(dice, adjective, subject))
    again = taken_up(dice, subject)
    states = [
        v
        for s in ("intransitive", "transitive")
        for v in dice.lexicon.verbs[s]
        if v.english.base in ("like", "love", "hate") and "s" in v.flags and (v.objects)
    ]
    second = Clause(again, action_of(dice, dice.pick(states)), "past")
    start = Both(linked("when", when), linked("quand", when))
    middle = Both(linked(",", comma), linked(",", comma))
    return closed(dice, start + statement(dice, first) + middle + statement(dice, second))
