"""Sentences of facts: ages, homes, names, prices, quantities, the weather and the clock."""

from glassformer.text.phrasebook import english, french
from glassformer.text.phrasebook.clauses import Action, Clause, question, statement
from glassformer.text.phrasebook.conjugation import IL, agree, conjugate
from glassformer.text.phrasebook.dice import Dice
from glassformer.text.phrasebook.drawing import city, country, draw_tense, expression
from glassformer.text.phrasebook.entries import Verb, parse_verb
from glassformer.text.phrasebook.noun_phrases import build
from glassformer.text.phrasebook.patterns_action import closed, of_others
from glassformer.text.phrasebook.people import (
    Subject,
    draw_subject,
    known_phrase,
    phrase_subject,
    pronoun_subject,
    single_name,
)
from glassformer.text.phrasebook.verb_groups import Tense
from glassformer.text.phrasebook.words import Both, Word, linked, listed

_HAVE: Verb = parse_verb("be: avoir ; s")
_LIVE: Verb = parse_verb("live: habiter")
_COME: Verb = parse_verb("come/came/come: venir ; n")
# Mal au cœur is nausea.
_PAINLESS = ("heart", "tongue", "lip", "fingernail", "cheek")
_COST: Verb = parse_verb("cost/cost/cost: coûter ; s")


def is_years_old(dice: Dice) -> Both:
    """Paul is twenty-one years old: Paul a vingt et un ans."""
    subject = draw_subject(dice, [dice.lexicon.nouns["person"], dice.lexicon.nouns["family"]])
    age, years = dice.link(), dice.link()
    n = dice.rng.randint(2, 100)
    after = Both(
        linked(english.number(n), age) + linked("years old", years),
        linked(french.number(n), age) + linked("ans", years),
    )
    tense: Tense = "present" if dice.chance(0.8) else "past"
    return closed(dice, statement(dice, Clause(subject, Action(_HAVE), tense, after=after)))


def lives(dice: Dice) -> Both:
    """Marie lives in London; they come from Canada; Paul was born in Italy."""
    kind = dice.weighted(live=4, come=3, born=3)
    subject = draw_subject(dice, [dice.lexicon.nouns["person"], dice.lexicon.nouns["family"]])
    relation = "from" if kind == "come" else "in"
    where = (city if dice.chance(0.5) else country)(dice, relation)
    if kind == "born":
        return closed(dice, subject.words + _born(dice, subject) + where)
    tense: Tense = "present"
    if kind == "live":
        tense = dice.pick(("present", "present", "was doing", "future"))
    clause = Clause(subject, Action(_LIVE if kind == "live" else _COME), tense, after=where)
    if dice.chance(0.2):
        return closed(dice, question(dice, of_others(dice, clause)), "?")
    return closed(dice, statement(dice, clause))


def _born(dice: Dice, subject: Subject) -> Both:
    link = dice.link()
    was = "were" if subject.english in ("you", "we", "they") else "was"
    finite = conjugate("être").present[subject.person]
    return Both(
        linked(f"{was} born", link), linked((finite, agree("né", subject.gender, subject.plural)), link)
    )


def costs(dice: Dice) -> Both:
    """A price: this book costs twelve euros."""
    found = known_phrase(dice, dice.noun_of("portable", "device", "furniture"), 0.2)
    n = dice.rng.randint(2, 100)
    count, euros = dice.link(), dice.link()
    after = Both(
        linked(english.number(n), count) + linked("euros", euros),
        linked(french.number(n), count) + linked("euros", euros),
    )
    tense: Tense = "future" if found.plural or dice.chance(0.1) else "present"
    return closed(dice, statement(dice, Clause(phrase_subject(found), Action(_COST), tense, after=after)))


def what_color(dice: Dice) -> Both:
    """A question for the color: what color is your car."""
    found = known_phrase(dice, dice.noun_of("vehicle", "clothes", "flower", "furniture"), 0.0)
    what, be, many = dice.link(), dice.link(), found.plural
    start = Both(
        linked("what color", what) + linked("are" if many else "is", be),
        linked("de quelle couleur", what) + linked("sont" if many else "est", be),
    )
    return closed(dice, start + found.both(), "?")


def is_called(dice: Dice) -> Both:
    """Her name is Marie: elle s'appelle Marie."""
    whose = dice.pick(("my", "his", "her"))
    name = single_name(dice)
    while name.gender != ("f" if whose == "her" else "m"):
        name = single_name(dice)
    link = dice.link()
    subject, clitic, person = {"my": ("je", "me", 0), "his": ("il", "se", 2), "her": ("elle", "se", 2)}[whose]
    french_words = (
        Word(subject, (link,)),
        Word(clitic, (link,), before_vowel=clitic[0] + "'"),
        Word(conjugate("appeler").present[person], (link,)),
    )
    return closed(dice, Both(linked(f"{whose} name is", link), french_words) + name.words)


