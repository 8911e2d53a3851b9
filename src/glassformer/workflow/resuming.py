"""Which settings a resumed run may change: those that leave every later update as it would have been."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from glassformer.config import RunConfig, read
from glassformer.config.layers import overlay
from glassformer.errors import ConfigError

_BLIND = ("noam", "inverse-sqrt", "constant")  # schedules that do not look at the end
FREE_TO_CHANGE: Mapping[str, tuple[str, ...] | None] = {
    "train.steps": _BLIND,
    "train.epochs": _BLIND,
    "train.max_minutes": None,
    "train.patience": None,
    "train.keep_last": None,
    "train.log_every": None,
}
"""Settings that a resume may change, and the schedules under which it may; None: under all."""


def resumable(config: RunConfig, overrides: Mapping[str, Any], path: Path) -> RunConfig:
    """The settings of a run with harmless overrides; a harmful one is refused with its reason."""
    if "preset" in overrides.get("model", {}):
        raise ConfigError("--preset has no meaning for a run that has begun; it keeps its architecture")
    before = config.model_dump(exclude_none=True)
    changed = read(RunConfig, overlay(before, overrides), "--resume with these settings")
    old, new = flat(before), flat(changed.model_dump(exclude_none=True))
    for key, value in new.items():
        schedules = FREE_TO_CHANGE.get(key, ())
        free = schedules is None or config.train.schedule in schedules
        if value != old.get(key) and not free:
            raise ConfigError(
                f"{key} was {_toml(old.get(key))} in this run; "
                f"{_toml(value)} would change the updates to come, so the resume would not be exact",
                f"keep it, or start anew from these weights: "
                f"glassformer train --init-from {path} --set {key}={_toml(value)}",
            )
    return changed


def flat(tables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one: ``train.steps``."""
    found: dict[str, Any] = {}
    for key, value in tables.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return found


def _toml(value: object) -> str:
    """A value as the user would write it."""
    return "unset" if value is None else tomli_w.dumps({"x": value}).removeprefix("x = ").strip()
