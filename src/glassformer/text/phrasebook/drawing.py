"""Draws the parts of a clause so that they suit each other: tense, negation, objects, time and place."""

from glassformer.text.phrasebook import english, french
from glassformer.text.phrasebook.clauses import Action, Clause
from glassformer.text.phrasebook.dice import Dice
from glassformer.text.phrasebook.entries import Name, Noun, Verb
from glassformer.text.phrasebook.noun_phrases import NounPhrase, build, draw
from glassformer.text.phrasebook.people import (
    PEOPLE,
    Pronoun,
    Subject,
    draw_pronoun,
    draw_subject,
    known_phrase,
    single_name,
)
from glassformer.text.phrasebook.verb_groups import Tense
from glassformer.text.phrasebook.words import NOTHING, Both, Word, begins_with_vowel, linked

_TIMES = {
    "present": "habit",
    "progressive": "present",
    "past": "past",
    "was doing": "",
    "future": "future",
    "going to": "future",
    "perfect": "",
    "would": "",
}
_TO_SOMEBODY = ("donner", "prêter", "offrir", "montrer")
_RELATIONS = {
    "on": ("sur",),
    "under": ("sous",),
    "behind": ("derrière",),
    "in front of": ("devant",),
    "next to": ("à", "côté", "de"),
    "near": ("près", "de"),
    "in": ("dans",),
    "with": ("avec",),
    "without": ("sans",),
    "for": ("pour",),
    "at": ("à",),
    "to": ("à",),
    "of": ("de",),
    "from": ("de",),
}


def draw_clause(
    dice: Dice, action: Action | None = None, subject: Subject | None = None, *, plain: bool = False
) -> Clause:
    """A whole clause; a ``plain`` one says yes and has nothing after it."""
    polarity = "" if plain else draw_polarity(dice)
    action = action or draw_action(dice, negative=bool(polarity))
    subject = subject or other_subject(dice, action)
    tense = draw_tense(dice, action.verb, subject, polarity)
    frequency = degree = None
    if not plain and "a" in action.verb.flags and action.object is None and dice.chance(0.15):
        degree = dice.pick(dice.lexicon.names["short"])
    elif not polarity and not plain and tense == "present" and "s" not in action.verb.flags:
        frequency = dice.pick(dice.lexicon.names["frequency"]) if dice.chance(0.15) else None
    after = (
        NOTHING if plain else draw_after(dice, subject, action, tense, bool(frequency or degree or polarity))
    )
    return Clause(subject, action, tense, polarity, frequency=frequency, degree=degree, after=after)


def other_subject(dice: Dice, action: Action) -> Subject:
    """Somebody who may do it and is not called like the object."""
    choices = dice.lexicon.subjects[action.verb]
    subject = draw_subject(dice, choices)
    if isinstance(action.object, NounPhrase):
        noun = action.object.noun
        while {noun.english, noun.english_plural} & {word.text for word in subject.words.english}:
            subject = draw_subject(dice, choices)
    return subject


def draw_action(dice: Dice, *, transitive: float = 0.7, negative: bool = False) -> Action:
    """A verb with an object if it takes one."""
    verbs = dice.lexicon.verbs["transitive" if dice.chance(transitive) else "intransitive"]
    return action_of(dice, dice.pick(verbs), negative=negative)


def action_of(dice: Dice, verb: Verb, *, negative: bool = False) -> Action:
    """A drawn object for this verb, if it takes one."""
    return Action(verb, draw_object(dice, verb, negative=negative) if verb.objects else None)


def draw_object(dice: Dice, verb: Verb, *, negative: bool = False) -> NounPhrase:
    """An object that the verb makes sense with."""
    noun = dice.noun(dice.lexicon.objects[verb])
    if "m" in verb.flags:
        return build(dice, noun, "", plural=noun.countable)
    if noun.kind == "instrument" and verb.preposition == "de":
        return build(dice, noun, "the")
    if "g" in verb.flags:
        return _liked(dice, noun)
    known = "k" in verb.flags or (noun.kind in PEOPLE and verb.infinitive != "avoir" and dice.chance(0.7))
    if known and "bare" not in noun.flags:
        return known_phrase(dice, noun, all_of=True)
    return draw(dice, noun, fresh=verb.infinitive == "avoir", negative=negative)


def _liked(dice: Dice, noun: Noun) -> NounPhrase:
    """Something one likes: all of it, or one that is known."""
    if noun.flags & {"mass", "bare"}:
        return build(dice, noun, "")
    if noun.countable and noun.kind not in PEOPLE and dice.chance(0.6):
        return build(dice, noun, "", plural=True)
    return known_phrase(dice, noun)


def draw_polarity(dice: Dice) -> str:
    """Mostly yes, sometimes not, seldom never or no longer."""
    if dice.simple:
        return "not" if dice.chance(0.2) else ""
    return dice.pick(("not", "not", "not", "never", "no longer")) if dice.chance(0.2) else ""


def draw_tense(dice: Dice, verb: Verb, subject: Subject, polarity: str = "") -> Tense:
    """A tense that the verb can take; what English would leave open is not drawn."""
    options: dict[Tense, float] = {"present": 5, "past": 4, "future": 2}
    if not verb.flags & {"s", "n"}:
        options["progressive"] = 4
        if not dice.simple:
            options["was doing"] = 1.5
    if not dice.simple and "s" not in verb.flags:
        options["going to"] = 1
    if "s" in verb.flags and verb.objects:
        del options["future"]
    if polarity in ("never", "no longer"):
        options = {"present": 5, "future": 1} if "future" in options else {"present": 1}
    # "They read" might be now or then, "he reads" and "he read" might not: the past keeps the form.
    if (
        verb.english.base == verb.english.past
        and subject.english not in ("he", "she", "it")
        and polarity != "not"
    ):
        options = {key: weight for key, weight in options.items() if key != "present"} or {"future": 1}
    return dice.rng.choices(list(options), list(options.values()))[0]


