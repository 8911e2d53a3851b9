"""The native engine's own tests, compiled as it is shipped and with sanitizers: kernels, engine, fuzzing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).parents[2] / "native" / "tests" / "run.sh"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++"),
]


@pytest.mark.parametrize(
    ("sanitizers", "rounds"), [("", "2000"), ("address,undefined", "2000"), ("thread", "300")]
)
def test_the_native_tests_pass(sanitizers: str, rounds: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [RUN, sanitizers, rounds],
        env=os.environ | {"BUILD_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    for name in ("kernels", "crew", "engine", "fuzz"):
        assert f"{name}: passed" in done.stdout
