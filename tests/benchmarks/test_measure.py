"""What all benchmarks measure with."""

import json
from pathlib import Path

from benchmarks.measure import environment, interleaved, median_spread, memory_info, write_results


def test_everyone_has_one_turn_in_each_round() -> None:
    calls: list[str] = []
    functions = {name: lambda name=name: calls.append(name) for name in "ab"}

    times = interleaved(3, functions)

    assert "".join(calls) == "ab" + "ababab"
    assert {name: len(seconds) for name, seconds in times.items()} == {"a": 3, "b": 3}
    assert all(second >= 0 for seconds in times.values() for second in seconds)


def test_warming_up_can_be_left_out() -> None:
    calls: list[int] = []

    interleaved(2, {"a": lambda: calls.append(1)}, warm_up=False)

    assert len(calls) == 2


def test_the_spread_holds_the_middle_half() -> None:
    assert median_spread([5.0, 1.0, 2.0, 100.0, 3.0]) == (3.0, 2.0, 5.0)
    assert median_spread([7.0]) == (7.0, 7.0, 7.0)


def test_the_environment_is_plain_data() -> None:
    record = environment()

    assert json.loads(json.dumps(record)) == record
    assert record["threads"] == 1  # as conftest sets it
    assert isinstance(record["cpu_flags"], list)


def test_memory_is_in_bytes() -> None:
    assert 2**27 < memory_info()["MemTotal"] < 2**50


def test_results_are_kept_as_json(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"

    write_results(folder, {"n": 1, "name": "größer"})

    text = (folder / "results.json").read_text(encoding="utf-8")
    assert "größer" in text and json.loads(text) == {"n": 1, "name": "größer"}
