"""Which kernels this machine can run; AMX is tried in a child process first, since a CPU may lie about it.

Some virtual machines claim AMX and then end a program that uses it by SIGILL. What the child process dies of
is never met in the user's own.
"""

import subprocess
import sys
from functools import cache

from glassformer.engine.library import NotNative, load_library

FAST_INT8 = ("amx", "avx512vnni")
"""The kernel sets that multiply 8-bit integers much faster than floats."""

_TRIED_FIRST = "amx"
_PATIENCE = 20.0
_TRIAL = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.gf_kernels_trial.argtypes = ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t
sys.exit(library.gf_kernels_trial(sys.argv[2].encode(), None, 0))
"""


@cache
def usable_kernels() -> tuple[str, ...]:
    """The kernel sets that models may choose here, best first."""
    library = load_library()
    functions = library.functions
    if functions.gf_kernels_claimed(_TRIED_FIRST.encode()) and survives(_TRIED_FIRST):
        library.call("gf_kernels_allow", _TRIED_FIRST.encode())
    return tuple(name for name in library.kernels() if functions.gf_kernels_available(name.encode()))


def survives(name: str) -> bool:
    """Whether a child process that runs every kernel of a set comes back with the right results."""
    if not sys.executable:  # inside another program there is no Python to start
        return False
    command = [sys.executable, "-I", "-S", "-c", _TRIAL, str(load_library().path), name]
    try:
        done = subprocess.run(  # noqa: S603  # our own code in our own interpreter
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def describe_kernels() -> str:
    """What the native engine would run on here, for people; raises ``NotNative`` where there is none."""
    usable = usable_kernels()
    if not usable:
        raise NotNative("the native engine has no kernels for this CPU")
    refused = [
        name
        for name in load_library().kernels()
        if name not in usable and load_library().functions.gf_kernels_claimed(name.encode())
    ]
    told = f" ({', '.join(refused)}: a trial did not survive)" if refused else ""
    return f"{usable[0]}{told}"
