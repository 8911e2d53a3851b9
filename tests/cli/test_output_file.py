"""``-o``: a file that is there when it is whole, and a command that was cut off and goes on."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from rich.console import Console

from glassformer.cli.lines import CHUNK
from glassformer.cli.output_file import OutputFile
from glassformer.cli.progress import LineProgress
from glassformer.decoding import TextEncoder, Translator
from glassformer.errors import DataError
from tests.cli.conftest import Cli, Ended
from tests.support.trained import french, trained

WORDS = ("small", "red", "cat", "old", "house", "new", "road")
LINES = [f"{WORDS[i % 7]} {WORDS[i // 7 % 7]}" for i in range(3 * CHUNK + 9)]
PARTS = [".out.txt.partial", ".out.txt.partial.json"]


@pytest.fixture
def model() -> Path:
    """Asked for before anything is cut off: it may have to be trained first."""
    return trained("translator")


@pytest.fixture
def translate(cli: Cli, model: Path, tmp_path: Path) -> Cli:
    write(tmp_path, LINES)
    return lambda *more: cli("translate", "-m", model, "-i", "in.txt", "-o", "out.txt", "--beam", 1, *more)


def write(folder: Path, lines: Sequence[str]) -> None:
    (folder / "in.txt").write_text("".join(f"{line}\n" for line in lines))


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(".*"))


def cut_off(
    monkeypatch: pytest.MonkeyPatch, calls: int, kind: type = Translator, verb: str = "translate"
) -> list[int]:
    """Ctrl-C after so many chunks; gives the sizes of those that were asked for."""
    asked: list[int] = []
    plain = getattr(kind, verb)

    def once(self: object, lines: Sequence[str], **options: object) -> object:
        asked.append(len(lines))
        if len(asked) == calls + 1:
            raise KeyboardInterrupt
        return plain(self, lines, **options)

    monkeypatch.setattr(kind, verb, once)
    return asked


def test_a_command_that_was_cut_off_goes_on(
    translate: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = cut_off(monkeypatch, 2)
    cut = translate()

    assert cut.code == 130 and "512 lines are done and kept; the same command goes on after them" in cut.err
    assert not (tmp_path / "out.txt").exists() and hidden(tmp_path) == PARTS
    assert translate() == Ended(0, "", "going on after 512 lines that are done\nwrote 777 lines to out.txt\n")
    assert asked == [CHUNK, CHUNK, CHUNK, CHUNK, 9]  # the third was asked for twice, the others once
    assert (tmp_path / "out.txt").read_text().splitlines() == [french(line) for line in LINES]
    assert hidden(tmp_path) == []
    assert translate().err == "wrote 777 lines to out.txt\n"  # a finished job begins anew


@pytest.mark.parametrize("alternatives", [(), ("--beam", 2, "--nbest", 2)])
def test_what_a_crash_left_after_the_last_note_is_not_taken(
    translate: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alternatives: tuple[object, ...]
) -> None:
    translate(*alternatives)
    whole = (tmp_path / "out.txt").read_text()
    (tmp_path / "out.txt").unlink()
    cut_off(monkeypatch, 1)
    translate(*alternatives)
    with (tmp_path / PARTS[0]).open("a") as file:
        file.write("half a li")

    assert "going on after 256 lines" in translate(*alternatives).err
    assert (tmp_path / "out.txt").read_text() == whole


def test_vectors_that_were_cut_off_go_on(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, LINES)
    ask = ("embed", "-m", trained("masked"), "-i", "in.txt", "-o", "out.npy")
    assert cli(*ask).err == "wrote (777, 32) to out.npy\n"
    whole = (tmp_path / "out.npy").read_bytes()
    cut_off(monkeypatch, 2, TextEncoder, "embed")
    cut = cli(*ask)

    assert cut.code == 130 and "512 lines are done and kept" in cut.err
    so_far = np.load(tmp_path / ".out.npy.partial", allow_pickle=False)  # is an array at any time
    assert cli(*ask).err == "going on after 512 lines that are done\nwrote (777, 32) to out.npy\n"
    assert (tmp_path / "out.npy").read_bytes() == whole
    vectors = np.load(tmp_path / "out.npy", allow_pickle=False)
    expected = TextEncoder.from_pretrained(trained("masked")).embed(LINES).numpy()
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    np.testing.assert_array_equal(so_far, vectors[:512])
    write(tmp_path, [])
    assert cli(*ask).code == 0 and np.load(tmp_path / "out.npy").shape == (0, 32)


def _nothing(_: Path) -> tuple[object, ...]:
    return ()


def _other_option(_: Path) -> tuple[object, ...]:
    return ("--alpha", 0.5)


def _other_line(folder: Path) -> tuple[object, ...]:
    write(folder, ["red road", *LINES[1:]])
    return ()


def _fewer_lines(folder: Path) -> tuple[object, ...]:
    write(folder, LINES[:100])
    return ()


def _later_line(folder: Path) -> tuple[object, ...]:
    write(folder, [*LINES[:600], "red road", *LINES[601:], "old cat"])
    return ()


def _lost_bytes(folder: Path) -> tuple[object, ...]:
    os.truncate(folder / PARTS[0], 100)
    return ()


def _torn_note(folder: Path) -> tuple[object, ...]:
    (folder / PARTS[1]).write_text('{"job": ')
    return ()


def _odd_note(folder: Path) -> tuple[object, ...]:
    note = json.loads((folder / PARTS[1]).read_text())
    (folder / PARTS[1]).write_text(json.dumps(note | {"bytes": "all"}))
    return ()


def _lost_note(folder: Path) -> tuple[object, ...]:
    (folder / PARTS[1]).unlink()
    return ()


@pytest.mark.parametrize(
    ("change", "goes_on"),
    [
        (_nothing, True),
        (_later_line, True),  # whoever mends a line that stopped the command does not lose those before
        (_other_option, False),
        (_other_line, False),
        (_fewer_lines, False),
        (_lost_bytes, False),
        (_torn_note, False),
        (_odd_note, False),
        (_lost_note, False),
    ],
)
def test_only_the_same_job_is_gone_on_with(
    translate: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], tuple[object, ...]],
    goes_on: bool,
) -> None:
    cut_off(monkeypatch, 2)
    translate()
    more = change(tmp_path)
    ended = translate(*more)

    assert ended.code == 0 and ("going on after 512 lines" in ended.err) == goes_on
    wanted = [french(line) for line in (tmp_path / "in.txt").read_text().splitlines()]
    assert (tmp_path / "out.txt").read_text().splitlines() == wanted
    assert hidden(tmp_path) == []


def test_another_model_begins_anew(
    cli: Cli, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, LINES)
    copytree(model / "model", tmp_path / "model")
    ask = ("translate", "-m", "model", "-i", "in.txt", "-o", "out.txt", "--beam", 1)
    cut_off(monkeypatch, 1)
    cli(*ask)
    os.utime(tmp_path / "model" / "model.safetensors")

    assert cli(*ask) == Ended(0, "", "wrote 777 lines to out.txt\n")


def test_an_input_that_cannot_be_read_again_is_not_gone_on_with(tmp_path: Path) -> None:
    with OutputFile(tmp_path / "out.txt", {}) as file:  # and is left unfinished
        list(file.take_up(lambda: iter(["a"])))
        file.add(["a"], b"A\n")
    assert hidden(tmp_path) == PARTS

    with OutputFile(tmp_path / "out.txt", None) as file:
        assert list(file.take_up(lambda: iter(["a"]))) == ["a"]


def test_lines_of_another_job_are_never_vouched_for(tmp_path: Path) -> None:
    with OutputFile(tmp_path / "out.txt", {"alpha": 1}) as file:
        list(file.take_up(lambda: iter(["a"])))
        file.add(["a"], b"A\n")
    with OutputFile(tmp_path / "out.txt", {"alpha": 2}) as file:  # killed before it noted anything
        file.take_up(lambda: iter(["a"]))

    assert hidden(tmp_path) == PARTS[:1]


def test_what_an_earlier_try_kept_outlives_one_that_did_nothing(tmp_path: Path) -> None:
    def interrupted() -> Iterator[str]:
        raise KeyboardInterrupt
        yield ""

    def look() -> None:
        with OutputFile(tmp_path / "out.txt", {}) as file:
            file.take_up(interrupted)

    with OutputFile(tmp_path / "out.txt", {}) as file:
        list(file.take_up(lambda: iter(["a"])))
        file.add(["a"], b"A\n")
    with pytest.raises(KeyboardInterrupt):
        look()

    assert hidden(tmp_path) == PARTS and (tmp_path / PARTS[0]).read_text() == "A\n"


def test_two_commands_do_not_write_the_same_file(tmp_path: Path) -> None:
    with OutputFile(tmp_path / "out.txt", {}) as first:
        first.take_up(lambda: iter(["a"]))
        with pytest.raises(DataError, match=r"out\.txt: another command is writing this file"):
            OutputFile(tmp_path / "out.txt", {}).__enter__()
        first.add(["a"], b"A\n")
        first.finish()

    assert (tmp_path / "out.txt").read_text() == "A\n"


def test_a_wrong_line_is_told_before_the_first_is_translated(
    translate: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = cut_off(monkeypatch, 99)
    with (tmp_path / "in.txt").open("ab") as file:
        file.write(b"caf\xe9\n")
    ended = translate()

    assert ended.code == 3 and "in.txt: line 778 is not UTF-8" in ended.err
    assert asked == [] and hidden(tmp_path) == []


def test_a_pipe_is_read_once(cli: Cli, model: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    feeder = subprocess.Popen(["sh", "-c", "printf 'red cat\\nold house\\n' > pipe"], cwd=tmp_path)
    ended = cli("translate", "-m", model, "-i", "pipe", "-o", "out.txt")

    assert feeder.wait(timeout=30) == 0 and ended.err == "wrote 2 lines to out.txt\n"


def test_what_a_pipe_brought_is_not_thrown_away(
    cli: Cli, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off(monkeypatch, 1)
    stream = io.TextIOWrapper(io.BytesIO("".join(f"{line}\n" for line in LINES).encode()), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stream)
    ended = cli("translate", "-m", model, "-o", "out.txt")

    assert "the first 256 lines are in .out.txt.partial" in ended.err
    assert len((tmp_path / PARTS[0]).read_text().splitlines()) == CHUNK


def test_a_folder_that_is_not_there(translate: Cli) -> None:
    ended = translate("-o", "nowhere/out.txt")

    assert ended == Ended(3, "", "error: nowhere/out.txt: cannot be written (No such file or directory)\n")


def test_killed_and_begun_again(tmp_path: Path) -> None:
    write(tmp_path, LINES * 6)
    command = [sys.executable, "-m", "glassformer", "translate", "-i", "in.txt", "-o"]
    first = subprocess.Popen([*command, "out.txt"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (tmp_path / PARTS[1]).exists() and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    assert first.wait(timeout=30) == -signal.SIGKILL and not (tmp_path / "out.txt").exists()
    again, straight = (
        subprocess.run([*command, out], cwd=tmp_path, check=True, capture_output=True, text=True)
        for out in ("out.txt", "straight.txt")
    )

    assert "lines that are done\n" in again.stderr and "lines that are done" not in straight.stderr
    assert (tmp_path / "out.txt").read_bytes() == (tmp_path / "straight.txt").read_bytes()
    assert hidden(tmp_path) == []


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds pass between one look at the clock and the next."""
    ticks = iter(range(0, 1000, 10))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))


def lines_of(total: int | None, *, terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=100, color_system=None, soft_wrap=True)
    progress = LineProgress(console, total, 100)
    for done in range(200, 800, 100):
        progress.moved(done)
    return out.getvalue()


@pytest.mark.usefixtures("clock")
def test_how_far_a_file_is_off_a_terminal() -> None:
    assert lines_of(1000, terminal=False) == (
        "400 of 1,000 lines, 10 a second, ETA 1:00\n700 of 1,000 lines, 10 a second, ETA 0:30\n"
    )


@pytest.mark.usefixtures("clock")
def test_how_far_a_file_is_on_a_terminal() -> None:
    shown = [line.strip() for line in lines_of(None, terminal=True).split("\r")]

    assert shown[:2] == ["200 lines, 10 a second", "300 lines, 10 a second"] and len(shown) == 7
