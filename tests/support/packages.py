"""The package as others get it: built from a copy of the project, installed where nothing of ours is."""

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from tests.engine.native import builder

ROOT = Path(__file__).parents[2]
_PARTS = ("src", "native", "hatch_build.py", "pyproject.toml", "README.md", "LICENSE", "constraints.txt")


def run(*command: object, cwd: Path) -> str:
    """What a command prints; it has to succeed."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def environment() -> dict[str, str]:
    """Without what would let the project itself be found, or Python talk."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV"))}
    return kept | {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def copy_project(folder: Path) -> Path:
    """What a package is built from, dates included, and what was compiled of it, so that it is not again."""
    for name in _PARTS:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.dylib"))
        else:
            shutil.copy2(source, target)
    objects = ROOT / "build" / _objects(ROOT)
    if objects.is_dir():
        shutil.copytree(objects, folder / "build" / _objects(folder))
    return folder


def _objects(project: Path) -> str:
    """What ``native/build.py`` calls the folder of its objects."""
    native, folder = builder(), project.resolve() / "native"
    try:
        compiler = shlex.split(native.find_compiler())
    except native.NotBuilt:
        return "none"
    command = [*compiler, *native.FLAGS, f"-I{folder / 'include'}", f"-I{folder}"]
    return f"native-{hashlib.sha256(repr([command, platform.machine()]).encode()).hexdigest()[:12]}"


def build(project: Path, *kinds: str) -> list[Path]:
    """The packages of a project, by the build tool that is installed here; nothing is fetched."""
    run(sys.executable, "-m", "hatchling", "build", *(f"--target={kind}" for kind in kinds), cwd=project)
    return sorted((project / "dist").iterdir())


def empty_environment(folder: Path) -> Path:
    """The programs of a new virtual environment with nothing in it but pip."""
    venv.create(folder, with_pip=True, symlinks=True)
    return folder / "bin"


def share_dependencies(programs: Path) -> None:
    """Let an environment import what is installed here; links to projects under work are not followed."""
    here = Path(sysconfig.get_path("purelib"))
    there = run(programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=here)
    (Path(there.strip()) / "dependencies.pth").write_text(f"{here}\n", encoding="utf-8")
