"""Words that know what they mean: the two halves of a sentence, joined, elided and aligned.

How words are counted (the alignment counts so, and the two ``…_words`` functions recover it from a sentence):

- a word is a run of letters, with its hyphens (``vingt-deux``, ``est-ce``);
- in French an elided word ends in its apostrophe and is a word of its own (``l'`` ``homme``), except inside
  ``aujourd'hui`` and ``presqu'île``;
- in English ``'s``, ``'m``, ``'re`` and ``'ll`` are words of their own, while ``don't`` and its like are one;
- each mark of punctuation is a word.

Joining puts a space between two words, but none after an apostrophe, none before ``.`` or ``,`` and, in
English, none before ``?``, ``!`` or ``'s``. French keeps an ordinary space before ``?`` and ``!``.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

MARK = "*"
"""Stands before a French word that begins with a vowel or an h but takes no elision (``*héros``)."""

_VOWELS = "aàâäeéèêëiîïoôöuùûüyœæh"
_CONTRACTIONS = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}
_FRENCH = re.compile(r"aujourd'hui|presqu'île|(?:qu|[cdjlmnst])'|[^\W_]+(?:-[^\W_]+)*|[.,?!]", re.IGNORECASE)
_ENGLISH = re.compile(r"'(?:s|m|re|ll)\b|[^\W_]+n't\b|[^\W_]+(?:-[^\W_]+)*|[.,?!]")


@dataclass(frozen=True, slots=True)
class Word:
    """One word on one side; words of the two sides that share a link are translations of each other."""

    text: str
    links: tuple[int, ...] = ()
    before_vowel: str = ""
    """The form before a vowel (``l'`` for ``le``, ``bel`` for ``beau``); empty where there is no other."""
    article: bool = False
    """Whether it melts into a preposition (``à le`` → ``au``); the pronoun ``le`` does not."""


@dataclass(frozen=True, slots=True)
class Both:
    """The same piece of meaning in both languages."""

    english: tuple[Word, ...] = ()
    french: tuple[Word, ...] = ()

    def __add__(self, other: "Both") -> "Both":
        return Both(self.english + other.english, self.french + other.french)


NOTHING = Both()
"""No words at all."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A sentence, its translation, and which word became which (see the module for how words are counted)."""

    english: str
    french: str
    english_words: tuple[str, ...]
    french_words: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]
    """Pairs (English index, French index), counted from 0, in ascending order."""


def linked(texts: str | Iterable[str], *links: int) -> tuple[Word, ...]:
    """Words of one text (split at spaces) or of several, all with the same links."""
    parts = texts.split() if isinstance(texts, str) else texts
    return tuple(Word(text, links) for text in parts)


def listed(text: str) -> tuple[str, ...]:
    """The words of a text; for tables that read better as one line."""
    return tuple(text.split())


def begins_with_vowel(text: str) -> bool:
    """Whether a French word asks for elision; a mute h does, a marked word does not."""
    return text[:1].lower() in _VOWELS if text else False


def english_words(sentence: str) -> tuple[str, ...]:
    """The words of an English sentence, as the alignment counts them."""
    return tuple(match.group() for match in _ENGLISH.finditer(sentence))


def french_words(sentence: str) -> tuple[str, ...]:
    """The words of a French sentence, as the alignment counts them."""
    return tuple(match.group() for match in _FRENCH.finditer(sentence))


def join_english(words: Sequence[str]) -> str:
    """The English sentence that these words make."""
    return "".join(w if i == 0 or w[0] in ".,?!'" else f" {w}" for i, w in enumerate(words))


def join_french(words: Sequence[str]) -> str:
    """The French sentence that these words make."""
    glued = [second[0] in ".," or first.endswith("'") for first, second in pairwise(words)]
    return "".join(w if i == 0 or glued[i - 1] else f" {w}" for i, w in enumerate(words))


def elide(words: Sequence[Word]) -> list[Word]:
    """French words with elision, contraction and liaison forms made, the marks of aspirated h gone."""
    following = ""
    elided: list[Word] = []
    for word in reversed(words):
        if word.before_vowel and begins_with_vowel(following):
            word = replace(word, text=word.before_vowel)
        following = word.text
        elided.append(word)
    contracted: list[Word] = []
    for word in reversed(elided):
        if word.article and contracted and (contracted[-1].text, word.text) in _CONTRACTIONS:
            before = contracted.pop()
            text = _CONTRACTIONS[before.text, word.text]
            contracted.append(Word(text, before.links + word.links))
        else:
            contracted.append(replace(word, text=word.text.removeprefix(MARK)))
    return contracted


def phrase(meaning: Both) -> Phrase:
    """The finished sentence pair: French elided, both capitalised, aligned by shared links."""
    english = _capitalised(meaning.english)
    french = _capitalised(elide(meaning.french))
    alignment = tuple(
        (i, j)
        for i, one in enumerate(english)
        for j, other in enumerate(french)
        if set(one.links) & set(other.links)
    )
    english_texts = tuple(word.text for word in english)
    french_texts = tuple(word.text for word in french)
    return Phrase(
        join_english(english_texts), join_french(french_texts), english_texts, french_texts, alignment
    )


def _capitalised(words: Sequence[Word]) -> list[Word]:
    first = words[0]
    return [replace(first, text=first.text[:1].upper() + first.text[1:]), *words[1:]]
