"""Every kind of trouble a line can have, and those that a line shows by itself."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["fatal", "warn", "info"]

KINDS: dict[str, tuple[Severity, str]] = {
    "empty": ("warn", "nothing but white space"),
    "one side empty": ("warn", "a text without a translation"),
    "duplicate": ("warn", "the same as an earlier line"),
    "copy": ("warn", "a translation that equals its source"),
    "length ratio": ("warn", "one side is far longer than the other"),
    "overlong": ("warn", "more characters than a sentence has"),
    "replacement character": ("warn", "U+FFFD, left where an earlier conversion lost text"),
    "mojibake": ("warn", "UTF-8 that was once read as another encoding, such as Ã© for é"),
    "wrong script": ("warn", "mostly letters of another script than the rest of this side"),
    "in validation": ("warn", "the whole line is also in the validation corpus"),
    "source in validation": ("warn", "its source is also in the validation corpus"),
    "several targets": ("info", "its source also occurs with another translation or label"),
    "control character": ("info", "the normaliser drops it"),
    "invisible character": ("info", "zero-width or bidi characters"),
    "not NFC": ("info", "the normaliser composes it"),
}
"""Every finding about a line: its weight and what it means. A line's findings are bits in this order."""

BIT = {kind: 1 << place for place, kind in enumerate(KINDS)}
DROPPED = sum(BIT[kind] for kind, (severity, _) in KINDS.items() if severity == "warn")
"""The findings for which a line is left out."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_INVISIBLE = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_REST = (
    "[\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]"  # a byte after the first, as Latin-1 or Windows-1252 show it
)
_MOJIBAKE = re.compile(f"Â[\u0080-\u00bf]|Ã{_REST}|(?:[ÐÑ]{_REST}){{2}}|â[€\u0080]{_REST}|ðŸ{_REST}")
_NO_WIDTH = str.maketrans("", "", "\u200b\ufeff")


@dataclass(frozen=True)
class Limits:
    """Where a line begins to be odd."""

    max_characters: int = 2000
    """Longest side that is still a sentence."""
    max_ratio: float = 9.0
    """Largest ratio of the lengths of the two sides, in characters."""
    ratio_from: int = 20
    """A ratio tells something only if the longer side has this many characters."""


def kinds_of(bits: int) -> tuple[str, ...]:
    """The names of a line's findings."""
    return tuple(kind for kind, bit in BIT.items() if bits & bit)


def look_at(texts: Sequence[str], limits: Limits) -> int:
    """The findings that the texts of one line show without looking at other lines."""
    blank = [not text.translate(_NO_WIDTH).strip() for text in texts]
    if all(blank):
        return BIT["empty"]
    if any(blank):
        return BIT["one side empty"]
    bits = 0
    lengths = sorted(map(len, texts))
    if lengths[-1] > limits.max_characters:
        bits |= BIT["overlong"]
    if len(texts) > 1:
        if lengths[-1] >= limits.ratio_from and lengths[-1] > limits.max_ratio * lengths[0]:
            bits |= BIT["length ratio"]
        if texts[0].strip() == texts[1].strip() and any(
            map(str.isalpha, texts[0])
        ):  # numbers stay as they are
            bits |= BIT["copy"]
    for text in texts:
        bits |= _look_at_characters(text)
    return bits


def _look_at_characters(text: str) -> int:
    bits = BIT["control character"] if _CONTROL.search(text) else 0
    if text.isascii():
        return bits
    if "\ufffd" in text:
        bits |= BIT["replacement character"]
    if _MOJIBAKE.search(text):
        bits |= BIT["mojibake"]
    if _INVISIBLE.search(text):
        bits |= BIT["invisible character"]
    if not unicodedata.is_normalized("NFC", text):
        bits |= BIT["not NFC"]
    return bits
