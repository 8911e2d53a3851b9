"""The benchmark of decoding runs, and tells what it measured. Times are never asserted."""

import json
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from benchmarks.decode_peers.contest import Child, Team, Turn, Way, contestants, play
from tests.engine.native import ROOT, needs_library
from tests.unit.decoding.texts import translator

TEXTS = ["The cat sat on the mat.", "A dog is sleeping.", "", "Hello!"]


@pytest.mark.slow
@needs_library
def test_every_round_of_everyone_is_kept(tmp_path: Path) -> None:
    translator().save_pretrained(tmp_path / "model")
    for name in ("source", "reference"):
        (tmp_path / name).write_text("\n".join(TEXTS) + "\n")
    given = [str(tmp_path / name) for name in ("model", "source", "reference")]
    command = [sys.executable, "-m", "benchmarks.decode_speed", "--model", *given, "--threads", "1"]
    command += ["--rounds", "2", "--batch", "2", "--alone", "1", "--out", str(tmp_path / "out")]
    command += ["--only", "int8", "float32", "int8-shortlist"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    data = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    (model,) = data["models"].values()

    assert model["could_not_run"] == {"int8-shortlist": "there is no shortlist of this model"}
    assert len(model["ways"]) == 6
    for way, sentences in zip(model["ways"].values(), (1, 3, 1, 3, 3, 3), strict=True):
        for contestant in way["contestants"].values():
            assert [each["outputs"] for each in contestant["rounds"]] == [sentences] * 2
            assert contestant["tokens_per_second"]["median"] > 0
    assert "BLEU" in (tmp_path / "out" / "table.md").read_text(encoding="utf-8")
    assert {"plot.svg", "plot.png"} < {path.name for path in (tmp_path / "out").iterdir()}


def test_peers_are_tried_at_several_thread_settings() -> None:
    who = contestants(2)

    assert [each["threads"] for each in who["int8"].settings] == [1, 2]
    assert {(each["inter_threads"], each["intra_threads"]) for each in who["ctranslate2-int8"].settings} == {
        (1, 1),
        (2, 1),
        (1, 2),
    }


def test_the_slow_have_fewer_turns_and_no_round_begins_too_late() -> None:
    way = Way("greedy", 1, 0.0, False, 1, 1)
    turn = Turn([0.1], 0.1, [[5]], 1)

    class Fake:
        def decode(self, _way: Way) -> Turn:
            return turn

    def team(*, slow: bool) -> Team:
        return Team(slow, [cast(Child, Fake())], {way.name: 0}, {})

    teams = {"fast": team(slow=False), "slow": team(slow=True)}
    all_rounds = play(teams, 4, 10.0, [way])[way.name]
    no_time = play(teams, 4, -1.0, [way])[way.name]

    assert [len(all_rounds[name]) for name in ("fast", "slow")] == [4, 2]
    assert [len(turns) for turns in no_time.values()] == [1, 1]
