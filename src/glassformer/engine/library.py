"""The shared library of ``native/``: found beside this file, loaded once, checked before anything is asked.

It is built when the package is installed, where there is a compiler. Whoever has none gets ``NotNative`` with
the reason, and PyTorch serves.
"""

import ctypes
import sys
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from glassformer.engine.abi import CANCELLED, FULL, INVALID, NO_MEMORY, OK, UNSUPPORTED, VERSION, declare
from glassformer.errors import InputError

_SUFFIX = "dylib" if sys.platform == "darwin" else "so"
LIBRARY = Path(__file__).with_name(f"libglassformer.{_SUFFIX}")

_MESSAGE_BYTES = 1024
_LOADING = Lock()


class NotNative(Exception):
    """The native engine cannot do what is asked; the message says why, and PyTorch can."""


class Cancelled(Exception):
    """A call was told to stop."""


class Full(Exception):
    """A session has no room for another sentence now."""


class EngineError(RuntimeError):
    """The native engine failed where it should not."""


class Library:
    """The functions of the library; those that give a status raise what it means."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.functions = ctypes.CDLL(str(path))
            version = int(self.functions.gf_abi_version())
            if version != VERSION:
                raise NotNative(
                    f"the native engine speaks version {version} of its interface, not {VERSION}; reinstall"
                )
            declare(self.functions)
            self._brief = ctypes.PyDLL(str(path))
            declare(self._brief)
        except (OSError, AttributeError) as error:
            raise NotNative(f"the native engine does not load ({error})") from None

    def call(self, name: str, *arguments: object) -> None:
        """Call a function that gives a status; the library runs without Python's lock."""
        _checked(getattr(self.functions, name), *arguments)

    def call_briefly(self, name: str, *arguments: object) -> None:
        """The same for what takes microseconds: Python's lock is kept, since to get it back takes longer."""
        _checked(getattr(self._brief, name), *arguments)

    def kernels(self) -> list[str]:
        """The kernel sets that were compiled in, best first."""
        count = self.functions.gf_kernels_count()
        return [self.functions.gf_kernels_name(i).decode() for i in range(count)]


def load_library() -> Library:
    """The library that was built for this package; the same object every time."""
    with _LOADING:
        return _load(LIBRARY)


@cache
def _load(path: Path) -> Library:
    if not path.is_file():
        raise NotNative("the native engine was not built when the package was installed")
    return Library(path)


def _checked(function: Any, *arguments: object) -> None:
    message = ctypes.create_string_buffer(_MESSAGE_BYTES)
    status = function(*arguments, message, _MESSAGE_BYTES)
    if status != OK:
        told = message.value.decode(errors="replace") or f"{function.__name__} gave status {status}"
        raise _meaning(status, told)


def _meaning(status: int, message: str) -> Exception:
    match status:
        case _ if status == INVALID:
            return InputError(message)
        case _ if status == UNSUPPORTED:
            return NotNative(message)
        case _ if status == NO_MEMORY:
            return MemoryError(message)
        case _ if status == CANCELLED:
            return Cancelled(message)
        case _ if status == FULL:
            return Full(message)
        case _:
            return EngineError(f"the native engine failed: {message}; please report it")
