"""Every command and the Python of docs/interop.md run."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from glassformer.cli.app import app
from tests.support.foreign_tokenizers import bert, marian

for package in ("transformers", "sentencepiece", "ctranslate2", "onnx", "onnxruntime"):
    pytest.importorskip(package, reason="the page is about it")

PAGE = (Path(__file__).parents[2] / "docs" / "interop.md").read_text(encoding="utf-8")


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, make in (("opus-mt-en-fr", marian), ("minilm", bert)):
        (tmp_path / name).mkdir()
        make(tmp_path / name)
    commands = re.findall(r"^\$ glassformer (.*)$", PAGE, flags=re.MULTILINE)
    assert len(commands) == 7
    (tmp_path / "mine.tsv").write_text("low lower\tnew newer\nwide\twidest\n" * 8)
    small = ["--set", "data.max_length=30", "--set", 'data.langs=["en", "fra"]']
    for command in commands:
        words = shlex.split(command.replace("--steps 1000", "--steps 2"))
        done = CliRunner().invoke(app, words + small * (words[0] == "train"))
        assert done.exit_code == 0, f"{command}\n{done.output}\n{done.exception!r}"
    (piece,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(piece, {})

    assert (tmp_path / "models" / "minilm" / "manifest.json").is_file()
