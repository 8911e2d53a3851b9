"""Which writing system a text is in."""

import unicodedata
from collections import Counter
from functools import lru_cache

SCRIPTS = (
    "none",
    "latin",
    "greek",
    "cyrillic",
    "armenian",
    "hebrew",
    "arabic",
    "devanagari",
    "bengali",
    "gurmukhi",
    "gujarati",
    "tamil",
    "telugu",
    "kannada",
    "malayalam",
    "sinhala",
    "thai",
    "lao",
    "tibetan",
    "myanmar",
    "georgian",
    "hangul",
    "ethiopic",
    "khmer",
    "mongolian",
    "east asian",
    "other",
)
"""Every script that is told apart, by its number; Chinese and Japanese are mixed and count as one."""

_EAST_ASIAN = {"cjk", "hiragana", "katakana", "katakana-hiragana", "bopomofo", "ideographic"}
_LETTERS_LOOKED_AT = 200


def script_of(text: str) -> int:
    """The number of the script of most letters of a text; 0 where it has none, or no clear majority."""
    if text.isascii():
        return SCRIPTS.index("latin") if any(map(str.isalpha, text)) else 0
    letters = [char for char in text if char.isalpha()][:_LETTERS_LOOKED_AT]
    if not letters:
        return 0
    script, count = Counter(map(_script, letters)).most_common(1)[0]
    return script if count > len(letters) / 2 else 0


@lru_cache(maxsize=4096)
def _script(letter: str) -> int:
    # Python knows no scripts, but a letter's name begins with its script: CYRILLIC SMALL LETTER A.
    first = unicodedata.name(letter, "other").lower().replace("fullwidth ", "").replace("halfwidth ", "")
    word = first.split()[0]
    if word in _EAST_ASIAN:
        return SCRIPTS.index("east asian")
    return SCRIPTS.index(word) if word in SCRIPTS else SCRIPTS.index("other")
