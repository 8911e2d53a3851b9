"""Curves are drawn from metrics.jsonl alone."""

import json
from pathlib import Path

from glassformer.training import draw_run, draw_runs


def write(path: Path, *, valid: bool = True) -> Path:
    lines = [
        {"t": step, "step": step, "split": "train", "nll": 5.0 / step, "lr": 0.1 / step}
        for step in range(1, 20)
    ]
    if valid:
        lines += [
            {
                "t": step,
                "step": step,
                "split": "valid",
                "loss": 5.5 / step,
                "bleu": float(step),
                "chrf": 2.0 * step,
            }
            for step in (5, 10, 15)
        ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_every_plot_that_has_data_in_both_formats(tmp_path: Path) -> None:
    written = draw_run(write(tmp_path / "metrics.jsonl"), tmp_path / "plots")

    names = {"loss.svg", "loss.png", "lr.svg", "lr.png", "scores.svg", "scores.png"}
    assert {path.name for path in written} == names
    assert {path.name for path in (tmp_path / "plots").iterdir()} == names  # nothing half-written is left
    assert (tmp_path / "plots" / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_several_runs_in_one_plot(tmp_path: Path) -> None:
    runs = {name: write(tmp_path / f"{name}.jsonl", valid=False) for name in ("one", "two")}
    written = draw_runs(runs, tmp_path / "plots", ["svg"])

    assert [path.name for path in written] == ["loss.svg", "lr.svg"]
    text = (tmp_path / "plots" / "loss.svg").read_text()
    assert "one training" in text and "two training" in text


def test_nothing_to_draw(tmp_path: Path) -> None:
    assert draw_run(tmp_path / "none.jsonl", tmp_path / "plots") == []
