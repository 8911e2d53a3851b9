"""The command line tells which engine answers, and how fast it is."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, cli
from tests.engine.native import needs_library
from tests.unit.decoding.texts import language_model, translator

__all__ = ["cli"]  # a fixture


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models") / "translator"
    translator().save_pretrained(place)
    return place


@needs_library
def test_bench_measures_four_ways(cli: Cli, model: Path, tmp_path: Path) -> None:
    (tmp_path / "texts").write_text("The cat.\n\nA dog is sleeping.\n")
    ended = cli("bench", model, "-i", "texts", "--rounds", 1, "--batch", 3, "--beam", 2, "--json")
    told = json.loads(ended.out)

    assert ended.code == 0 and told["engine"].startswith("native float32")
    assert [way["way"] for way in told["ways"]] == [
        "greedy, one by one",
        "greedy, 3 together",
        "beam 2, one by one",
        "beam 2, 3 together",
    ]
    assert all(0 < way["p50_ms"] <= way["p95_ms"] and way["tokens_per_second"] > 0 for way in told["ways"])


def test_bench_says_who_answers(cli: Cli, model: Path, tmp_path: Path) -> None:
    (tmp_path / "texts").write_text("The cat.\n")
    ended = cli("bench", model, "-i", "texts", "--rounds", 1, "--batch", 2, "--engine", "pytorch")

    assert ended.code == 0 and ended.out.startswith("engine: pytorch\n") and "tokens/s" in ended.out
    assert ended.err == 'note: PyTorch answers: engine = "pytorch"\n'


def test_bench_measures_a_language_model(cli: Cli, tmp_path: Path) -> None:
    language_model().save_pretrained(tmp_path / "model")
    (tmp_path / "texts").write_text("The cat.\n")
    ended = cli("bench", tmp_path / "model", "-i", "texts", "--rounds", 1, "--batch", 2, "--json")

    assert ended.code == 0 and len(json.loads(ended.out)["ways"]) == 4


def test_bench_needs_texts(cli: Cli, model: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    ended = cli("bench", model, "-i", "empty")

    assert (ended.code, ended.err) == (3, "error: empty: there is no text in it\n")


@needs_library
def test_what_pytorch_had_to_do_is_said(cli: Cli, model: Path) -> None:
    plain = cli("translate", "-m", model, "The cat.", "--json")
    ended = cli("translate", "-m", model, "The cat.", "--term", "chat", "--json")

    assert json.loads(plain.out)["engine"].startswith("native") and "note" not in plain.err
    assert json.loads(ended.out)["engine"] == "pytorch"
    assert "note: the native engine has no required terms; PyTorch answered\n" in ended.err


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--engine", "error: --engine fast: should be auto, native or pytorch\n"),
        ("--precision", "error: --precision fast: should be auto, float32 or int8\n"),
    ],
)
def test_names_are_checked(cli: Cli, model: Path, flag: str, message: str) -> None:
    ended = cli("translate", "-m", model, "The cat.", flag, "fast")

    assert (ended.code, ended.err) == (4, message)


@needs_library
def test_doctor_and_info_name_the_engine(cli: Cli, model: Path) -> None:
    findings = {entry["what"]: entry for entry in json.loads(cli("doctor", "--json").out)}

    assert findings["native"]["mark"] == "ok" and findings["native"]["said"].startswith("kernels ")
    assert json.loads(cli("info", model, "--json").out)["engine"].startswith("native float32")
