"""Every command and every piece of Python of docs/decoding.md runs, on small trained models."""

import contextlib
import io
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from glassformer.cli import main
from tests.support.trained import corpus, trained

PAGE = (Path(__file__).parents[2] / "docs" / "decoding.md").read_text(encoding="utf-8")
MODELS = {
    "words-01": "translator",
    "text-01": "language model",
    "blanks-01": "masked",
    "labels-01": "classifier",
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


COMMANDS = [line.removeprefix("$ ") for block in blocks("console") for line in block.splitlines()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the models and the texts that the page speaks of."""
    for name, kind in MODELS.items():
        shutil.copytree(trained(kind) / "model", tmp_path / "runs" / name / "model")
    for side in ("en", "fr"):
        lines = (corpus("translator") / f"valid.{side}").read_text().splitlines(keepends=True)
        (tmp_path / f"test.{side}").write_text("".join(lines[:12]))
    more = (tmp_path / "test.fr").read_text().splitlines()
    (tmp_path / "more.fr").write_text("".join(f"{line if i % 2 else ''}\n" for i, line in enumerate(more)))
    shutil.copy(corpus("classifier") / "valid.tsv", tmp_path / "test.tsv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("glassformer.training.trainer.draw_run", lambda *_: None)
    return tmp_path


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command prints; the only pipe that the page has is printf's."""
    piped, _, rest = command.rpartition(" | ")
    data = shlex.split(piped)[1].replace("\\n", "\n") if piped else ""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data.encode())))
    monkeypatch.setattr(sys, "argv", shlex.split(rest))
    out, code = io.StringIO(), None
    with contextlib.redirect_stdout(out):
        try:
            main()
        except SystemExit as end:
            code = end.code
    assert not code, command
    return out.getvalue()


def test_the_commands_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(COMMANDS) >= 30 and all("glassformer" in command for command in COMMANDS)
    for command in COMMANDS:
        out = run(command, monkeypatch)

        assert out or " -o " in command, command
    assert len((folder / "out.fr").read_text().splitlines()) == 12


def test_the_python_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del folder
    pieces = blocks("python")
    assert len(pieces) == 3
    for piece in pieces:
        exec(compile(piece, "docs/decoding.md", "exec"), {"__name__": "page"})
    shown = capsys.readouterr().out

    assert shown.startswith("petit rouge chat\n['petit rouge chat', '', 'vieux maison']\n")


def test_every_heading_that_is_linked_is_there() -> None:
    headings = {
        re.sub(r"[^\w -]", "", title).lower().replace(" ", "-")
        for title in re.findall(r"^## (.+)$", PAGE, re.M)
    }

    assert set(re.findall(r"\(#([\w-]+)\)", PAGE)) == headings
