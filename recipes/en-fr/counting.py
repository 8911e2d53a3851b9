"""Numbers for the shipped model: the public pairs have few in digits, and those are always the same.

A number that stands on both sides is given other digits, or digits for its word; sentences that count, tell
the time, the date and the price are written as well. What follows a number is a plural on both sides, so no
number is below two.
"""

import random
import re
import tomllib
from pathlib import Path

_NOUNS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
YEAR_DIGITS = 4
WORDS = {
    "three": "trois",
    "four": "quatre",
    "five": "cinq",
    "six": "six",
    "seven": "sept",
    "eight": "huit",
    "nine": "neuf",
    "ten": "dix",
    "eleven": "onze",
    "twelve": "douze",
    "fifteen": "quinze",
    "twenty": "vingt",
    "thirty": "trente",
    "forty": "quarante",
    "fifty": "cinquante",
}
_OTHER = "one|two|first|second|third|hundred|thousand|million|half|quarter|dozen"
_AUTRES = "un|une|deux|premiers?|cent|cents|mille|millions?|demie?|quart|douzaine"

_NUMBER = re.compile(r"(?<![\d.,:])\d{2,}(?![\d.,:]*\d)")
_ENGLISH = re.compile(rf"(?<![\w-])(?:{'|'.join(WORDS)}|{_OTHER}|\d+)(?![\w-])")
_FRENCH = re.compile(rf"(?<![\w-])(?:{'|'.join(WORDS.values())}|{_AUTRES}|\d+)(?![\w-])")
_HOUR = re.compile(r"o'clock|heures?\b|\b[ap]\.?m\b")
_MOST_HOURS = 12

Pair = tuple[str, str]


def renumbered(english: str, french: str, dice: random.Random) -> Pair:
    """The pair with another number of as many digits, where both sides have the same single one."""
    here, there = (_NUMBER.findall(text) for text in (english, french))
    if len(here) != 1 or here != there:
        return english, french
    digits = "".join(str(dice.randint(1 if i == 0 else 0, 9)) for i in range(len(here[0])))
    if len(digits) == YEAR_DIGITS:  # most of these are years
        digits = str(dice.randint(1800, 2030))
    return _NUMBER.sub(digits, english), _NUMBER.sub(digits, french)


def in_digits(english: str, french: str, dice: random.Random) -> Pair | None:
    """The pair with digits for the one number that it has in words; None where it is no such pair."""
    here, there = _ENGLISH.findall(english), _FRENCH.findall(french)
    articles = [word for word in there if word not in ("un", "une")]
    if len(here) != 1 or here[0] not in WORDS or articles != [WORDS[here[0]]]:
        return None
    clock = _HOUR.search(english) or _HOUR.search(french)
    number = str(dice.randint(2, _MOST_HOURS)) if clock else _quantity(dice)
    return _ENGLISH.sub(number, english), re.sub(rf"(?<![\w-]){articles[0]}(?![\w-])", number, french)


def counted(count: int, dice: random.Random) -> list[Pair]:
    """Sentences that count, measure, and say when."""
    found: dict[Pair, None] = {}
    kinds = (_having, _having, _living, _measuring, _timing, _timing, _dating, _naming)
    while len(found) < count:
        found[dice.choice(kinds)(dice)] = None
    return list(found)


def _quantity(dice: random.Random) -> str:
    """Small numbers are the most frequent."""
    return str(
        dice.choice((dice.randint(2, 9), dice.randint(2, 30), dice.randint(10, 99), dice.randint(100, 999)))
    )


def _of(dice: random.Random, *groups: str) -> Pair:
    """A noun on both sides."""
    return dice.choice(list(_NOUNS[dice.choice(groups)].items()))


