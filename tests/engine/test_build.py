"""The build: with a compiler the library is there, without one the package is."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.engine.native import ROOT, builder, needs_compiler

pytest.importorskip("hatchling")


def sources(folder: Path, text: str, **files: str) -> Path:
    folder.mkdir()
    (folder / "sources.txt").write_text(text)
    for name, content in files.items():
        (folder / f"{name}.cpp").write_text(content)
    return folder


def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build_for_tests", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Told:
    """In place of hatchling's application: what was said."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, message: str) -> None:
        self.warnings.append(message)


def initialized(root: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], Told]:
    """What the hook makes of a tree whose native engine is tiny."""
    module, told = hook(), Told()
    monkeypatch.setattr(module, "HERE", root)
    data: dict[str, Any] = {"artifacts": []}
    module.NativeEngine(str(root), {}, None, None, str(root), "wheel", told).initialize("standard", data)
    return data, told


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "src" / "glassformer" / "engine").mkdir(parents=True)
    native = sources(
        tmp_path / "native", "a.cpp -DANSWER=4\n", a='extern "C" int answer() { return ANSWER; }'
    )
    (native / "build.py").write_text((ROOT / "native" / "build.py").read_text())
    return tmp_path


def test_parts_are_for_their_machines(tmp_path: Path) -> None:
    text = "# all of it\na.cpp\n[x86_64]\nb.cpp -mavx2 -mfma  # fast\n[all]\nc.cpp\n"
    folder = sources(tmp_path / "native", text)
    read = builder().read_sources

    assert [source.path.name for source in read(folder, "aarch64")] == ["a.cpp", "c.cpp"]
    assert [source.flags for source in read(folder, "x86_64")] == [(), ("-mavx2", "-mfma"), ()]


@needs_compiler
def test_only_what_changed_is_compiled_again(tmp_path: Path) -> None:
    folder = sources(tmp_path / "native", "a.cpp\nb.cpp\n", a="int a;", b="int b;")
    output, objects = tmp_path / "lib.so", tmp_path / "objects"
    builder().build(output, folder=folder, objects=objects)
    before = {path.name: path.stat().st_mtime_ns for path in objects.glob("*.o")}
    (folder / "sources.txt").write_text("a.cpp\nb.cpp -DOTHER\n")
    builder().build(output, folder=folder, objects=objects)
    changed = {path.name for path in objects.glob("*.o") if path.stat().st_mtime_ns != before[path.name]}

    assert changed == {"b.o"}


@needs_compiler
def test_the_compiler_is_quoted(tmp_path: Path) -> None:
    folder = sources(tmp_path / "native", "a.cpp\n", a="this is no program")
    with pytest.raises(builder().NotBuilt, match="this"):
        builder().build(tmp_path / "lib.so", folder=folder, objects=tmp_path / "objects")

    assert not (tmp_path / "lib.so").exists()


def test_no_compiler_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(builder().NotBuilt) as error:
        builder().find_compiler()

    assert str(error.value) == "no C++ compiler was found (c++, g++, clang++); set CXX, or install one"


@needs_compiler
def test_a_wheel_has_the_library_and_tells_its_platform(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, told = initialized(tree, monkeypatch)
    name = builder().OUTPUT.name

    assert told.warnings == []
    assert data["artifacts"] == [f"/src/glassformer/engine/{name}"]
    assert data["pure_python"] is False and data["tag"].startswith("py3-none-")
    assert (tree / "src" / "glassformer" / "engine" / name).is_file()


def test_without_a_compiler_the_package_is_installed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tree))
    monkeypatch.delenv("CXX", raising=False)
    data, told = initialized(tree, monkeypatch)

    assert data == {"artifacts": []}
    assert told.warnings[0].startswith(
        "The native engine was not built; PyTorch will serve.\nno C++ compiler"
    )


def test_without_sources_the_package_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, told = initialized(tmp_path, monkeypatch)

    assert data == {"artifacts": []}
    assert told.warnings == ["The native engine is not among these files; PyTorch will serve."]


@pytest.mark.skipif(sys.platform != "linux", reason="named as on Linux")
def test_the_package_looks_where_the_build_puts_it() -> None:
    from glassformer.engine import LIBRARY

    assert LIBRARY == builder().OUTPUT
