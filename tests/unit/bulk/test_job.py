"""What a bulk job says before it begins."""

import sys
from pathlib import Path

import pytest

from glassformer.bulk import Job, translate_file
from glassformer.cli import main
from glassformer.errors import ConfigError
from tests.support.make_copy_model import DIRECTORY


def test_ray_is_asked_for_where_it_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match="bulk translation needs Ray") as told:
        translate_file(Job(tmp_path / "in", tmp_path / "out", DIRECTORY))

    assert told.value.hint == "pip install 'glassformer[ray]'"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a text"], "--ray translates a file into a file; name them with -i and -o"),
        (["-i", "in.txt", "-o", "out.txt", "-m", str(DIRECTORY)], "--ray takes one model, not an ensemble"),
        (["-i", "in.txt", "-o", "out.txt", "--json"], "--ray and --json do not go together"),
    ],
)
def test_what_translate_refuses(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["glassformer", "translate", "-m", str(DIRECTORY), "--ray", "local", *arguments]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as end:
        main()

    assert end.value.code == 4
    assert message in " ".join(capsys.readouterr().err.split())
