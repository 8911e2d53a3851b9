"""Every command and every piece of Python on the pages of docs/ runs, page by page."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from glassformer.cli.app import app
from glassformer.text.lines import read_lines
from glassformer.text.phrasebook import write_corpus
from tests.docs.test_readme import ROOT, SMALL, run

PAGES = ("translation", "multilingual", "fine-tuning", "language-model", "classifier", "distributed")
BLOCK = re.compile(r"```(console|python|toml)\n(.*?)```", flags=re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the pages suppose that a reader has."""
    write_corpus(tmp_path, 120, 10, 10, seed=1, level="simple")
    for split in ("train", "valid"):  # a second language, as a program can make it: French from behind
        lines = (line[::-1] for line in read_lines(tmp_path / f"{split}.fr"))
        (tmp_path / f"{split}.de").write_text("\n".join(lines) + "\n", encoding="utf-8")
    english = list(read_lines(tmp_path / "train.en"))
    (tmp_path / "book.txt").write_text("\n".join(english) + "\n", encoding="utf-8")
    labelled = [f"{line}\t{'question' if line.endswith('?') else 'statement'}" for line in english]
    (tmp_path / "reviews.tsv").write_text("\n".join(labelled) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for key, value in SMALL.items():
        monkeypatch.setenv(key, value)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_as_it_is_written(page: str, folder: Path) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    found = BLOCK.findall(text)
    assert any(kind == "console" for kind, _ in found)
    for kind, block in found:
        if kind == "console":
            for line in block.splitlines():
                execute(line.removeprefix("$ "), folder)
        elif kind == "python":
            exec(compile(block, f"{page}.md", "exec"), {})


def execute(command: str, folder: Path) -> None:
    """A command of ours in this process, where torch is loaded already; others in a shell."""
    words = shlex.split(command)
    if words[0] != "glassformer" or "--devices" in words:
        done = run(["bash", "-c", command], folder)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0, f"{command}\n{result.output}\n{result.exception!r}"
