"""What a run of an hour came to is written down, whatever else is still to come."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.multi30k import TOKENIZER, Outcome, diverse, read, write
from benchmarks.recipe_runs import Trained
from glassformer.evaluation.scores import Score


def test_outcomes_are_written(tmp_path: Path) -> None:
    curve = [(1.0, 20.0), (2.0, 30.0)]
    outcomes = [
        Outcome(
            "glassformer", "de", seed, updates, 2.0, Score(bleu, "tok"), Score(bleu + 1, "nrefs:1"), curve
        )
        for seed, updates, bleu in ((1, 7000, 40.0), (2, 7000, 41.0), (3, 7000, 43.0), (4, 50, 1.0))
    ]
    write(outcomes, tmp_path)
    kept = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["runs"]

    assert [run["tokenised"]["value"] for run in kept] == [40.0, 41.0, 43.0, 1.0]
    assert kept[0]["sacrebleu"] == {"value": 41.0, "signature": "nrefs:1"}
    table = (tmp_path / "table.md").read_text("utf-8")
    assert "| 7,000 | PyTorch | 3 | 41.00 (40.00 – 43.00) | 42.00 (41.00 – 44.00) | 2 |" in table
    assert "| 50 | PyTorch | 1 | 1.00 (1.00 – 1.00) |" in table  # never mixed with longer trainings
    assert (tmp_path / "plot.png").stat().st_size and (tmp_path / "plot.svg").stat().st_size


def test_outcomes_of_other_runs_stay(tmp_path: Path) -> None:
    def outcome(seed: int, bleu: float, kernels: str) -> Outcome:
        score = Score(bleu, "tok")
        return Outcome("paper", "de", seed, 8000, 9.0, score, score, [(1.0, 2.0)], kernels)

    write([outcome(1, 40.0, "PyTorch"), outcome(2, 41.0, "PyTorch")], tmp_path)
    write([outcome(2, 42.0, "PyTorch"), outcome(2, 43.0, "native")], tmp_path)
    kept = {(one.seed, one.kernels): one.tokenised.value for one in read(tmp_path)}

    assert kept == {(1, "PyTorch"): 40.0, (2, "PyTorch"): 42.0, (2, "native"): 43.0}


def test_the_models_of_a_recipe_write_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learned, given = dict[str, Mapping[str, object]](), argparse.Namespace(runs=tmp_path, processes=2)

    def train(_: Path, runs: Path, name: str, settings: Mapping[str, object], *, processes: int) -> Trained:
        assert processes == 2
        learned[name] = settings
        (runs / name).mkdir()
        (runs / name / TOKENIZER).write_text(name)
        return Trained(runs / name, 10.0, 1, [], "native")

    def write_text(command: list[object], *, check: bool) -> None:
        assert check
        _, _, words, language, folder, *models = map(str, command)
        assert (words, language) == (str(tmp_path / "words"), "de")
        Path(folder).mkdir()
        (Path(folder) / "models").write_text(" ".join(word.removeprefix(f"{tmp_path}/") for word in models))

    monkeypatch.setattr("benchmarks.multi30k.train", train)
    monkeypatch.setattr("benchmarks.multi30k.subprocess.run", write_text)
    found = {
        recipe: diverse(given, tmp_path / "words", recipe, "de") for recipe in ("diversified", "four-writers")
    }

    assert {recipe: minutes for recipe, (_, minutes) in found.items()} == {
        "diversified": 20.0,
        "four-writers": 40.0,
    }
    two, four = ((folder / "models").read_text() for folder, _ in found.values())
    assert two == "--forward glassformer-de-1 --backward backward-de-1-2000"
    assert four == (
        "--forward forward-de-1-3000 forward-de-2-3000 --backward backward-de-1-3000 backward-de-2-3000"
    )
    assert all((folder / TOKENIZER).exists() for folder, _ in found.values())
    assert learned["forward-de-2-3000"]["train.seed"] == 2
    assert learned["backward-de-1-2000"]["train.steps"] == 2000
    assert "train.steps" not in learned["glassformer-de-1"]  # as many as the recipe has
    assert learned["backward-de-1-2000"]["data.train.src"] == tmp_path / "words" / "train.de"