def _having(dice: random.Random) -> Pair:
    (noun, nom), (more, plus) = _of(dice, "things", "animals", "food"), _of(dice, "things", "food")
    n, m = _quantity(dice), _quantity(dice)
    (book, livre) = _of(dice, "things")
    (eaten, mangé), price = _of(dice, "food"), _quantity(dice)
    pairs = [
        (f"I have {n} {noun}.", f"J'ai {n} {nom}."),
        (f"We have {n} {noun} and {m} {more}.", f"Nous avons {n} {nom} et {m} {plus}."),
        (f"She bought {n} {noun}.", f"Elle a acheté {n} {nom}."),
        (f"He bought {n} {noun} and {m} {more}.", f"Il a acheté {n} {nom} et {m} {plus}."),
        (f"They have {n} {noun}.", f"Ils ont {n} {nom}."),
        (f"I saw {n} {noun}.", f"J'ai vu {n} {nom}."),
        (f"I need {n} {noun}.", f"J'ai besoin de {n} {nom}."),
        (f"We need {n} more {noun}.", f"Nous avons besoin de {n} {nom} de plus."),
        (f"He doesn't have {n} {noun}.", f"Il n'a pas {n} {nom}."),
        (f"Do you have {n} {noun}?", f"Avez-vous {n} {nom} ?"),
        (f"Give me {n} {noun}.", f"Donnez-moi {n} {nom}."),
        (f"There are {n} {noun} here.", f"Il y a {n} {nom} ici."),
        (f"There are {n} {book} on the table.", f"Il y a {n} {livre} sur la table."),
        (f"He ate {n} {eaten}.", f"Il a mangé {n} {mangé}."),
        (f"I paid {price} dollars for {n} {book}.", f"J'ai payé {price} dollars pour {n} {livre}."),
        (f"These {n} {book} cost {price} euros.", f"Ces {n} {livre} coûtent {price} euros."),
    ]
    return dice.choice(pairs)


def _living(dice: random.Random) -> Pair:
    (noun, nom), (while_, durée) = _of(dice, "people"), _of(dice, "time")
    n, age = _quantity(dice), dice.randint(2, 99)
    pairs = [
        (f"There are {n} {noun} here.", f"Il y a {n} {nom} ici."),
        (f"There were {n} {noun} in the room.", f"Il y avait {n} {nom} dans la pièce."),
        (f"There were {n} of us.", f"Nous étions {n}."),
        (f"There are {n} of them.", f"Il y en a {n}."),
        (f"I know {n} {noun} in this town.", f"Je connais {n} {nom} dans cette ville."),
        (f"She is {age} years old.", f"Elle a {age} ans."),
        (f"My son is {age} years old.", f"Mon fils a {age} ans."),
        (f"We waited for {n} {while_}.", f"Nous avons attendu {n} {durée}."),
        (f"I'll be back in {n} {while_}.", f"Je serai de retour dans {n} {durée}."),
        (f"He worked here for {n} {while_}.", f"Il a travaillé ici pendant {n} {durée}."),
        (f"I don't have {n} minutes.", f"Je n'ai pas {n} minutes."),
        (f"It takes {n} {while_}.", f"Ça prend {n} {durée}."),
    ]
    return dice.choice(pairs)


def _measuring(dice: random.Random) -> Pair:
    unit, unité = _of(dice, "measures")
    n, tenth = _quantity(dice), dice.randint(1, 9)
    small = dice.randint(2, 40)
    pairs = [
        (f"It is {n} {unit}.", f"Ça fait {n} {unité}."),
        (f"It costs {n} euros.", f"Ça coûte {n} euros."),
        (f"It costs ${n}.", f"Ça coûte {n} dollars."),
        (f"I paid {n} dollars.", f"J'ai payé {n} dollars."),
        (f"He owes me {n} euros.", f"Il me doit {n} euros."),
        (f"It weighs {n} kilos.", f"Ça pèse {n} kilos."),
        (f"It weighs {small}.{tenth} kilos.", f"Ça pèse {small},{tenth} kilos."),
        (f"It costs {small}.{tenth}0 euros.", f"Ça coûte {small},{tenth}0 euros."),
        (f"It is {n} kilometers from here.", f"C'est à {n} kilomètres d'ici."),
        (f"He ran {small}.{tenth} kilometers.", f"Il a couru {small},{tenth} kilomètres."),
        (f"It is {small} degrees today.", f"Il fait {small} degrés aujourd'hui."),
        (f"Only {n}% came.", f"Seuls {n} % sont venus."),
        (f"Prices rose by {small}%.", f"Les prix ont augmenté de {small} %."),
    ]
    return dice.choice(pairs)


