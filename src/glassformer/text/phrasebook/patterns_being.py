"""Sentences about how, who, where and how old things are."""

from glassformer.text.phrasebook import english, french
from glassformer.text.phrasebook.clauses import Action, Clause, question, statement
from glassformer.text.phrasebook.conjugation import IL, ILS
from glassformer.text.phrasebook.dice import Dice
from glassformer.text.phrasebook.drawing import at_place, draw_place, expression, related
from glassformer.text.phrasebook.entries import Adjective, Noun, Verb, parse_verb
from glassformer.text.phrasebook.noun_phrases import NounPhrase, build, draw
from glassformer.text.phrasebook.patterns_action import closed, of_others
from glassformer.text.phrasebook.people import (
    PEOPLE,
    Subject,
    draw_subject,
    known_phrase,
    phrase_subject,
    single_name,
)
from glassformer.text.phrasebook.verb_groups import Tense
from glassformer.text.phrasebook.words import Both, Word, linked, listed

BE: Verb = parse_verb("be: être ; s")
_PASSING = listed("happy sad tired sick rich poor famous ready busy proud furious surprised worried absent")
_PETS = ("cat", "dog", "rabbit", "mouse", "kitten", "puppy", "hamster", "turtle")
_HOLDERS = ("bag", "box", "basket", "suitcase", "handbag", "chest", "backpack")
_EXISTS = {
    "present": ("is", "are", "a"),
    "past": ("was", "were", "avait"),
    "future": ("will be", "will be", "aura"),
}


def is_so(dice: Dice) -> Both:
    """The house is very old, or asked: is the house very old."""
    subject, adjective = draw_described(dice)
    after = Both()
    if "only" not in adjective.flags and dice.chance(0.3):
        after = expression(dice, dice.pick(dice.lexicon.names["degree"]))
    polarity = "not" if not after.english and dice.chance(0.2) else ""
    tense: Tense = dice.pick(("present", "present", "present", "past", "future"))
    if tense == "future" and not (subject.human and adjective.english in _PASSING):
        tense = "present"
    clause = Clause(subject, Action(BE), tense, polarity, after=after + predicate(dice, adjective, subject))
    if not polarity and subject.english not in ("I", "we") and dice.chance(0.25):
        return closed(dice, question(dice, clause), "?")
    return closed(dice, statement(dice, clause))


def draw_described(dice: Dice) -> tuple[Subject, Adjective]:
    """Somebody or something, and an adjective that suits."""
    if dice.chance(0.4):
        subject = draw_subject(dice, [dice.lexicon.nouns["person"]])
        return subject, dice.pick(personal(dice))
    noun = dice.noun(list(dice.lexicon.nouns.values()))
    while not predicates(dice, noun):
        noun = dice.noun(list(dice.lexicon.nouns.values()))
    return phrase_subject(known_phrase(dice, noun, 0.0)), dice.pick(predicates(dice, noun))


def personal(dice: Dice) -> list[Adjective]:
    """The adjectives that may be said of anybody."""
    man, woman, *_ = dice.lexicon.nouns["person"]
    return [adjective for adjective in predicates(dice, man) if adjective in dice.lexicon.suited[woman]]


def predicates(dice: Dice, noun: Noun) -> list[Adjective]:
    """The adjectives that may be said of the noun after "is"."""
    if "bare" in noun.flags:
        return []
    return [adjective for adjective in dice.lexicon.suited[noun] if "attr" not in adjective.flags]


def predicate(dice: Dice, adjective: Adjective, subject: Subject) -> Both:
    """The adjective, agreeing with the subject."""
    link = dice.link()
    form = adjective.form(subject.gender, subject.plural)
    return Both(linked(adjective.english, link), linked(form, link))


def compares(dice: Dice) -> Both:
    """Paul is taller than Marie; the dog is as old as the cat."""
    if dice.chance(0.5):
        subject, other = single_name(dice), single_name(dice).words
        comparable = personal(dice)
    else:
        noun = dice.noun(list(dice.lexicon.nouns.values()))
        subject = phrase_subject(build(dice, noun, dice.pick(("the", "this"))))
        rival = dice.pick(dice.lexicon.nouns[noun.kind])
        other = build(dice, rival, dice.pick(("the", "that"))).both()
        if noun.kind == "family":
            return is_so(dice)
        comparable = [
            adjective for adjective in predicates(dice, noun) if adjective in predicates(dice, rival)
        ]
    comparable = [adjective for adjective in comparable if "only" not in adjective.flags]
    if not comparable or other.english[-1].text == subject.words.english[-1].text:
        return is_so(dice)
    adjective = dice.pick(comparable)
    how, of = dice.link(), dice.link()
    kind = dice.weighted(more=5, less=2, equally=2)
    more = {"more": "plus", "less": "moins", "equally": "aussi"}[kind]
    adjective_words = predicate(dice, adjective, subject)
    start = linked({"more": "more", "less": "less", "equally": "as"}[kind], how)
    if kind == "more" and "er" in adjective.flags:
        link = adjective_words.english[0].links[0]
        adjective_words = Both(linked(english.compared(adjective.english), how, link), adjective_words.french)
        start = ()
    than = Both(linked("as" if kind == "equally" else "than", of), (Word("que", (of,), before_vowel="qu'"),))
    after = Both(start, linked(more, how)) + adjective_words + than + other
    return closed(dice, statement(dice, Clause(subject, Action(BE), "present", after=after)))


