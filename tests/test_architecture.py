"""The layers of docs/architecture.md, read from every import statement."""

import ast
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from tools.map import with_map

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "glassformer"
MODULES = sorted(PACKAGE.rglob("*.py"))
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MAY_IMPORT = {  # itself and errors too; cli is below
    "__init__": {  # on first use of a name
        *("config", "text", "nn", "decoding", "evaluation", "probe", "interop", "explorer", "workflow"),
    },
    "__main__": {"cli"},
    "errors": set[str](),
    "config": set[str](),
    "text": {"config"},
    "nn": {"config"},  # not text, not data: it takes tensors
    "data": {"text", "config"},
    "checkpoint": {"nn", "text", "config"},
    "training": {"checkpoint", "data", "nn", "config"},  # not decoding: validation is handed in
    "engine": {"text", "config", "checkpoint"},
    "decoding": {"engine", "checkpoint", "nn", "text", "config"},
    "evaluation": {"decoding", "data", "checkpoint", "nn", "text", "config"},
    "probe": {"decoding", "checkpoint", "nn", "text", "config"},
    "interop": {"checkpoint", "nn", "text", "config"},
    "explorer": {"probe", "decoding", "training", "checkpoint", "nn", "text", "config"},
    "serving": {"probe", "decoding", "checkpoint", "config"},
    "bulk": {"decoding", "checkpoint", "text", "config"},
    "workflow": {"evaluation", "decoding", "training", "checkpoint", "data", "nn", "text", "config"},
}


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(nodes: Iterable[ast.AST]) -> set[str]:
    names: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return {name.split(".")[1] for name in names if name.startswith("glassformer.")}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if part(path) == "cli":  # anything, but inside functions
        assert imported_parts(tree.body) <= {"cli", "errors", "__version__"}
    else:
        allowed = MAY_IMPORT[part(path)] | {part(path), "errors", "__version__"}

        assert imported_parts(ast.walk(tree)) <= allowed


def test_the_page_shows_every_module() -> None:
    """If this fails: ``python -m tools.map``."""
    assert with_map(PAGE) == PAGE


@pytest.mark.parametrize(
    "name",
    [
        "glassformer",
        "glassformer.cli",
        "glassformer.config",
        "glassformer.text",
        "glassformer.engine",
        "glassformer.decoding.translator",
    ],
)
def test_needs_no_torch(name: str) -> None:
    code = f"import sys, {name}; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["--version"]])
def test_help_loads_no_heavy_library(arguments: list[str]) -> None:
    """A heavy import is what would make it slow; the time itself is only printed, machines differ."""
    code = (
        "import sys\nfrom glassformer.cli import main\n"
        f"sys.argv = ['glassformer', *{arguments!r}]\n"
        "try: main()\nexcept SystemExit as end: code = end.code\n"
        "heavy = {'torch', 'matplotlib', 'fastapi', 'numpy', 'tokenizers'} & set(sys.modules)\n"
        "sys.exit(code or str(heavy) if heavy else code)"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    print(f"{arguments}: {time.perf_counter() - start:.2f} s")

    assert (done.returncode, done.stderr) == (0, "")


def test_source_has_no_assertions() -> None:
    """They vanish under ``python -O``; a user's mistake must not."""
    found = [
        f"{path.name}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert)
    ]

    assert found == []


def test_no_module_is_a_drawer() -> None:
    assert not {path.stem for path in MODULES} & {"utils", "util", "common", "helpers", "misc"}
