"""``glassformer explain`` and ``explore`` as a user types them."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from glassformer.cli import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["glassformer", *map(str, arguments)])
        capsys.readouterr()
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        return int(str(code or 0)), out, err

    return command


def test_an_alignment_in_the_terminal(run, models: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run(
        "explain", "The cat sat on the mat.", "-m", models / "ed", "--tgt", "Le chat s'assit."
    )
    lines = out.splitlines()

    assert code == 0
    assert lines[0].split() == ["The", "cat", "sat", "on", "the", "mat."]
    assert [line.split()[0] for line in lines[1:]] == ["Le", "chat", "s'assit."]
    assert all("p=0." in line for line in lines[1:])
    assert "cross-attention, layer 0 of 0–1, mean of 2 heads" in err and "glassformer explore" in err


def test_a_narrow_terminal_gets_the_columns_in_parts(run, models: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    asked = ("explain", "The cat 日本 sat on the mat.", "-m", models / "ed", "--tgt", "Le chat.")
    whole = run(*asked)[1].splitlines()
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((60, 24)))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    parts = run(*asked)[1].split("\n\n")

    assert len(parts) > 1
    assert " ".join(part.splitlines()[0] for part in parts).split() == whole[0].split()
    assert all(len(line) <= 60 for part in parts for line in part.splitlines())


def test_a_place_that_cannot_be_written_is_named(run, models: Path) -> None:  # type: ignore[no-untyped-def]
    for form in ("html", "png", "svg"):
        code, _, err = run("explain", "A cat.", "-m", models / "ed", f"--{form}", f"nowhere/cat.{form}")

        assert code == 4
        assert err.splitlines()[-1] == (
            f"error: nowhere/cat.{form}: cannot be written (No such file or directory)"
        )


def test_other_families_show_what_they_have(run, models: Path) -> None:  # type: ignore[no-untyped-def]
    assert "→" in run("explain", "The cat", "-m", models / "lm")[1]
    assert "blank 1" in run("explain", "The [MASK] sat.", "-m", models / "mlm")[1]
    assert "0." in run("explain", "The cat sat.", "-m", models / "cls")[1].splitlines()[-1]
    assert run("explain", "The cat sat.", "-m", models / "trained-01", "--tgt", "Le chat.")[0] == 0


def test_files_and_json(run, models: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run(
        *(
            "explain",
            "The $cat$ sat.",
            "-m",
            models / "ed",
            "--tgt",
            "Le chat.",
            "--kind",
            "enc",
            "--layer",
            "1",
        ),
        *("--head", "1", "--html", "a.html", "--png", "a.png", "--svg", "a.svg"),
    )
    assert code == 0 and out.split() == ["a.html", "a.png", "a.svg"]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "glassformer-data" in (tmp_path / "a.html").read_text(encoding="utf-8")
    told = json.loads(run("explain", "The cat.", "-m", models / "ed", "--tgt", "Le chat.", "--json")[1])
    assert told["fidelity"]["ok"] is True


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("The cat.", "-m", "none"), 4, "there is no such run or model"),
        (("The cat.", "-m", "MODELS/lm", "--kind", "cross"), 4, "this model has dec"),
        (("The cat.", "-m", "MODELS/ed", "--tgt", "x", "--layer", "9"), 1, "this model has 2 layers"),
        ((" ", "-m", "MODELS/ed"), 1, "blank"),
    ],
)
def test_mistakes_are_told(run, models: Path, arguments: tuple[str, ...], code: int, words: str) -> None:  # type: ignore[no-untyped-def]
    ended, _, err = run("explain", *(each.replace("MODELS", str(models)) for each in arguments))

    assert ended == code and words in " ".join(err.split())


@pytest.mark.slow
def test_explore_serves_until_it_is_interrupted(models: Path) -> None:
    command = [sys.executable, "-m", "glassformer", "explore", str(models / "ed"), "--port", "0", "--no-open"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
            with urllib.request.urlopen(f"{address}api/about", timeout=60) as reply:
                assert json.load(reply)["default_run"] == "ed"
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)
