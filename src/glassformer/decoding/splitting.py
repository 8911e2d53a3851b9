"""Paragraphs into sentences, by a few rules; nothing is lost, not even white space."""

import re
from collections.abc import Iterable
from typing import NamedTuple

_TITLES = {  # what follows is always the same sentence
    "en": "mr mrs ms dr prof sr jr st gen col lt capt sgt rev hon gov sen rep fig vol vs e.g i.e cf approx",
    "fr": "m mm mme mlle dr pr st ste mgr cf p.ex c.-à-d art vol fig",
    "de": "hr fr dr prof st bzw z.b d.h u.a ca vgl nr abs art bd evtl ggf sog",
    "es": "sr sra srta dr dra dña ud uds prof p.ej núm pág art vol fig",
    "it": "sig sig.ra sig.na dott dott.ssa prof ing avv p.es art vol fig pag",
}
_NEVER_LAST = frozenset(word for words in _TITLES.values() for word in words.split())

_CLOSING = r"""["'”’»›)\]}]"""
_OPENING = "\"'“‘«‹([{¿¡—–-"
_LINE_ENDS = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"

_BREAK = re.compile(
    # A run of marks is looked at once, from its beginning: the search stays linear whatever the text is.
    rf"(?<![.!?…])[.!?…]++{_CLOSING}*+[^\S{_LINE_ENDS}]++"  # marks that need a space
    r"|(?<![。！？｡।۔؟])[。！？｡।۔؟]++[」』”’）】》\"')]*+\s*+"  # marks that need none
    rf"|[{_LINE_ENDS}]\s*+"
)
_LAST_WORD = re.compile(r"[^\s(\[{\"'“‘«]{1,20}$")


class Segment(NamedTuple):
    """A sentence and the white space after it."""

    text: str
    space: str


def split_sentences(text: str, language: str | None = None) -> list[Segment]:
    """The sentences of a text; ``join`` gives the text back, character for character.

    Every line ends a sentence. A full stop does not, after a title, an initial or an abbreviation of
    English, French, German, Spanish or Italian, nor before a small letter; in German (``de``) not after a
    number either. White space at the beginning is a segment without text.
    """
    lead = text[: len(text) - len(text.lstrip())]
    segments = [Segment("", lead)] if lead else []
    start = len(lead)
    for match in _BREAK.finditer(text, start):
        if match.end() == len(text) or _ends_sentence(text, match, language):
            _append(segments, text[start : match.end()])
            start = match.end()
    if start < len(text):
        _append(segments, text[start:])
    return segments


def join(segments: Iterable[Segment]) -> str:
    """The text that segments were cut from."""
    return "".join(segment.text + segment.space for segment in segments)


def _append(segments: list[Segment], chunk: str) -> None:
    bare = chunk.rstrip()
    if bare or not segments:
        segments.append(Segment(bare, chunk[len(bare) :]))
    else:  # only white space: it belongs to the sentence before
        segments[-1] = Segment(segments[-1].text, segments[-1].space + chunk)


def _ends_sentence(text: str, match: re.Match[str], language: str | None) -> bool:
    mark = match.group()[0]
    if mark not in ".!?…":
        return True
    if not _may_begin(text, match.end()):
        return False
    if mark != "." or match.group()[1:2] in (".", "!", "?"):
        return True
    word = _LAST_WORD.search(text, max(0, match.start() - 21), match.start())
    return word is None or not _abbreviates(word.group(), language)


def _may_begin(text: str, at: int) -> bool:
    """Whether a sentence may begin so: not with a small letter, whatever opens before it."""
    following = text[at : at + 4].lstrip(_OPENING)
    return not following[:1].islower()


def _abbreviates(word: str, language: str | None) -> bool:
    small = word.lower()
    if small.isdecimal():
        return language == "de"
    initial = len(word) == 1 and word.isalpha() and word.isupper()
    dotted = re.fullmatch(r"(?:[^\W\d_]\.)+[^\W\d_]", word) is not None  # U.S, z.B
    return initial or dotted or small in _NEVER_LAST
