"""Random cases for the native engine, built with sanitizers that stop at the first wrong step."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.native import ROOT, builder, needs_compiler, needs_library

pytestmark = [pytest.mark.long, needs_compiler]

SANITIZERS = {
    "address": ("libasan.so", 400, ("-fsanitize=address", "-O1", "-g")),
    "undefined": (
        "",
        400,
        ("-fsanitize=undefined", "-fno-sanitize-recover=all", "-static-libubsan", "-O1", "-g"),
    ),
    "thread": ("libtsan.so", 100, ("-fsanitize=thread", "-O1", "-g")),
}


def fuzz(seed: int, cases: int, library: Path | None, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.engine.fuzz", str(seed), str(cases)]
    command += [] if library is None else [str(library)]
    settings = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=settings)


def _found(library: str) -> str:
    command = [builder().find_compiler(), f"-print-file-name={library}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("name", SANITIZERS)
def test_no_sanitizer_finds_anything(name: str, tmp_path: Path) -> None:
    runtime, cases, flags = SANITIZERS[name]
    library = builder().build(tmp_path / "libglassformer.so", flags=flags, objects=tmp_path / "objects")
    environment = {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "halt_on_error=1"}
    if runtime:
        # The second one too: the runtime looks for what throws exceptions when it starts, and Python is C.
        found = [_found(name) for name in (runtime, "libstdc++.so.6")]
        if not all(Path(path).is_file() for path in found):
            pytest.skip(f"this compiler has no {runtime}")
        environment["LD_PRELOAD"] = " ".join(found)
    seed = secrets.randbelow(10**6)
    done = fuzz(seed, cases, library, **environment)

    assert done.returncode == 0, f"seed {seed}\n{done.stdout}\n{done.stderr[-6000:]}"
    assert "ERROR: " not in done.stderr and "runtime error" not in done.stderr


@needs_library
def test_thousands_of_random_cases() -> None:
    seed = secrets.randbelow(10**6)
    done = fuzz(seed, 3000, None)

    assert done.returncode == 0, f"seed {seed}\n{done.stdout}\n{done.stderr[-6000:]}"
