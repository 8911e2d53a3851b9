"""The reference of all settings, docs/settings.md, made from the settings themselves.

``python -m tools.settings_page`` writes it anew; a test holds that the page shows what this makes.
"""

import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from glassformer.config import (
    CorpusFiles,
    DataConfig,
    DecodeConfig,
    ModelConfig,
    Strict,
    TokenizerConfig,
    TrainConfig,
)

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
TABLES: tuple[tuple[str, type[Strict]], ...] = (
    ("data", DataConfig),
    ("tokenizer", TokenizerConfig),
    ("model", ModelConfig),
    ("train", TrainConfig),
    ("decode", DecodeConfig),
)
HEAD = (
    "# Settings\n\n"
    "<!-- Made by python -m tools.settings_page from src/glassformer/config; do not edit. -->\n\n"
    "Settings come from four places, the later ones stronger: a file (`glassformer train glassformer.toml`), "
    "the environment (`GLASSFORMER_TRAIN__STEPS=500`), `--set train.steps=500`, and flags (`--steps 500`).\n"
    "`glassformer init` writes a file with every key, its meaning and its default.\n"
    "A key that does not exist is an error that names the nearest one.\n"
    "`[model]` takes `preset` besides: `tiny`, `small`, `base`, `big`, and the same with `-lm` "
    "(decoder-only) or `-mlm` (encoder-only); other keys replace the preset's values.\n"
)


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for name, config in TABLES:
        parts.append(f"## [{name}]\n\n{first_line(config)}\n\n{table(config)}")
        if config is DataConfig:
            told = "`train` and `valid` are tables of their own, or a path alone, which is `pairs`:"
            parts.append(f"{told}\n\n{table(CorpusFiles)}")
    return "\n".join(parts)


def first_line(config: type[Strict]) -> str:
    """The first sentence of a class."""
    return (config.__doc__ or "").partition("\n")[0]


def table(config: type[Strict]) -> str:
    """One row per key."""
    lines = ["| key | values | default | |", "|---|---|---|---|"]
    for name, field in config.model_fields.items():
        meaning = " ".join((field.description or "").split()).replace("``", "`").replace("|", "\\|")
        lines.append(f"| `{name}` | {values(field.annotation)} | {default(field)} | {meaning} |")
    return "\n".join(lines) + "\n"


def default(field: FieldInfo) -> str:
    """What a key is where nobody says anything."""
    value = field.default
    if value is PydanticUndefined:
        return "–"
    if value is None:
        return "unset"
    if isinstance(value, Strict):
        return "–"
    told = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else None
    return f"`{told or _toml(value)}`"


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def values(annotation: Any) -> str:
    """What a key can be, in words."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return values(get_args(annotation)[0])
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(annotation))
    if origin in (Union, types.UnionType):
        return " or ".join(values(each) for each in get_args(annotation) if each is not type(None))
    if origin is tuple:
        return "list"
    names = {bool: "true, false", int: "whole number", float: "number", str: "text"}
    return names.get(annotation, "table")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
