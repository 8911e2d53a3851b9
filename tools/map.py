"""The map of docs/architecture.md, made from the first sentence of every module: ``python -m tools.map``.

Written by hand it would rot; a test holds that the page shows what this makes.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "glassformer"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- map: made by python -m tools.map -->\n```\n", "```\n<!-- end of map -->"
PARTS = (
    "config",
    "text",
    "data",
    "nn",
    "checkpoint",
    "training",
    "engine",
    "decoding",
    "evaluation",
    "probe",
    "interop",
    "workflow",
    "serving",
    "explorer",
    "pretrained",
    "cli",
)
"""In the order in which data flows."""


def package_map() -> str:
    """The tree of the package, a line for each module."""
    top = [PACKAGE / name for name in ("__init__.py", "__main__.py", "errors.py")]
    lines = ["src/glassformer/", *(_line(0, path.name, first_sentence(path)) for path in top)]
    for part in PARTS:
        if (PACKAGE / part).is_dir():
            lines += _folder(PACKAGE / part, 0)
    return "\n".join(lines) + "\n"


def _folder(folder: Path, depth: int) -> Iterator[str]:
    yield _line(depth, f"{folder.name}/", first_sentence(folder / "__init__.py"))
    for path in sorted(folder.glob("*.py")):
        if path.name != "__init__.py":
            yield _line(depth + 1, path.stem, first_sentence(path))
    for inner in sorted(path for path in folder.iterdir() if (path / "__init__.py").is_file()):
        yield from _folder(inner, depth + 1)


def _line(depth: int, name: str, remark: str) -> str:
    return f"{'│   ' * depth}├── {name:<{20 - 4 * min(depth, 1)}}{remark}".rstrip()


def first_sentence(path: Path) -> str:
    """What a module says it is."""
    if not path.is_file():
        return ""
    words = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split()
    text = " ".join(words)
    return re.split(r"(?<!\bal)\. ", text)[0].rstrip(".").replace("``", "")


def with_map(page: str) -> str:
    """The page with a new map in the place of the old one."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + package_map() + END + after


if __name__ == "__main__":
    PAGE.write_text(with_map(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
