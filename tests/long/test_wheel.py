"""The wheel, installed with its dependencies into an empty environment."""

import shutil
from pathlib import Path

import pytest

from tests.support.packages import ROOT, build, copy_project, empty_environment, run

pytest.importorskip("hatchling", reason="packages are built by hatchling")
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made as ``make dist`` makes it."""
    (found,) = build(copy_project(tmp_path_factory.mktemp("project")), "wheel")
    return found


def test_the_wheel_installs_with_what_it_needs(wheel: Path, tmp_path: Path) -> None:
    """From the index that pip is set to, so there has to be one."""
    programs = empty_environment(tmp_path / "environment")
    install = (programs / "python", "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt")
    run(*install, wheel, cwd=tmp_path)
    said = run(programs / "glassformer", "translate", "The cat chased the mouse.", cwd=tmp_path)
    told = run(programs / "glassformer", "doctor", cwd=tmp_path)
    shutil.rmtree(tmp_path / "environment")  # gigabytes

    assert "chat" in said and "souris" in said
    assert "kernels" in told
