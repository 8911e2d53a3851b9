"""Scripts: told by most of the letters."""

import pytest

from glassformer.text.scripts import SCRIPTS, script_of


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("A dog.", "latin"),
        ("Él está", "latin"),
        ("Ａｂｃ", "latin"),
        ("Привет, мир!", "cyrillic"),
        ("日本語です。カタカナ", "east asian"),
        ("ｶﾅ", "east asian"),
        ("שלום", "hebrew"),
        ("ꦗꦮ", "other"),
        ("한국어", "hangul"),
        ("Привет world!", "cyrillic"),
        ("вы ab", "none"),
        ("42 % …", "none"),
        ("42", "none"),
        ("", "none"),
    ],
)
def test_the_script_of_most_letters(text: str, script: str) -> None:
    assert SCRIPTS[script_of(text)] == script
