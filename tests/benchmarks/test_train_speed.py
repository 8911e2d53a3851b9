"""The benchmark of training runs, and tells what it measured. Times are never asserted."""

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks.speed_peers import ours
from benchmarks.speed_peers.batches import bucketed
from benchmarks.speed_peers.contest import OURS, Child, Task
from benchmarks.speed_peers.conversation import CannotRun
from benchmarks.speed_peers.twin import twin_of
from benchmarks.speed_peers.worker import Shape
from benchmarks.train_speed import Range

ROOT = Path(__file__).parents[2]
SMALL = Shape(d_model=8, d_ff=12, n_heads=2, n_layers=2, dropout=0.0, vocab_size=20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a quick run on a made-up corpus, started as a user would."""
    data, out = tmp_path_factory.mktemp("corpus"), tmp_path_factory.mktemp("train_speed") / "made on the way"
    for language in ("en", "de"):
        with gzip.open(data / f"train.{language}.gz", "wt", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in _lines(seed=len(language))))
    command = [sys.executable, "-m", "benchmarks.train_speed", "--quick", "--threads", "1"]
    command += ["--data", str(data), "--out", str(out)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return out


def _lines(seed: int) -> list[str]:
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefgh", k=draw.randint(2, 6))) for _ in range(50)]
    return [" ".join(draw.choices(words, k=draw.randint(3, 12))) for _ in range(300)]


@pytest.mark.slow
def test_every_round_of_everyone_is_kept(folder: Path) -> None:
    data = json.loads((folder / "results.json").read_text(encoding="utf-8"))

    tiny = data["models"]["tiny"]
    assert set(tiny["contestants"]) == {OURS, "torch"} and tiny["could_not_run"] == {}
    for contestant in tiny["contestants"].values():
        assert len(contestant["rounds"]) == 2
        assert all(len(turn["seconds"]) == len(turn["losses"]) == 2 for turn in contestant["rounds"])
        assert contestant["threads"] == 1 and contestant["versions"]["torch"]
    assert tiny["contestants"][OURS]["parameters"] == tiny["contestants"]["torch"]["parameters"]
    assert set(tiny["settings_tried_seconds"]["torch"]) == {"default", "math"}
    assert {"cpu", "cpu_flags", "torch"} <= set(data["environment"])


@pytest.mark.slow
def test_the_unfused_twin_has_the_same_losses(folder: Path) -> None:
    tiny = json.loads((folder / "results.json").read_text(encoding="utf-8"))["models"]["tiny"]

    double, single = (tiny["loss_without_dropout"][name] for name in ("float64", "float32"))
    assert double["ours"] == pytest.approx(double["twin"], abs=1e-9) and len(double["ours"]) == 10
    assert single["ours"][:3] == pytest.approx(single["twin"][:3], abs=1e-4)
    assert double["ours"][-1] < double["ours"][0]


@pytest.mark.slow
def test_table_and_plot_are_written(folder: Path) -> None:
    table = (folder / "table.md").read_text(encoding="utf-8")

    assert "| nn.Transformer (" in table and "unfused twin" in table
    assert (folder / "plot.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_contestant_that_cannot_run_says_why(tmp_path: Path) -> None:
    nothing = Task(tmp_path / "missing.npz", SMALL, 1, tmp_path)

    with pytest.raises(CannotRun, match=r"No such file or directory.*missing\.npz"):
        Child("torch", "default", nothing)


def test_the_twin_has_our_logits() -> None:
    model = ours.build_model(SMALL)
    source, target = torch.randint(20, (3, 7)), torch.randint(20, (3, 5))
    mask = torch.arange(7) < torch.tensor([7, 4, 1])[:, None]

    twin = twin_of(model, SMALL)(source, target, mask)
    torch.testing.assert_close(twin, model(source, target, mask[:, None, None]))


def test_batches_are_full_and_of_like_length() -> None:
    pairs = [([1] * n, [2] * n) for n in (9, 3, 3, 9, 3)]

    batches = bucketed(pairs, batch_tokens=12)
    assert [[len(target) for _, target in batch] for batch in batches] == [[3, 3, 3], [9], [9]]


def test_a_range_is_median_least_and_most() -> None:
    assert Range.of([3.0, 1.0, 2.0]) == (2.0, 1.0, 3.0)
