"""The wheel holds all that it needs, and translates in an environment where nothing else of ours is."""

import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from glassformer.decoding.pretrained import shipped_model
from tests.support.packages import ROOT, build, copy_project, empty_environment, run, share_dependencies

pytest.importorskip("hatchling", reason="packages are built by hatchling")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Made as ``make dist`` makes them."""
    found = build(copy_project(tmp_path_factory.mktemp("project")), "wheel", "sdist")
    return {"wheel" if path.suffix == ".whl" else "source": path for path in found}


@pytest.mark.slow
def test_the_wheel_has_model_page_and_licence(packages: dict[str, Path]) -> None:
    names = set(zipfile.ZipFile(packages["wheel"]).namelist())
    package = ROOT / "src" / "glassformer"
    model = {f"glassformer/pretrained/en-fr/{path.name}" for path in shipped_model().iterdir()}
    page = {path.relative_to(package.parent).as_posix() for path in package.glob("explorer/page/**/*.*")}
    data = {path.relative_to(package.parent).as_posix() for path in package.glob("**/*.toml")}

    assert model <= names and page <= names and data <= names
    assert {"glassformer/explorer/page/index.html", "glassformer/py.typed"} <= names
    assert any(name.endswith("LICENSE") for name in names)
    if any(map(shutil.which, ("c++", "g++", "clang++"))):
        assert any(name.startswith("glassformer/engine/libglassformer.") for name in names)
    assert not any(name.startswith("tests/") or name.endswith(".pyc") for name in names)


@pytest.mark.slow
def test_the_sources_have_what_a_wheel_is_built_from(packages: dict[str, Path]) -> None:
    with tarfile.open(packages["source"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"hatch_build.py", "pyproject.toml", "native/build.py", "native/sources.txt"} <= names
    assert {"src/glassformer/pretrained/en-fr/model.safetensors", "README.md", "LICENSE"} <= names


@pytest.mark.slow
def test_an_installed_wheel_translates_from_any_folder(packages: dict[str, Path], tmp_path: Path) -> None:
    programs = empty_environment(tmp_path / "environment")
    run(
        programs / "python",
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-index",
        packages["wheel"],
        cwd=tmp_path,
    )
    share_dependencies(programs)
    place = run(programs / "python", "-c", "import glassformer; print(glassformer.__file__)", cwd=tmp_path)
    said = run(programs / "glassformer", "translate", "The cat chased the mouse.", cwd=tmp_path)

    assert Path(place.strip()).is_relative_to(tmp_path)
    assert "chat" in said and "souris" in said
