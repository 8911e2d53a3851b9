"""English forms: plurals, verbs, articles, comparatives, numbers and contractions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from glassformer.text.phrasebook.words import Word, listed

_VOWEL_SOUND = re.compile(r"(?:[aeiouéAEIOU]|hour|honest)")
_YOO_SOUND = re.compile(r"(?:uni|use|uku|uti|eu|one|ukr)", re.IGNORECASE)
_SHORT = re.compile(r"[^aeiou]*[aeiou][bdfgklmnprtvz]\Z")
_STRESSED_LAST = ("begin", "forget", "admit", "regret", "permit", "refer", "prefer", "control")
_TEENS = listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_TENS = listed("twenty thirty forty fifty sixty seventy eighty ninety")
_CAN_CONTRACT_NOT = listed("do does did is are was were has have had could would must")
_CLITICS = {"am": "'m", "is": "'s", "are": "'re", "will": "'ll"}
_CAN_TAKE_CLITIC = listed("I you he she it we they")


@dataclass(frozen=True, slots=True)
class EnglishVerb:
    """The principal parts of a verb."""

    base: str
    past: str
    participle: str

    @property
    def third(self) -> str:
        """The form with he, she and it."""
        return {"have": "has", "be": "is", "do": "does", "go": "goes"}.get(self.base) or _with_s(self.base)

    @property
    def ing(self) -> str:
        """The form of the progressive."""
        if self.base.endswith("ie"):
            return self.base[:-2] + "ying"
        if self.base.endswith("e") and not self.base.endswith("ee") and self.base != "be":
            return self.base[:-1] + "ing"
        return _doubled(self.base) + "ing"


def verb_forms(text: str) -> EnglishVerb:
    """The parts from ``eat/ate/eaten``, or by rule from ``open``."""
    parts = text.split("/")
    if len(parts) == 3:
        return EnglishVerb(*parts)
    base = parts[0]
    if base.endswith("e"):
        past = base + "d"
    elif base.endswith("y") and base[-2] not in "aeiou":
        past = base[:-1] + "ied"
    else:
        past = _doubled(base) + "ed"
    return EnglishVerb(base, past, past)


def _doubled(base: str) -> str:
    return base + base[-1] if _SHORT.match(base) or base in _STRESSED_LAST else base


def _with_s(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def plural(noun: str) -> str:
    """The regular plural; of several words the head before "of" changes, else the last."""
    head, of, rest = noun.partition(" of ")
    return _with_s(head) + of + rest


def article(following: str) -> str:
    """A or an, by the sound of the word that follows."""
    return "an" if _VOWEL_SOUND.match(following) and not _YOO_SOUND.match(following) else "a"


def compared(adjective: str) -> str:
    """bigger, happier, nicer: the comparative in -er."""
    if adjective.endswith("e"):
        return adjective + "r"
    if adjective.endswith("y") and adjective[-2] not in "aeiou":
        return adjective[:-1] + "ier"
    return _doubled(adjective) + "er"


def number(n: int) -> str:
    """The number in words, from 0 to 100."""
    if n == 100:
        return "one hundred"
    if n < 20:
        return _TEENS[n]
    tens, unit = divmod(n, 10)
    return _TENS[tens - 2] + (f"-{_TEENS[unit]}" if unit else "")


def contract(words: Sequence[Word]) -> tuple[Word, ...]:
    """The same words as they are spoken: don't, can't, I'm, we'll."""
    spoken: list[Word] = []
    for i, word in enumerate(words):
        before = spoken[-1].text if spoken else ""
        final = i + 1 == len(words) or words[i + 1].text in (".", "?", "!", ",")
        if word.text == "not" and before == "will":
            spoken[-1] = Word("won't", spoken[-1].links + word.links)
        elif word.text == "not" and before.lower() in _CAN_CONTRACT_NOT and not final:
            spoken[-1] = Word(before + "n't", spoken[-1].links + word.links)
        elif word.text == "cannot":
            spoken.append(Word("can't", word.links))
        elif before in _CAN_TAKE_CLITIC and word.text in _CLITICS and not final and not _negated(words, i):
            spoken.append(Word(_CLITICS[word.text], word.links))
        else:
            spoken.append(word)
    return tuple(spoken)


def _negated(words: Sequence[Word], i: int) -> bool:
    """Whether "not" takes the contraction (he isn't) that the pronoun would (he's); only "am" has no n't."""
    return words[i].text != "am" and words[i + 1].text == "not"
