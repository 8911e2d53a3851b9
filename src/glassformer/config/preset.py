"""Named architectures. They are data: one TOML file each, beside this module."""

import tomllib
from importlib.resources import files

from glassformer.errors import ConfigError, suggest

_FOLDER = files("glassformer.config") / "presets"


def preset_names() -> list[str]:
    """Every preset there is."""
    return sorted(
        entry.name.removesuffix(".toml") for entry in _FOLDER.iterdir() if entry.name.endswith(".toml")
    )


def preset_table(name: str) -> dict[str, object]:
    """The keys of a preset. A file may begin ``base = "other"`` and then says only what differs."""
    table = _read(name)
    base = table.pop("base", None)
    return table if base is None else _read(str(base)) | table


def _read(name: str) -> dict[str, object]:
    names = preset_names()
    if name not in names:
        raise ConfigError(
            f"there is no preset {name!r}{suggest(name, names) or '; choose from ' + ', '.join(names)}"
        )
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