def _timing(dice: random.Random) -> Pair:
    hour, minute = dice.randint(2, 12), dice.randint(1, 59)
    clock, heure = f"{hour}:{minute:02}", f"{hour} h {minute:02}"
    exact = dice.random()
    if exact < 0.2:
        clock, heure = f"{hour}:00", f"{hour} h"
    elif exact < 0.4:
        clock, heure = f"{hour} o'clock", f"{hour} heures"
    things = ("train", "train"), ("bus", "bus"), ("plane", "avion"), ("boat", "bateau")
    events = (
        ("The meeting", "La réunion"),
        ("The lesson", "Le cours"),
        ("The film", "Le film"),
        ("The concert", "Le concert"),
        ("School", "L'école"),
    )
    (thing, chose), (event, chacun) = dice.choice(things), dice.choice(events)
    le = "L'" if chose[0] == "a" else "Le "
    pairs = [
        (f"The {thing} leaves at {clock}.", f"{le}{chose} part à {heure}."),
        (f"The {thing} arrives at {clock}.", f"{le}{chose} arrive à {heure}."),
        (f"The {thing} comes at {clock}.", f"{le}{chose} passe à {heure}."),
        (f"{event} begins at {clock}.", f"{chacun} commence à {heure}."),
        (f"{event} starts at {clock}.", f"{chacun} commence à {heure}."),
        (f"{event} ends at {clock}.", f"{chacun} finit à {heure}."),
        (f"{event} is at {clock}.", f"{chacun} est à {heure}."),
        (f"It is {clock}.", f"Il est {heure}."),
        (f"I get up at {clock}.", f"Je me lève à {heure}."),
        (f"He came home at {clock}.", f"Il est rentré à {heure}."),
        (f"We have dinner at {clock}.", f"Nous dînons à {heure}."),
        (f"Let's meet at {clock}.", f"Retrouvons-nous à {heure}."),
        (f"Come before {clock}.", f"Venez avant {heure}."),
        (f"The shop is open until {clock}.", f"Le magasin est ouvert jusqu'à {heure}."),
    ]
    return dice.choice(pairs)


def _dating(dice: random.Random) -> Pair:
    month, mois = dice.choice(list(_NOUNS["months"].items()))
    day, year = dice.randint(2, 31), dice.randint(1800, 2030)
    ending = {2: "nd", 3: "rd", 22: "nd", 23: "rd", 21: "st", 31: "st"}.get(day, "th")
    dated = dice.choice((f"{month} {day}{ending}", f"{month} {day}", f"the {day}{ending} of {month}"))
    pairs = [
        (f"We arrived on {dated}.", f"Nous sommes arrivés le {day} {mois}."),
        (f"My birthday is on {dated}.", f"Mon anniversaire est le {day} {mois}."),
        (f"Today is {dated}.", f"Aujourd'hui, nous sommes le {day} {mois}."),
        (f"He was born on {dated}, {year}.", f"Il est né le {day} {mois} {year}."),
        (f"She was born on {month} {day}, {year}.", f"Elle est née le {day} {mois} {year}."),
        (f"I'm leaving on {dated}.", f"Je pars le {day} {mois}."),
        (f"In {year}, he lived here.", f"En {year}, il vivait ici."),
        (f"It was in {month} {year}.", f"C'était en {mois} {year}."),
    ]
    return dice.choice(pairs)


def _naming(dice: random.Random) -> Pair:
    n, page = _quantity(dice), dice.randint(2, 500)
    phone = f"{dice.randint(100, 999)} {dice.randint(1000, 9999)}"
    pairs = [
        (f"My phone number is {phone}.", f"Mon numéro de téléphone est le {phone}."),
        (f"Call {phone}.", f"Appelez le {phone}."),
        (f"Take bus number {n}.", f"Prenez le bus numéro {n}."),
        (f"My room number is {n}.", f"Mon numéro de chambre est le {n}."),
        (f"She lives at number {n}.", f"Elle habite au numéro {n}."),
        (f"Open your books to page {page}.", f"Ouvrez vos livres à la page {page}."),
        (f"Read chapter {n}.", f"Lisez le chapitre {n}."),
        (f"We are on page {page}.", f"Nous sommes à la page {page}."),
    ]
    return dice.choice(pairs)
