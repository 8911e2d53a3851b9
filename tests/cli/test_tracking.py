"""``--track``: the curves of a run, read back from TensorBoard's files by TensorBoard itself."""

import json
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from glassformer.config import to_toml
from tests.cli.conftest import Cli
from tests.support.corpora import tiny_run


def test_its_files_hold_the_figures_of_metrics_jsonl(cli: Cli, tmp_path: Path) -> None:
    settings = tmp_path / "glassformer.toml"
    settings.write_text(to_toml(tiny_run(tmp_path)), encoding="utf-8")
    assert cli("train", settings, "--name", "run", "--track").code == 0

    run = tmp_path / "runs" / "run-01"
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    board = EventAccumulator(str(run / "tb"))
    board.Reload()

    assert {"train/gnorm", "train/tok_s", "valid/ppl"} <= set(board.Tags()["scalars"])
    for split, name in (("train", "nll"), ("train", "lr"), ("valid", "loss")):
        written = {line["step"]: line[name] for line in lines if line["split"] == split}
        shown = {event.step: event.value for event in board.Scalars(f"{split}/{name}")}
        assert shown == {step: pytest.approx(value, rel=1e-6) for step, value in written.items()}
    assert "sample/text_summary" in board.Tags()["tensors"]
