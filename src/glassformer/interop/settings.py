"""A foreign config.json: what we ask it for, within bounds, and nothing else of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from glassformer.errors import CheckpointError, suggest

WIDTH, LAYERS, VOCABULARY, LENGTH = 16_384, 256, 2_000_000, 1_000_000
"""Far above any model this library is for, far below what would exhaust a machine."""

IGNORED_CODE = ("auto_map", "custom_pipelines", "model_file", "trust_remote_code")
"""Keys with which a directory asks its reader to run code. They are never followed."""


@dataclass(frozen=True)
class Settings:
    """The keys of a foreign config.json, each read with a type and a range."""

    where: str
    table: Mapping[str, object]

    def size(self, name: str, most: int, default: int | None = None, *, least: int = 1) -> int:
        """A count or a width; required unless there is a default."""
        value = self._given(name, default)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(name, f"an integer from {least} to {most}")
        return value

    def optional_size(self, name: str, most: int) -> int | None:
        """A size that may be left out or null."""
        return None if self.table.get(name) is None else self.size(name, most)

    def number(self, name: str, default: float) -> float:
        """A positive number."""
        value = self._given(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
            raise self.wrong(name, "a positive number")
        return float(value)

    def real(self, name: str, most: float, default: float) -> float:
        """A number of either sign."""
        value = self._given(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not -most <= value <= most:
            raise self.wrong(name, f"a number from {-most:g} to {most:g}")
        return float(value)

    def share(self, name: str, default: float = 0.0) -> float:
        """A probability below 1."""
        value = self._given(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            raise self.wrong(name, "a number from 0 to below 1")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self._given(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def word(self, name: str, known: Sequence[str], default: str | None = None) -> str:
        """One of the words we know."""
        value = self._given(name, default)
        if not isinstance(value, str) or value not in known:
            near = suggest(value, known) if isinstance(value, str) else ""
            raise self.wrong(name, f"one of {', '.join(known)}{near}")
        return value

    def token(self, name: str, vocab_size: int, default: int | None = None) -> int | None:
        """The id of a special token, which the vocabulary must have; None where there is none."""
        value = self.table.get(name)
        if isinstance(value, list) and value:  # several ends: the first is the one that models are trained on
            value = value[0]
        if value is None:
            value = default
        if value is not None and (type(value) is not int or not 0 <= value < vocab_size):
            raise self.wrong(name, f"an id below {vocab_size}")
        return value

    def must(self, name: str, wanted: object, why: str) -> None:
        """Refuse a setting that no switch of ours can follow; leaving it out means the wanted value."""
        value = self.table.get(name, wanted)
        if value != wanted:
            raise CheckpointError(f"{self.where}: {name} = {_shown(value)} cannot be imported; {why}")

    def wrong(self, name: str, expected: str) -> CheckpointError:
        """The error of a value that cannot be meant."""
        if name not in self.table:
            return CheckpointError(f"{self.where}: {name} is missing; expected {expected}")
        shown = _shown(self.table[name])
        return CheckpointError(f"{self.where}: {name} = {shown} is impossible; expected {expected}")

    @property
    def code_keys(self) -> list[str]:
        """The keys that ask for code to be run."""
        return [name for name in IGNORED_CODE if name in self.table]

    def _given(self, name: str, default: object) -> object:
        value = self.table.get(name)
        return default if value is None else value


def _shown(value: object) -> str:
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
