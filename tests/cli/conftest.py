"""The command line in this process: what it prints and the code it ends with."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from glassformer.cli import main


class Ended(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Cli = Callable[..., Ended]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """Runs a command in an empty folder; drawing, which is slow, is left out."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("glassformer.training.trainer.draw_run", lambda *_: None)

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["glassformer", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        out, err = capsys.readouterr()
        return Ended(code, out, err)

    return run
