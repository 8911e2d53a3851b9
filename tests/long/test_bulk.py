"""A corpus through a local Ray cluster whose workers are killed: every line is translated once, in order."""

import os
import random
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from glassformer.bulk import Job, Shards, translate_file
from glassformer.cli import main
from glassformer.cli.progress import LineProgress
from glassformer.decoding import Translator
from tests.support.make_copy_model import DIRECTORY, words

pytest.importorskip("ray", reason="bulk translation needs Ray")
pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore"),  # what Ray and pandas say of each other is not ours
]


def workers() -> Iterator[int]:
    """Processes of ours that translate shards."""
    children: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        children.setdefault(parent, []).append(int(place.name))
    ours = [os.getpid()]
    for pid in ours:
        ours += children.get(pid, [])
    for pid in ours[1:]:
        try:
            name = Path(f"/proc/{pid}/cmdline").read_text()
        except OSError:
            continue
        if "ShardTranslator" in name:
            yield pid


def job(folder: Path, n_lines: int, seed: int) -> tuple[Job, list[str]]:
    lines = words(random.Random(seed), n_lines)
    (folder / "in.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    made = Job(folder / "in.txt", folder / "out.txt", DIRECTORY, {"beam": 1}, lines_per_shard=100)
    return made, lines


def test_every_line_once_though_workers_die(tmp_path: Path) -> None:
    made, lines = job(tmp_path, 4_000, seed=1)
    killed: list[int] = []

    def kill(done: int) -> None:
        if done in (3, 15):
            for pid in list(workers())[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    assert translate_file(made, progress=kill) == len(lines)

    found = made.output.read_text(encoding="utf-8").split("\n")[:-1]
    alone = [each.text for each in Translator.from_pretrained(DIRECTORY).translate(lines, beam=1)]
    print(f"killed {len(killed)} workers; {len(found)} lines for {len(lines)}")
    assert killed
    assert found == alone


def test_a_job_that_was_stopped_goes_on(tmp_path: Path) -> None:
    made, lines = job(tmp_path, 1_000, seed=2)

    class Stop(Exception):
        pass

    def stop(done: int) -> None:
        if done == 4:
            raise Stop

    with pytest.raises(Stop):
        translate_file(made, progress=stop)
    kept = sorted(Shards(made.source, made.output, 100).folder.glob("*.done"))
    times = {path.name: path.stat().st_mtime_ns for path in kept}
    seen: list[int] = []

    def watch(done: int) -> None:
        seen.append(done)
        for path in kept:
            assert path.stat().st_mtime_ns == times[path.name]

    assert translate_file(made, progress=watch) == len(lines)
    assert seen == list(range(4, 11))
    alone = [each.text for each in Translator.from_pretrained(DIRECTORY).translate(lines, beam=1)]
    assert made.output.read_text(encoding="utf-8").split("\n")[:-1] == alone


def test_the_command_tells_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made, lines = job(tmp_path, 1_200, seed=3)
    monkeypatch.setattr(LineProgress, "EVERY", 0.0)
    files = ["-i", str(made.source), "-o", str(made.output)]
    monkeypatch.setattr(
        sys,
        "argv",
        ["glassformer", "translate", "-m", str(DIRECTORY), "--ray", "local", "--beam", "1", *files],
    )
    with pytest.raises(SystemExit) as end:
        main()

    told = capsys.readouterr().err
    assert end.value.code == 0
    assert [line.split(" lines")[0] for line in told.splitlines() if "a second, ETA" in line] == [
        "0 of 1,200",
        "500 of 1,200",
        "1,000 of 1,200",
        "1,200 of 1,200",
    ]
    assert len(made.output.read_text(encoding="utf-8").splitlines()) == len(lines)
