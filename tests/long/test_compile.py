"""``--compile``: the same losses as without, by the command that users type. Needs a C++ compiler."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.processes import command, finish, write_config


@pytest.mark.long
@pytest.mark.skipif(not any(map(shutil.which, ("g++", "clang++"))), reason="there is no C++ compiler")
def test_a_compiled_run_learns_what_a_plain_one_does(tmp_path: Path) -> None:
    # BPE-dropout and accumulation bring many shapes; without dropout nothing is left to chance but rounding.
    config = write_config(tmp_path, steps=20, log_every=1)
    losses = {}
    for name, compiled in (("plain", "false"), ("compiled", "true")):
        settings = ["--set", "model.dropout=0", "--set", f"train.compile={compiled}"]
        process = command(["train", config, "--runs", tmp_path, "--name", name, *settings])
        code, told = finish(process, timeout=1_200)
        assert code == 0, told
        lines = (tmp_path / f"{name}-01" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        losses[name] = [line["loss"] for line in map(json.loads, lines) if line["split"] == "train"]

    assert len(losses["plain"]) == 20
    assert losses["compiled"] == pytest.approx(losses["plain"], rel=1e-4)
