"""Compile the native engine: one shared library from the files that ``sources.txt`` lists.

    python native/build.py [OUTPUT] [--flag=-fsanitize=address ...] [--objects FOLDER]

Without OUTPUT it goes where the package looks for it. Installing the package does the same by itself.
"""

import argparse
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
SUFFIX = "dylib" if sys.platform == "darwin" else "so"
OUTPUT = HERE.parent / "src" / "glassformer" / "engine" / f"libglassformer.{SUFFIX}"
COMPILERS = ("c++", "g++", "clang++")
FLAGS = ("-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-pthread")
_MACHINES = {"x86_64": ("x86_64", "AMD64")}


class NotBuilt(Exception):
    """There is no library, and why."""


class Source(NamedTuple):
    """A file to compile, and flags that only it needs."""

    path: Path
    flags: tuple[str, ...]


def read_sources(folder: Path, machine: str) -> list[Source]:
    """The files for a kind of processor. ``[x86_64]`` begins the part for that one, ``[all]`` ends it."""
    found, wanted = [], True
    for line in (folder / "sources.txt").read_text(encoding="utf-8").splitlines():
        name, *flags = shlex.split(line, comments=True) or [""]
        if name.startswith("["):
            part = name.strip("[]")
            wanted = part == "all" or machine in _MACHINES[part]
        elif name and wanted:
            found.append(Source(folder / name, tuple(flags)))
    return found


def find_compiler() -> str:
    """The C++ compiler in ``CXX``, or the first usual one there is."""
    for name in (os.environ.get("CXX", ""), *COMPILERS):
        if name and (path := shutil.which(shlex.split(name)[0])):
            return " ".join([path, *shlex.split(name)[1:]])
    raise NotBuilt(f"no C++ compiler was found ({', '.join(COMPILERS)}); set CXX, or install one")


def build(
    output: Path, *, folder: Path = HERE, flags: Sequence[str] = (), objects: Path | None = None
) -> Path:
    """Compile what changed and link all; raises ``NotBuilt`` with the compiler's own words."""
    compiler = shlex.split(find_compiler())
    sources = read_sources(folder, platform.machine())
    command = [*compiler, *FLAGS, f"-I{folder / 'include'}", f"-I{folder}", *flags]
    if objects is None:
        kind = hashlib.sha256(repr([command, platform.machine()]).encode()).hexdigest()[:12]
        objects = folder.parent / "build" / f"native-{kind}"
    objects.mkdir(parents=True, exist_ok=True)
    newest_header = max((header.stat().st_mtime for header in folder.rglob("*.h")), default=0.0)

    def compiled(source: Source) -> Path:
        target = objects / f"{source.path.stem}.o"
        stamp = objects / f"{source.path.stem}.flags"
        told = shlex.join(source.flags)
        fresh = target.is_file() and stamp.is_file() and stamp.read_text(encoding="utf-8") == told
        if not fresh or target.stat().st_mtime <= max(newest_header, source.path.stat().st_mtime):
            _run([*command, *source.flags, "-c", str(source.path), "-o", str(target)])
            stamp.write_text(told, encoding="utf-8")
        return target

    with ThreadPoolExecutor(_cores()) as pool:
        parts = list(pool.map(compiled, sources))
    output.parent.mkdir(parents=True, exist_ok=True)
    made = output.with_name(f".{output.name}.{os.getpid()}")
    _run([*compiler, "-shared", "-pthread", *flags, *map(str, parts), "-o", str(made)])
    made.replace(output)  # a process that runs the old one keeps it
    return output


def _run(command: Iterable[str]) -> None:
    try:
        done = subprocess.run(list(command), capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        raise NotBuilt(str(error)) from None
    if done.returncode:
        raise NotBuilt(done.stderr.strip() or f"the compiler ended with {done.returncode}")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main() -> int:
    """Build, and say where the library is or why there is none."""
    parser = argparse.ArgumentParser(description="Compile the native engine.")
    parser.add_argument("output", nargs="?", type=Path, default=OUTPUT)
    parser.add_argument("--flag", action="append", default=[], help="for the compiler and the linker")
    parser.add_argument("--objects", type=Path, help="folder for what is compiled")
    options = parser.parse_args()
    try:
        print(build(options.output, flags=options.flag, objects=options.objects))  # noqa: T201
    except NotBuilt as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