def is_somewhere(dice: Dice) -> Both:
    """The key is on the table, or asked: where is the key."""
    pets = tuple(noun for noun in dice.lexicon.nouns["animal"] if noun.english in _PETS)
    thing = known_phrase(dice, dice.pick(pets) if dice.chance(0.2) else dice.noun_of("portable"), 0.1)
    subject = phrase_subject(thing)
    if dice.chance(0.25):
        return _where_is(dice, subject)
    relation = dice.pick(("on", "under", "behind", "in front of", "next to", "near", "in"))
    if relation == "in":
        holders = [
            n for n in dice.lexicon.nouns["container"] if n.english in _HOLDERS and n is not thing.noun
        ]
        living = thing.noun.kind == "animal"
        place = at_place(
            dice, "in", build(dice, dice.noun_of("room") if living else dice.pick(holders), "the")
        )
    else:
        place = at_place(
            dice, relation, build(dice, dice.noun_of("furniture"), dice.pick(("the", "the", "this", "his")))
        )
    polarity = "not" if dice.chance(0.15) else ""
    tense: Tense = "past" if dice.chance(0.2) else "present"
    clause = Clause(subject, Action(BE), tense, polarity, after=place)
    if not polarity and dice.chance(0.2):
        return closed(dice, question(dice, clause), "?")
    return closed(dice, statement(dice, clause))


def _where_is(dice: Dice, subject: Subject) -> Both:
    where, be = dice.link(), dice.link()
    many = subject.plural
    start = Both(
        linked("where", where) + linked("are" if many else "is", be),
        linked("où", where) + linked("sont" if many else "est", be),
    )
    return closed(dice, start + subject.words, "?")


def there_is(dice: Dice) -> Both:
    """There are three birds in the garden; there is no bread in the kitchen."""
    there = dice.link()
    noun = dice.noun_of("creature", "portable", "food", "drink", "person")
    outside = noun.kind in ("animal", "bird", "person", "insect", "sea")
    negative = dice.chance(0.2)
    found = draw(dice, noun, fresh=True, negative=negative)
    place = at_place(
        dice, "in", build(dice, dice.noun_of("area", "room") if outside else dice.noun_of("room"), "the")
    )
    asking = not negative and dice.chance(0.2)
    singular, plural, finite = _EXISTS[dice.pick(("present", "present", "present", "past", "future"))]
    be = linked(plural if found.plural else singular, there)
    english_start = linked("there", there) + be
    if asking:
        english_start = be[:1] + linked("there", there) + be[1:]
    y_a = linked("y", there) + linked(finite, there)
    if negative:
        no = dice.link()
        found = build(dice, noun, "", plural=noun.countable)
        be = linked(plural if found.plural else singular, there)
        english_words = linked("there", there) + be + linked("no", no) + found.english
        ne = Word("ne", (no,), before_vowel="n'")
        french_words = (*linked("il", there), ne, *y_a, *linked("pas", no), *found.french("negated"))
        return closed(dice, Both(english_words, french_words) + place)
    start = Both(english_start, linked("il", there) + y_a)
    if asking:
        que = (Word("est-ce", (there,)), Word("que", (there,), before_vowel="qu'"))
        return closed(dice, Both((), que) + start + found.both() + place, "?")
    return closed(dice, start + found.both() + place)


def has_a_job(dice: Dice) -> Both:
    """She is a baker: elle est boulangère, without article."""
    subject = draw_subject(dice, [dice.lexicon.nouns["person"]])
    noun = dice.noun_of("job")
    female = subject.gender == "f"
    if (
        (female and not noun.feminine)
        or subject.person not in (IL, ILS)
        or (not female and noun.gender == "f")
    ):
        return is_so(dice)
    link = dice.link()
    forms = noun.feminine if female else noun.french
    if subject.plural:
        words, job = linked(noun.english_plural, link), french.plural_noun(forms)
    else:
        words, job = linked(f"{english.article(noun.english)} {noun.english}", link), forms
    tense: Tense = dice.pick(("present", "present", "past"))
    polarity = "not" if dice.chance(0.15) else ""
    after = Both(words, linked(job, link))
    return closed(dice, statement(dice, Clause(subject, Action(BE), tense, polarity, after=after)))


def this_is(dice: Dice) -> Both:
    """What something is: this is my brother, these are not my shoes."""
    found = draw(dice, dice.noun_of("people", "animal", "portable", "vehicle"), negative=True)
    while found.determiner in ("this", "that", "these", "those"):
        found = draw(dice, found.noun, negative=True)
    link, no = dice.link(), dice.link()
    negative = linked("not", no) if dice.chance(0.2) else ()
    english_words = linked("these are" if found.plural else "this is", link) + negative
    ce = Word("ce", (link,), before_vowel="c'")
    est = linked("sont" if found.plural else "est", link)
    if negative:
        body = (Word("ce", (link,)), Word("ne", (no,), before_vowel="n'"), *est, *linked("pas", no))
    else:
        body = (ce, *est)
    return closed(dice, Both(english_words, body) + found.both())


def is_with(dice: Dice) -> Both:
    """Paul is in the kitchen with his sister."""
    subject = draw_subject(dice, [dice.lexicon.nouns[kind] for kind in PEOPLE if kind in dice.lexicon.nouns])
    after = draw_place(dice)
    if dice.chance(0.4):
        companion = single_name(dice).words if dice.chance(0.4) else _companion(dice).both()
        after += related(dice, "with", companion)
    tense: Tense = dice.pick(("present", "present", "past", "future"))
    clause = Clause(subject, Action(BE), tense, "not" if dice.chance(0.15) else "", after=after)
    if not clause.polarity and dice.chance(0.25):
        return closed(dice, question(dice, of_others(dice, clause)), "?")
    return closed(dice, statement(dice, clause))


def _companion(dice: Dice) -> NounPhrase:
    return known_phrase(dice, dice.noun_of("people", "animal"), 0.1)
