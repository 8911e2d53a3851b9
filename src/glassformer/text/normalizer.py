"""The normaliser: what every text goes through before it becomes ids.

Text comes back from ids as ``normalise(text)``, exactly. In this order:

1. **Dropped**: control characters that are no white space, U+00AD (soft hyphen), U+200B (zero width space),
   U+FEFF (byte order mark) and the bidi embeddings, overrides and isolates U+202A-202E and U+2066-2069, which
   can make text look other than it reads. Kept: ZWJ, ZWNJ, the marks U+200E and U+200F, variation selectors.
2. **NFC**, so that ``é`` is one thing however it was typed. Nothing is folded that a reader could tell apart:
   full-width digits and half-width kana stay as they are.
3. **Lower case**, only if asked for.
4. **At most 32 combining marks** in a row; the rest are dropped.
5. **White space** of any kind and number (tabs, every sort of line end, U+00A0, U+202F, U+3000 …) becomes one
   space; none is left at either end. So a blank text, whatever it is made of, becomes the empty one.

Doing it twice changes nothing more. It is built of parts of the ``tokenizers`` library and lies inside
tokenizer.json: the file says all of it, and it does not follow the Unicode version of the Python at hand.
"""

import re

from tokenizers import Regex, normalizers

MAX_COMBINING_MARKS = 32

_DROPPED = (
    r"[\x{00}-\x{08}\x{0E}-\x{1B}\x{7F}-\x{84}\x{86}-\x{9F}"
    r"\x{AD}\x{200B}\x{FEFF}\x{202A}-\x{202E}\x{2066}-\x{2069}]+"
)
_SPACES = (
    r"[\x{09}-\x{0D}\x{1C}-\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}"
    r"\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+"
)
_TOO_MANY_MARKS = rf"(?<=\p{{M}}{{{MAX_COMBINING_MARKS}}})\p{{M}}+"

_PLAIN = re.compile("(?:[!-~]+(?: [!-~]+)*)?")


def is_plain(text: str) -> bool:
    """Whether a text is ASCII words and single spaces, which only the folding of case would change."""
    return _PLAIN.fullmatch(text) is not None


def build_normalizer(*, lowercase: bool = False) -> normalizers.Normalizer:
    """The normaliser as a part of a library tokenizer."""
    # Dropping comes before NFC: a character that stood between a letter and its accent keeps them apart.
    # Lower case may undo NFC (U+0130 becomes two characters), hence NFC once more.
    folding = [normalizers.Lowercase(), normalizers.NFC()] if lowercase else []
    return normalizers.Sequence(
        [
            normalizers.Replace(Regex(_DROPPED), ""),
            normalizers.NFC(),
            *folding,
            normalizers.Replace(Regex(_TOO_MANY_MARKS), ""),
            normalizers.Replace(Regex(_SPACES), " "),
            normalizers.Strip(),
        ]
    )
