"""Names for the shipped model: the public pairs know Tom, Mary and Boston; users are called something else.

A pair in which such a name stands once for once on both sides is given another name, of the same gender, so
that French agreement holds; *de* and *que* lose their vowel where the new name begins with one. Short
introductions are written as well.
"""

import random
import re
import tomllib
from pathlib import Path

_LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
MEN: list[str] = _LISTS["men"]
WOMEN: list[str] = _LISTS["women"]
TOWNS: dict[str, str] = {**{name: name for name in _LISTS["towns"]}, **_LISTS["towns_in_french"]}
KEPT = 0.4
"""How many of the pairs keep the names, and how many the numbers, that they have."""
NUMBERS = ("two deux", "three trois", "four quatre", "five cinq", "six six", "seven sept", "eight huit")

_KNOWN = {"Tom": MEN, "John": MEN, "Mary": WOMEN, "Sarah": WOMEN, "Boston": list(TOWNS)}
_WORDS = {name: re.compile(rf"\b{name}\b") for name in {*_KNOWN, *TOWNS.values(), "Marie"}}
_BEFORE = re.compile(r"\b([Dd]|[Qq]u|[Jj]usqu|[Ll]orsqu|[Pp]uisqu)e (?=[AEIOUY]\w)")


def elide(french: str) -> str:
    """*de Anna* is *d'Anna*; before Y the vowel stays, as in *de Yasmin*."""
    return _BEFORE.sub(lambda found: f"{found[1]}'" if french[found.end()] != "Y" else found[0], french)


def renamed(english: str, french: str, dice: random.Random) -> tuple[str, str]:
    """The pair with other names, where that can be done safely; else as it is."""
    for known, others in _KNOWN.items():
        found = _WORDS[known].findall(english)
        there = "Marie" if known == "Mary" and _WORDS["Marie"].search(french) else known
        if not found or len(found) != len(_WORDS[there].findall(french)) or f"d'{there}" in french:
            continue
        name = dice.choice(others)
        if name in english:
            continue
        english = _WORDS[known].sub(name, english)
        french = elide(_WORDS[there].sub(TOWNS.get(name, name), french))
    return english, french


def introductions(count: int, dice: random.Random) -> list[tuple[str, str]]:
    """People who say who they are, where they live, and how old, large and dear things are."""
    found: dict[tuple[str, str], None] = {}
    while len(found) < count:
        town, ville = dice.choice(list(TOWNS.items()))
        (few, peu), (more, plus) = (word.split() for word in dice.sample(NUMBERS, 2))
        year, age, pages = dice.randint(1900, 2025), dice.randint(12, 95), dice.randint(101, 999)
        man, woman = dice.choice(MEN), dice.choice(WOMEN)
        someone, other = dice.sample((man, woman), 2)
        born = "né" if someone == man else "née"
        pairs = [
            (f"My name is {someone}.", f"Je m'appelle {someone}."),
            (f"Hello, my name is {someone}.", f"Bonjour, je m'appelle {someone}."),
            (
                f"My name is {someone} and I live in {town}.",
                f"Je m'appelle {someone} et je vis à {ville}.",
            ),
            (f"My name is {someone} and I am {age} years old.", f"Je m'appelle {someone} et j'ai {age} ans."),
            (f"What is your name? My name is {someone}.", f"Comment t'appelles-tu ? Je m'appelle {someone}."),
            (f"This is my friend {man}.", f"C'est mon ami {man}."),
            (f"This is my friend {woman}.", f"C'est mon amie {woman}."),
            (f"My sister's name is {woman}.", f"Ma sœur s'appelle {woman}."),
            (f"My brother {man} works in {town}.", f"Mon frère {man} travaille à {ville}."),
            (f"My sister {woman} lives in {town}.", f"Ma sœur {woman} vit à {ville}."),
            (f"{someone} comes from {town}.", f"{someone} vient de {ville}."),
            (f"{someone} and {other} live in {town}.", f"{someone} et {other} vivent à {ville}."),
            (f"I met {someone} in {town}.", f"J'ai rencontré {someone} à {ville}."),
            (f"Do you know {someone}?", f"Connais-tu {someone} ?"),
            (f"{someone} was born in {town} in {year}.", f"{someone} est {born} à {ville} en {year}."),
            (f"I have lived in {town} for {few} years.", f"Je vis à {ville} depuis {peu} ans."),
            (f"{someone} is {age} years old.", f"{someone} a {age} ans."),
            (f"He has {few} brothers and {more} sisters.", f"Il a {peu} frères et {plus} sœurs."),
            (f"{someone} has {few} sons and {more} daughters.", f"{someone} a {peu} fils et {plus} filles."),
            (f"I was born in {year}.", f"Je suis né en {year}."),
            (f"We were born in {year}.", f"Nous sommes nés en {year}."),
            (f"This house was built in {year}.", f"Cette maison a été construite en {year}."),
            (f"It happened in {year}.", f"C'est arrivé en {year}."),
            (f"There are {age} students in my class.", f"Il y a {age} élèves dans ma classe."),
            (f"It costs {age} euros.", f"Ça coûte {age} euros."),
            (f"The book has {pages} pages.", f"Le livre a {pages} pages."),
            (f"My room number is {pages}.", f"Mon numéro de chambre est le {pages}."),
            (f"{someone} gave {few} books to {other}.", f"{someone} a donné {peu} livres à {other}."),
        ]
        english, french = dice.choice(pairs)
        found[english, elide(french)] = None
    return list(found)