def hurts(dice: Dice) -> Both:
    """My back hurts: j'ai mal au dos."""
    owner = {"my": "I", "his": "he", "her": "she"}
    whose = dice.pick(list(owner))
    subject = pronoun_subject(dice, owner[whose])
    noun = dice.pick(
        [
            n
            for n in dice.lexicon.nouns["body"]
            if n.english not in ("heart", "tongue", "lip", "fingernail", "cheek")
        ]
    )
    plural = noun.english in ("foot", "leg", "eye", "ear", "knee", "tooth") and dice.chance(0.5)
    found = build(dice, noun, "the", plural=plural)
    hurt = dice.link()
    owner_link = subject.words.english[0].links[0]
    english_words = (
        linked(whose, owner_link) + found.english[1:] + linked("hurt" if plural else "hurts", hurt)
    )
    have = conjugate("avoir").present[subject.person]
    french_words = subject.words.french + linked((have, "mal", "à"), hurt) + found.french()
    return closed(dice, Both(english_words, french_words))


def some_of(dice: Dice) -> Both:
    """She drinks a glass of water; they bought two kilos of apples."""
    drink = dice.chance(0.5)
    base = dice.pick(("drink", "order") if drink else ("buy", "eat"))
    verb = next(v for v in dice.lexicon.verbs["transitive"] if v.english.base == base)
    of, measure = dice.link(), dice.link()
    one, many, french_one, french_many, gender = dice.pick(list(_DRINKS) if drink else _FOODS)
    plural = dice.chance(0.3)
    n = dice.rng.randint(2, 6)
    count = dice.link()
    known = _DRINKS[one, many, french_one, french_many, gender] if drink else _WEIGHED
    nouns = dice.lexicon.nouns["drink" if drink else "fruit"]
    what = dice.pick([noun for noun in nouns if noun.english in known])
    inner = build(dice, what, "", plural=what.countable)
    number = Both(linked(english.number(n), count), linked(french.number(n, gender), count))
    if not plural:
        number = Both(linked(english.article(one), count), (french.indefinite(gender, count),))
    head = Both(
        linked(many if plural else one, measure), linked(french_many if plural else french_one, measure)
    )
    link = Both(linked("of", of), (french.de(of),))
    after = number + head + link + Both(inner.english, inner.french("after de"))
    subject = draw_subject(dice, [dice.lexicon.nouns["person"]])
    tense = draw_tense(dice, verb, subject)
    return closed(dice, statement(dice, Clause(subject, Action(verb), tense, after=after)))


_WARM = ("coffee", "tea", "hot chocolate", "herbal tea", "green tea")
_COLD = ("water", "wine", "beer", "juice", "orange juice", "apple juice", "cider", "red wine", "white wine")
_DRINKS = {
    ("glass", "glasses", "verre", "verres", "m"): ("milk", "lemonade", "champagne", *_COLD),
    ("cup", "cups", "tasse", "tasses", "f"): _WARM,
    ("bottle", "bottles", "bouteille", "bouteilles", "f"): ("mineral water", "rum", "champagne", *_COLD),
    ("liter", "liters", "litre", "litres", "m"): ("milk", *_COLD),
}
_WEIGHED = listed("apple pear orange banana cherry strawberry apricot lemon peach plum raspberry fig")
_FOODS = (
    ("kilo", "kilos", "kilo", "kilos", "m"),
    ("pound", "pounds", "livre", "livres", "f"),
    ("box", "boxes", "boîte", "boîtes", "f"),
    ("basket", "baskets", "panier", "paniers", "m"),
)


def weather(dice: Dice) -> Both:
    """It is raining; it was cold yesterday; it will snow tomorrow."""
    name = dice.pick(dice.lexicon.names["weather"])
    verb, *tail = name.french
    it, be = dice.link(), dice.link()
    tense = dice.weighted(present=5, past=2, future=2)
    forms = conjugate(verb)
    finite = {"present": forms.present, "past": forms.imperfect, "future": forms.future}[tense][IL]
    words = name.english[1:]
    start = {"present": "is", "past": "was", "future": "will be"}[tense]
    if tense == "future" and words[0].endswith("ing"):
        start, words = "will", ({"raining": "rain", "snowing": "snow"}[words[0]],)
    english_words = linked("it", it) + linked(start, be) + linked(words, be)
    meaning = Both(english_words, linked("il", it) + linked((finite, *tail), be))
    times = {"present": "present", "past": "past", "future": "future"}[tense]
    if dice.chance(0.6):
        meaning += expression(dice, dice.pick(dice.lexicon.names[times]))
    elif dice.chance(0.5):
        meaning += city(dice, "in")
    return closed(dice, meaning)


def clock(dice: Dice) -> Both:
    """It is half past three: il est trois heures et demie."""
    it, hour, part = dice.link(), dice.link(), dice.link()
    n = dice.rng.randint(1, 11)
    hours = linked((*french.number(n, "f"), "heures" if n > 1 else "heure"), hour)
    said = linked(english.number(n), hour)
    kind = dice.pick(("exact", "half past", "a quarter past", "a quarter to"))
    start = linked("it is", it)
    il = linked("il est", it)
    if kind == "exact":
        return closed(
            dice, Both(start + linked("exactly", part) + said, il + linked("exactement", part) + hours)
        )
    later = {"half past": "et demie", "a quarter past": "et quart", "a quarter to": "moins le quart"}[kind]
    return closed(dice, Both(start + linked(kind, part) + said, il + hours + linked(later, part)))
