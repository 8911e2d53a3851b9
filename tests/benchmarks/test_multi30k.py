"""What a run of an hour came to is written down, whatever else is still to come."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks import multi30k
from benchmarks.multi30k import TOKENIZER, Outcome, read, trained, write
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
    assert "| 0 | 7,000 | PyTorch | 3 | 41.00 (40.00 – 43.00) | 42.00 (41.00 – 44.00) | 2 |" in table
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


def test_every_recipe_learns_from_its_own_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learned, written = dict[str, Mapping[str, object]](), list[list[str]]()

    def train(
        _config: Path, runs: Path, name: str, settings: Mapping[str, object], *, processes: int
    ) -> Trained:
        assert processes == 2
        learned[name] = settings
        (runs / name).mkdir(exist_ok=True)
        (runs / name / TOKENIZER).write_text(name)
        return Trained(runs / name, 1.0, 1, [], "native")

    def run(command: list[object], *, check: bool) -> None:
        assert check
        *_, language, folder, way, first, second = [str(word) for word in command[:8]]
        assert (language, way, Path(first).parent) == ("de", "--forward", tmp_path)
        Path(folder).mkdir()
        written.append([Path(folder).name, Path(first).name, Path(second).name])

    monkeypatch.setattr(multi30k, "train", train)
    monkeypatch.setattr("benchmarks.multi30k.subprocess.run", run)
    given = argparse.Namespace(runs=tmp_path, processes=2)
    words = tmp_path / "words"
    writers = {
        recipe: [one.path.name for one in trained(given, words, recipe, "de", 3)[1]]
        for recipe in ("paper", "diversified", "rewritten")
    }

    first = ["forward-de-1", "forward-de-2", "backward-de-1", "backward-de-2"]
    assert writers == {"paper": [], "diversified": first, "rewritten": [*first, "diversified-de-2"]}
    assert written == [
        ["text-diversified-de", "forward-de-1", "forward-de-2"],
        ["text-rewritten-de", "diversified-de-2", "--backward"],
    ]
    texts = {name: str(settings["data.train.src"]) for name, settings in learned.items()}
    assert texts["paper-de-3"] == texts["forward-de-1"] == str(words / "train.en")
    assert texts["backward-de-2"] == str(words / "train.de")
    assert texts["diversified-de-2"] == str(tmp_path / "text-diversified-de" / "train.en")
    assert texts["rewritten-de-3"] == str(tmp_path / "text-rewritten-de" / "train.en")
    assert all(str(settings["data.valid.src"]).startswith(str(words)) for settings in learned.values())