def draw_after(dice: Dice, subject: Subject, action: Action, tense: Tense, busy: bool) -> Both:
    """A place, a time or a manner, or most often nothing."""
    verb = action.verb
    if (
        "a" in verb.flags
        and verb.infinitive != "dormir"
        and not busy
        and action.object is None
        and dice.chance(0.15)
    ):
        return expression(dice, dice.pick(dice.lexicon.names["manner"]))
    if verb.infinitive in _TO_SOMEBODY and action.recipient is None and dice.chance(0.8):
        return recipient(dice, subject)
    if "l" in verb.flags and tense != "perfect" and dice.chance(0.25):
        return draw_place(dice)
    if not verb.flags & {"s", "t"} and not busy and dice.chance(0.2):
        return draw_time(dice, tense, habitual=not verb.objects or "l" in verb.flags)
    return NOTHING


def draw_time(dice: Dice, tense: Tense, *, habitual: bool) -> Both:
    """When, as suits the tense; or nothing."""
    names = dice.lexicon.names
    kind = _TIMES[tense]
    if not kind:
        return NOTHING
    if kind == "habit" and not habitual:
        return NOTHING
    if not dice.simple and tense in ("past", "future"):
        if dice.chance(0.15):
            return expression(dice, dice.pick(names["calendar"]))
        if dice.chance(0.15):
            return hour(dice)
    return expression(dice, dice.pick(names[kind]))


def hour(dice: Dice) -> Both:
    """At seven, at noon, after school."""
    if dice.chance(0.5):
        return expression(dice, dice.pick(dice.lexicon.names["hour"]))
    link, count = dice.link(), dice.rng.randint(1, 11)
    hours = linked(french.number(count, "f"), link) + linked("heures" if count > 1 else "heure", link)
    return related(dice, "at", Both(linked(english.number(count), link), hours))


def expression(dice: Dice, name: Name) -> Both:
    """An expression that never changes."""
    link = dice.link()
    return Both(linked(name.english, link), linked(name.french, link))


def draw_place(dice: Dice) -> Both:
    """Where something happens."""
    kind = dice.weighted(inside=35, at=30, fixed=15, city=10, country=0 if dice.simple else 6)
    if kind == "inside":
        return at_place(dice, "in", _definite(dice, "room", "area"))
    if kind == "at":
        return at_place(dice, "at", _definite(dice, "goal"))
    if kind == "city":
        return city(dice, "in")
    if kind == "country":
        return country(dice, "in")
    return expression(dice, dice.pick(dice.lexicon.names["place"]))


def _definite(dice: Dice, *classes: str) -> NounPhrase:
    return build(dice, dice.noun_of(*classes), "the")


def at_place(dice: Dice, relation: str, found: NounPhrase) -> Both:
    """A preposition and its noun phrase."""
    after_de = _RELATIONS[relation][-1] == "de"
    return related(dice, relation, found.both("after de" if after_de else "plain"))


def related(dice: Dice, relation: str, what: Both) -> Both:
    """A preposition before anything."""
    link = dice.link()
    words = tuple(Word(text, (link,), "d'" if text == "de" else "") for text in _RELATIONS[relation])
    return Both(linked(relation, link), words) + what


def city(dice: Dice, relation: str) -> Both:
    """In, to or from a city."""
    link = dice.link()
    preposition = Word("de", (link,), "d'") if relation == "from" else Word("à", (link,))
    return Both(linked(relation, link), (preposition,)) + expression(
        dice, dice.pick(dice.lexicon.names["city"])
    )


def country(dice: Dice, relation: str) -> Both:
    """In, to or from a country: en France, au Canada, aux États-Unis, à Cuba; de France, du Canada."""
    name = dice.pick(dice.lexicon.names["country"])
    link = dice.link()
    what = Both(linked(name.english, link), linked(name.french, link))
    where = dice.link()
    en = name.gender == "f" or (name.gender == "m" and begins_with_vowel(name.french[0]))
    article: tuple[Word, ...] = ()
    if not en and name.gender != "0":
        article = (french.definite(name.gender[0], name.gender.endswith("p"), link),)
    if relation == "from":
        preposition = Word("de", (where,), before_vowel="d'")
    else:
        preposition = Word("en" if en else "à", (where,))
    return Both(linked(relation, where), (preposition, *article)) + what


def recipient(dice: Dice, giver: Subject) -> Both:
    """To somebody else: to Paul, to my sister."""
    name = single_name(dice).words
    known = {word.text for word in giver.words.english}
    if dice.chance(0.5) and name.english[0].text not in known:
        return related(dice, "to", name)
    return at_place(dice, "to", known_phrase(dice, dice.noun_of("people")))


def pronoun_object(dice: Dice, verb: Verb, subject: Subject) -> Pronoun | None:
    """Somebody as a pronoun, if the verb takes people."""
    takes_people = any(nouns[0].kind in PEOPLE for nouns in dice.lexicon.objects[verb])
    if not takes_people or (verb.preposition and "i" not in verb.flags):
        return None
    return draw_pronoun(dice, subject)
