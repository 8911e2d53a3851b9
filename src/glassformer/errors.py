"""Every error a user can cause, and the one way to suggest a nearby name.

GlassformerError          exit code 1
├── ConfigError      (4)  a setting is unknown, mistyped or contradicts another
├── DataError        (3)  a corpus, a line of it or a vocabulary cannot be used
├── CheckpointError  (4)  files of a model or a run are missing, damaged or made for another model
├── InputError       (1)  a text or a tensor that this model cannot take
├── CheckFailed      (5)  a check that the user asked for came out badly
└── Interrupted  (130/143) the user or the system stopped us; what was done is saved

A message reads ``where: what is wrong with which value; what to do``. A hint is a command that works.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class GlassformerError(Exception):
    """A mistake the user can mend; the command line prints it without a traceback."""

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class ConfigError(GlassformerError, ValueError):
    """A setting is unknown, mistyped or contradicts another."""

    exit_code = 4


class DataError(GlassformerError, ValueError):
    """A corpus, a line of it or a vocabulary cannot be used."""

    exit_code = 3


class CheckpointError(GlassformerError):
    """Files of a model or a run are missing, damaged or made for another model."""

    exit_code = 4


class InputError(GlassformerError, ValueError):
    """A text or a tensor that this model cannot take."""


class CheckFailed(GlassformerError):
    """A check that the user asked for came out badly."""

    exit_code = 5


class Interrupted(GlassformerError):
    """Stopped from outside, after saving."""

    def __init__(self, message: str, hint: str | None = None, *, exit_code: int = 130) -> None:
        super().__init__(message, hint)
        self.exit_code = exit_code


def suggest(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'n_heads'?`` when a known name is close, else nothing."""
    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
