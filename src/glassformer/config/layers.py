"""Settings from several places, the later ones stronger: file, environment, ``--set``, flags."""

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from glassformer.errors import ConfigError

PREFIX = "GLASSFORMER_"

Tables = dict[str, Any]


def overlay(tables: Mapping[str, Any], stronger: Mapping[str, Any]) -> Tables:
    """Both, key by key; where both have a key, the stronger one's value."""
    merged = dict(tables)
    for key, value in stronger.items():
        both_tables = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = overlay(merged[key], value) if both_tables else value
    return merged


def from_environment(environment: Mapping[str, str]) -> Tables:
    """``GLASSFORMER_TRAIN__STEPS=500`` is ``train.steps = 500``."""
    tables: Tables = {}
    for name, text in sorted(environment.items()):
        path = name.removeprefix(PREFIX).lower().split("__")
        if name.startswith(PREFIX) and len(path) > 1:
            tables = overlay(tables, _nested(path, _value(text)))
    return tables


def from_assignments(assignments: Iterable[str]) -> Tables:
    """``train.steps=500`` is itself a line of TOML; a bare word is taken as text."""
    tables: Tables = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        path = key.strip().split(".")
        if not equals or not all(path):
            raise ConfigError(f"--set {assignment}: should be key=value, such as train.steps=500")
        tables = overlay(tables, _nested(path, _value(text.strip())))
    return tables


def _nested(path: list[str], value: object) -> Tables:
    for name in reversed(path):
        value = {name: value}
    return value  # type: ignore[return-value]  # a path has at least one name


def _value(text: str) -> object:
    """A value as TOML reads it; what is no TOML is a word without quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
