"""Signals become a flag, lines wait for room, metrics are rewound to where a run resumes."""

import json
import os
import signal
import threading
from pathlib import Path

import pytest

from glassformer.training import LineFile, Several, Silent, read_metrics
from glassformer.training.events import Metrics, StopSignals, rewind_metrics
from tests.support.runs import Telling


def test_a_signal_is_a_flag_and_a_second_one_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("glassformer.training.events.time.monotonic", lambda: now[0])
    before = signal.getsignal(signal.SIGTERM)
    with StopSignals() as signals:
        assert not signals.asked
        signal.raise_signal(signal.SIGTERM)
        assert signals.received == signal.SIGTERM
        now[0] += 0.5
        signal.raise_signal(signal.SIGTERM)  # torchrun hands on what the terminal had sent already
        now[0] += 1
        with pytest.raises(SystemExit) as end:
            signal.raise_signal(signal.SIGINT)

    assert end.value.code == 130
    assert signal.getsignal(signal.SIGTERM) is before


def test_another_thread_trains_without_handlers() -> None:
    found: list[bool] = []

    def work() -> None:
        with StopSignals() as signals:
            found.append(signals.asked)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert found == [False]


def test_lines_wait_for_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = LineFile(tmp_path / "log")
    write = os.write

    def full(_descriptor: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    file.write("one")
    with monkeypatch.context() as patch:
        patch.setattr("glassformer.training.events.os.write", full)
        file.write("two")
    monkeypatch.setattr("glassformer.training.events.os.write", lambda d, data: write(d, data[:2]))
    file.write("three")
    file.close()

    assert (tmp_path / "log").read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize(("validated", "kept"), [(True, [1, 2, 2]), (False, [1, 2])])
def test_metrics_are_rewound(validated: bool, kept: list[int], tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    metrics = Metrics(path)
    for step in (1, 2):
        metrics.record("train", step, {"loss": 1.0})
    metrics.record("valid", 2, {"loss": 2.0})
    metrics.record("train", 3, {"loss": 1.0})
    metrics.record("average", 2, {"loss": 2.0})
    metrics.close()
    with path.open("a") as file:
        file.write('{"t": 1, "ste')  # killed while writing
    rewind_metrics(path, 2, validated=validated)

    assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == kept
    assert [line["step"] for line in read_metrics(path)] == kept


def test_several_listeners_hear_the_same() -> None:
    one, other = Telling(), Telling()
    several = Several(one, Silent(), other)
    several.warned("careful")

    assert one.warnings == other.warnings == ["careful"]
