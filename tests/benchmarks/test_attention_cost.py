"""The benchmark of attention runs, and tells what it measured. Times are never asserted."""

import getpass
import json
import math
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import attention_cost
from benchmarks.attention_cost import Case, Result, expected_bytes, growth, growths, markdown, reason_to_skip

ROOT = Path(__file__).parents[2]
GIB = 2**30


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a quick run, started as a user would."""
    out = tmp_path_factory.mktemp("attention_cost") / "made" / "on the way"
    command = [sys.executable, "-m", "benchmarks.attention_cost", "--quick", "--out", str(out)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stderr
    return out


@pytest.mark.slow
def test_every_case_is_measured(folder: Path) -> None:
    data = json.loads((folder / "results.json").read_text(encoding="utf-8"))

    cases = {(row["kind"], row["step"], row["n"]) for row in data["results"]}
    assert len(cases) == len(data["results"]) == 2 * 2 * 4
    for row in data["results"]:
        assert row["skipped"] is None
        assert len(row["seconds"]) == 5 and min(row["seconds"]) > 0
        assert row["peak_bytes"] > 0
    assert set(data) == {"environment", "settings", "growth", "results"}
    assert {"cpu", "cpu_flags", "threads", "torch"} <= set(data["environment"])


@pytest.mark.slow
def test_explicit_memory_is_three_matrices_of_weights(folder: Path) -> None:
    """Memory is no matter of luck, so it can be held: fused attention never has n² numbers."""
    data = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    peaks = {(row["kind"], row["step"], row["n"]): row["peak_bytes"] for row in data["results"]}
    one_matrix = 4 * 8 * 1024**2

    assert peaks["explicit", "forward", 1024] == pytest.approx(3 * one_matrix, rel=0.15)
    assert peaks["fused", "forward", 1024] < one_matrix / 2
    assert peaks["fused", "forward + backward", 1024] < one_matrix


@pytest.mark.slow
def test_table_and_plot_are_written(folder: Path) -> None:
    table = (folder / "table.md").read_text(encoding="utf-8")

    assert (
        "| n | rounds | explicit, forward | fused, forward "
        "| explicit, forward + backward | fused, forward + backward |"
    ) in table
    rows = [line.split()[1] for line in table.splitlines() if line[2:3].isdigit()]
    assert rows == ["128", "256", "512", "1,024"]
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "plot.svg").read_text(encoding="utf-8")


@pytest.mark.slow
def test_nothing_written_names_the_machine(folder: Path) -> None:
    machine = re.compile(rf"\b{re.escape(platform.node() or 'localhost')}\b")
    for name in ("results.json", "table.md"):
        text = (folder / name).read_text(encoding="utf-8")
        assert machine.search(text) is None
        assert str(ROOT) not in text
        assert f"/{getpass.getuser()}/" not in text


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_growth_is_the_exponent_of_a_power_law(power: float) -> None:
    assert growth([(n, 3 * n**power) for n in (128, 256, 512)]) == pytest.approx(power)


def test_what_does_not_fit_is_not_run() -> None:
    huge = Case("explicit", "forward", 16_384)

    assert expected_bytes(huge) > 24 * GIB
    assert reason_to_skip(huge, 64 * GIB) is None
    assert reason_to_skip(huge, 24 * GIB) == (
        "would need about 25 GiB, more than 60% of the 24 GiB available"
    )
    assert reason_to_skip(huge._replace(kind="fused"), 2 * GIB) is None


def test_a_skipped_case_is_told_and_left_out_of_the_growth() -> None:
    names = [(kind, step) for step in attention_cost.PASSES for kind in attention_cost.KINDS]
    results = [Result(*name, n, [n**2 / 1e6] * 5, n * 1024) for n in (1024, 2048, 4096) for name in names]
    results += [Result(*name, 8192, [], None, skipped="too large") for name in names]
    machine: dict[str, object] = dict.fromkeys(("cpu", "threads", "cores", "torch", "date"), "x")

    table = markdown(results, machine)
    assert "| 8,192 | 0 | – | – | – | – |" in table
    assert "- Not run: explicit, forward, n = 8,192: too large." in table
    assert all(p == {"from_n": 1024, "to_n": 4096, "time": 2, "memory": 1} for p in growths(results).values())
    assert math.isclose(results[0].time.median, 1024**2 / 1e6)
