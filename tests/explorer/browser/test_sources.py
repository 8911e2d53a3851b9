"""The rules of page/README.md, read from the sources: the exporter and the page's security rely on them."""

import re
from pathlib import Path

import pytest

import glassformer
from glassformer.explorer.page_files import PageFiles, without_comments

PAGE = Path(glassformer.__file__).parent / "explorer" / "page"
MODULES = sorted(PAGE.rglob("*.js"))
IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) ([A-Za-z_$][\w$]*)", re.MULTILINE)
FORBIDDEN = {
    "innerHTML": r"\.innerHTML\b",
    "outerHTML": r"\.outerHTML\b",
    "insertAdjacentHTML": r"insertAdjacentHTML",
    "document.write": r"document\.write\b",
    "eval": r"\beval\s*\(",
    "new Function": r"new Function\b",
    "style attribute": r"""setAttribute\(\s*["'](?:style|on\w+)""",
    "end of a script": r"</script",
    "another host": r"""["'`]https?://(?!www\.w3\.org/)""",
    "top-level await": r"^await\b|^(?:const|let) .*= await\b",
    "default export": r"^export default\b",
    "import of everything": r"^import \*|^export \*|^export \{",
    "import while running": r"\bimport\(\s*[^\")\s]*[\")]?\s*\)(?!\.)",
    "exported let": r"^export (?:let|var)\b",
}


def code(path: Path) -> str:
    """A source without its comments, which may speak of what it must not do."""
    return re.sub(r"/\*.*?\*/|(?<=[\s;])//[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("rule", FORBIDDEN)
def test_no_source_does_what_is_forbidden(rule: str) -> None:
    found = [
        f"{path.relative_to(PAGE)}: {match.group(0)}"
        for path in MODULES
        for match in re.finditer(FORBIDDEN[rule], code(path), re.MULTILINE)
    ]

    assert found == []


def test_imports_name_what_their_modules_export_and_use_it() -> None:
    wrong = []
    for path in MODULES:
        text = code(path)
        body = IMPORT.sub("", text)
        if re.search(r"^import\b", body, re.MULTILINE):
            wrong.append(f"{path.name}: an import of another form")
        for names, source in IMPORT.findall(text):
            target = (path.parent / source).resolve()
            exported = set(EXPORT.findall(code(target))) if target.is_file() else set()
            for name in filter(None, (each.strip() for each in names.split(","))):
                there, _, here = name.partition(" as ")
                if there not in exported:
                    wrong.append(f"{path.name}: {there} is not exported by {source}")
                if not re.search(rf"\b{re.escape(here or there)}\b", body):
                    wrong.append(f"{path.name}: {here or there} is not used")

    assert wrong == []


def test_modules_import_each_other_in_one_direction_only() -> None:
    imports = {
        path: [(path.parent / source).resolve() for _, source in IMPORT.findall(code(path))]
        for path in MODULES
    }
    done: set[Path] = set()

    def visit(path: Path, way: tuple[Path, ...]) -> None:
        assert path not in way, " → ".join(each.name for each in (*way, path))
        if path not in done:
            for each in imports[path]:
                visit(each, (*way, path))
            done.add(path)

    for path in MODULES:
        visit(path, ())


def test_the_page_preloads_every_module_it_needs_and_no_other() -> None:
    page = (PAGE / "index.html").read_text(encoding="utf-8")
    preloaded = set(re.findall(r'<link rel="modulepreload" href="([^"]+)"', page))
    reached: set[Path] = set()

    def visit(path: Path) -> None:
        if path not in reached:
            reached.add(path)
            for _, source in IMPORT.findall(code(path)):
                visit((path.parent / source).resolve())

    visit((PAGE / "main.js").resolve())
    needed = {path.relative_to(PAGE.resolve()).as_posix() for path in reached} - {"main.js"}

    assert preloaded == needed


def test_every_source_says_what_it_is() -> None:
    assert [path.name for path in MODULES if not path.read_text(encoding="utf-8").startswith("/**")] == []


def test_all_files_together_are_small(capsys: pytest.CaptureFixture[str]) -> None:
    files = PageFiles()
    packed = sum(len(files.get(name).packed) for name in files)
    with capsys.disabled():
        print(f"\npage: {len(list(files))} files, {packed / 1000:.0f} kB, each by gzip")

    assert packed <= 150_000


def test_what_is_sent_is_the_source_line_by_line_without_comments_and_margins() -> None:
    for path in MODULES:
        whole = path.read_text(encoding="utf-8")
        sent = without_comments(whole)

        assert "/**" not in sent
        assert EXPORT.findall(sent) == EXPORT.findall(whole)
        assert sent.count("\n") == whole.count("\n")
        # A template over several lines would lose its margins.
        assert [line for line in sent.splitlines() if line.count("`") % 2] == []
