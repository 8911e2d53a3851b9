"""The benchmark of decoding runs, and tells what it measured. Times are never asserted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.decode_peers.contest import contestants
from tests.engine.native import ROOT, needs_library
from tests.unit.decoding.texts import translator

TEXTS = ["The cat sat on the mat.", "A dog is sleeping.", "", "Hello!"]


@pytest.mark.slow
@needs_library
def test_every_round_of_everyone_is_kept(tmp_path: Path) -> None:
    translator().save_pretrained(tmp_path / "model")
    for name in ("source", "reference"):
        (tmp_path / name).write_text("\n".join(TEXTS) + "\n")
    command = [sys.executable, "-m", "benchmarks.decode_speed", str(tmp_path / "model"), "--threads", "1"]
    command += ["--source", str(tmp_path / "source"), "--reference", str(tmp_path / "reference")]
    command += ["--rounds", "2", "--batch", "2", "--alone", "1", "--out", str(tmp_path / "out")]
    command += ["--only", "int8", "float32"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    data = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    (model,) = data["models"].values()

    assert model["could_not_run"] == {}
    assert len(model["ways"]) == 4
    for way, sentences in zip(model["ways"].values(), (1, 3, 1, 3), strict=True):
        for contestant in way["contestants"].values():
            assert len(contestant["rounds"]) == 2 and len(contestant["outputs"]) == sentences
            assert contestant["tokens_per_second"]["median"] > 0
    assert "BLEU" in (tmp_path / "out" / "table.md").read_text(encoding="utf-8")


def test_peers_are_tried_at_several_thread_settings() -> None:
    who = contestants(2)

    assert [each["threads"] for each in who["int8"].settings] == [1, 2]
    assert {(each["inter_threads"], each["intra_threads"]) for each in who["ctranslate2-int8"].settings} == {
        (1, 1),
        (2, 1),
        (1, 2),
    }
