"""Forms as LibreTranslate's clients send them, read as the JSON object that they stand for."""

from typing import Any
from urllib.parse import parse_qsl

from glassformer.serving.problems import Problem

FORM = "application/x-www-form-urlencoded"
MOST_FIELDS = 100


def read_form(data: bytes) -> dict[str, Any]:
    """The fields of a form; a ``q`` that occurs several times is a list, ``alternatives`` is a number."""
    try:
        pairs = parse_qsl(
            data.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except (UnicodeDecodeError, ValueError):
        raise Problem("invalid_json", "body: this is no form of UTF-8 text") from None
    fields: dict[str, Any] = {}
    texts = [value for name, value in pairs if name == "q"]
    for name, value in pairs:
        if name in fields and name != "q":
            raise Problem("invalid_json", f"body: the field {name[:40]!r} occurs twice")
        fields[name] = value
    if len(texts) > 1:
        fields["q"] = texts
    if str(fields.get("alternatives", "")).isdecimal():
        fields["alternatives"] = int(fields["alternatives"][:9])
    return fields
