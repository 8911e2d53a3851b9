"""French nouns, adjectives, determiners and numbers: their forms by gender and number."""

from glassformer.text.phrasebook.words import Word, french_words, listed

_LINKERS = ("de", "d'", "à", "au", "aux", "en", "du", "des")
_UNITS = listed(
    "zéro un deux trois quatre cinq six sept *huit neuf dix *onze douze treize quatorze quinze seize"
    " dix-sept dix-huit dix-neuf"
)
_TENS = {20: "vingt", 30: "trente", 40: "quarante", 50: "cinquante", 60: "soixante", 80: "quatre-vingt"}
_POSSESSIVES = {
    "my": ("mon", "ma", "mes"),
    "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"),
    "your": ("votre", "votre", "vos"),
    "their": ("leur", "leur", "leurs"),
}


def plural_noun(words: tuple[str, ...]) -> tuple[str, ...]:
    """The regular plural; of ``machine à laver`` only the head changes, of ``carte postale`` every word."""
    if len(words) > 1 and words[1] in _LINKERS:
        return (plural(words[0]), *words[1:])
    return tuple(plural(word) for word in words)


def plural(word: str) -> str:
    """The regular plural of a noun or masculine adjective."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith(("au", "eu")):
        return word + "x"
    if word.endswith("al"):
        return word[:-1] + "ux"
    return word + "s"


def feminine(adjective: str) -> str:
    """The regular feminine of an adjective."""
    for ending, replacement in (("eux", "euse"), ("if", "ive"), ("ïf", "ïve"), ("er", "ère"), ("en", "enne")):
        if adjective.endswith(ending):
            return adjective.removesuffix(ending) + replacement
    return adjective if adjective.endswith("e") else adjective + "e"


def lexical_words(text: str) -> tuple[str, ...]:
    """The words of an expression in the lexicon; a mark before its first word stays there."""
    words = french_words(text)
    return ("*" + words[0], *words[1:]) if text.startswith("*") else words


def definite(gender: str, plural: bool, *links: int) -> Word:
    """le, la, les."""
    if plural:
        return Word("les", links, article=True)
    return Word("la" if gender == "f" else "le", links, before_vowel="l'", article=True)


def indefinite(gender: str, *links: int) -> Word:
    """un, une."""
    return Word("une" if gender == "f" else "un", links)


def de(*links: int) -> Word:
    """The preposition, d' before a vowel."""
    return Word("de", links, before_vowel="d'")


def demonstrative(gender: str, plural: bool, *links: int) -> Word:
    """ce, cet, cette, ces."""
    if plural:
        return Word("ces", links)
    return Word("cette", links) if gender == "f" else Word("ce", links, before_vowel="cet")


def possessive(owner: str, gender: str, plural: bool, *links: int) -> Word:
    """mon, ma, mes …; ma, ta, sa give way to mon, ton, son before a vowel."""
    masculine, feminine_form, many = _POSSESSIVES[owner]
    if plural:
        return Word(many, links)
    if gender == "f" and masculine != feminine_form:
        return Word(feminine_form, links, before_vowel=masculine)
    return Word(masculine, links)


def number(n: int, gender: str = "m") -> tuple[str, ...]:
    """The number in words, from 0 to 999, as in ``vingt et une``."""
    if n >= 100:
        hundreds, rest = divmod(n, 100)
        head = ("cent",) if hundreds == 1 else (_UNITS[hundreds], "cent" if rest else "cents")
        return (*head, *number(rest, gender)) if rest else head
    if n < 20:
        return ("une",) if n == 1 and gender == "f" else (_UNITS[n],)
    ten = n // 10 * 10
    if ten in (70, 90):
        ten -= 10
    rest = n - ten
    one = "une" if gender == "f" else "un"
    if ten == 80:
        return ("quatre-vingts",) if rest == 0 else (f"quatre-vingt-{one if rest == 1 else _plain(rest)}",)
    if rest in (1, 11):
        return (_TENS[ten], "et", one if rest == 1 else "onze")
    return (_TENS[ten] if rest == 0 else f"{_TENS[ten]}-{_plain(rest)}",)


def _plain(n: int) -> str:
    return _UNITS[n].removeprefix("*")
