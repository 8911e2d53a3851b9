"""Settings on disk, as TOML."""

import tomllib
from pathlib import Path
from typing import Any, TypeVar

import tomli_w

from glassformer.config.strict import Strict, read
from glassformer.errors import ConfigError

S = TypeVar("S", bound=Strict)


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # not UTF-8, or not TOML
        raise ConfigError(f"{path}: {error}") from None


def load(cls: type[S], path: Path) -> S:
    """Settings from a TOML file that says everything ``cls`` requires."""
    return read(cls, read_toml(path), str(path))


def to_toml(config: Strict) -> str:
    """Every value, defaults too: what is read later cannot depend on later defaults."""
    return tomli_w.dumps(config.model_dump(exclude_none=True))


def save(config: Strict, path: Path) -> None:
    """Write a TOML file that ``load`` reads back to the same settings."""
    path.write_text(to_toml(config), encoding="utf-8")
