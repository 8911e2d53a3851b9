"""Directories that appear whole or not at all."""

import ctypes
import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from glassformer.checkpoint import files
from glassformer.checkpoint.files import (
    link_or_copy,
    remove_stale,
    require_space,
    write_directory,
    write_file,
    write_file_atomic,
)
from glassformer.checkpoint.manifest import MANIFEST, verify
from glassformer.errors import CheckpointError
from tests.unit.checkpoint.faults import Crash, failing, written_down


def fill(text: str = "one") -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        write_file(folder / "a.txt", [text.encode(), b"", bytearray(b"!")])
        write_file(folder / "b.bin", [bytes(range(256))])

    return write


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def test_a_written_directory_verifies_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    manifest = write_directory(tmp_path / "new" / "deep" / "x", fill())

    assert verify(tmp_path / "new" / "deep" / "x") == manifest
    assert sorted(manifest.files) == ["a.txt", "b.bin"]
    assert leftovers(tmp_path / "new" / "deep") == []


def test_an_existing_directory_is_not_overwritten(tmp_path: Path) -> None:
    write_directory(tmp_path / "x", fill())
    with pytest.raises(CheckpointError) as refused:
        write_directory(tmp_path / "x", fill("two"))

    assert str(refused.value) == f"{tmp_path / 'x'}: this exists already; it is not overwritten"
    assert (tmp_path / "x" / "a.txt").read_text() == "one!"


@pytest.mark.parametrize("can_exchange", [True, False])
def test_replacing_leaves_the_new_one_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    if not can_exchange:
        monkeypatch.setattr(files, "exchange", lambda *_: False)
    write_directory(tmp_path / "x", fill())
    write_directory(tmp_path / "x", fill("two"), replace=True)

    assert (tmp_path / "x" / "a.txt").read_text() == "two!"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    verify(tmp_path / "x")


def test_the_old_or_the_new_one_is_complete_whenever_a_replacement_stops(tmp_path: Path) -> None:
    write_directory(tmp_path / "good" / "x", fill())
    with failing(None, Crash) as calls:
        write_directory(tmp_path / "good" / "x", fill("two"), replace=True)
    seen = set()
    for at in range(1, len(calls) + 1):
        folder = tmp_path / str(at)
        write_directory(folder / "x", fill())
        with pytest.raises(Crash), failing(at, Crash):
            write_directory(folder / "x", fill("two"), replace=True)
        verify(folder / "x")
        seen.add((folder / "x" / "a.txt").read_text())

    assert seen == {"one!", "two!"}


def test_without_exchange_both_are_complete_whenever_a_replacement_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "exchange", lambda *_: False)
    write_directory(tmp_path / "good" / "x", fill())
    with failing(None, Crash) as calls:
        write_directory(tmp_path / "good" / "x", fill("two"), replace=True)
    for at in range(1, len(calls) + 1):
        folder = tmp_path / str(at)
        write_directory(folder / "x", fill())
        with pytest.raises(Crash), failing(at, Crash):
            write_directory(folder / "x", fill("two"), replace=True)
        places = [folder / "x", *folder.glob(".old-*")]

        assert any(verify(place) for place in places if (place / MANIFEST).exists())


@pytest.mark.parametrize("can_exchange", [True, False])
def test_an_error_anywhere_is_told_in_one_line_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    if not can_exchange:
        monkeypatch.setattr(files, "exchange", lambda *_: False)
    write_directory(tmp_path / "x", fill())
    with failing(None, Crash) as calls:
        write_directory(tmp_path / "x", fill(), replace=True)
    told = set()
    for at, call in enumerate(calls, start=1):
        with failing(at, lambda: OSError(errno.EIO, "Input/output error")):
            try:
                write_directory(tmp_path / "x", fill(), replace=True)
            except CheckpointError as error:
                told.add(str(error))
        verify(tmp_path / "x")
        if call not in ("unlink", "rmdir", "open"):  # those may be the cleaning up
            assert leftovers(tmp_path) == []
        for name in leftovers(tmp_path):
            shutil.rmtree(tmp_path / name)

    assert told == {f"{tmp_path}: cannot write (Input/output error); what was there before is intact"}


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (errno.EROFS, "this file system is read-only"),
        (errno.EACCES, "no permission to write here"),
        (errno.ENOTDIR, "a file stands where a directory is needed"),
    ],
)
def test_the_reason_of_the_system_is_said_in_words(tmp_path: Path, code: int, told: str) -> None:
    def write(_: Path) -> None:
        raise OSError(code, "as the system has it")

    with pytest.raises(CheckpointError) as refused:
        write_directory(tmp_path / "x", write)

    assert str(refused.value) == f"{tmp_path}: {told}; what was there before is intact"
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_with_what_is_needed_and_what_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = shutil.disk_usage(tmp_path)._replace(free=3_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: space)
    with pytest.raises(CheckpointError) as refused:
        write_directory(tmp_path / "x", fill(), expected_size=12_000_000, assurance="earlier ones are intact")
    with pytest.raises(CheckpointError) as helper:
        require_space(tmp_path, 2_000_000)
    require_space(tmp_path, 1_500_000)

    assert str(refused.value) == (
        f"{tmp_path}: disk is full (needs about 12 MB, 3.0 MB free); earlier ones are intact"
    )
    assert str(helper.value) == (
        f"{tmp_path}: disk is full (needs about 4.0 MB, 3.0 MB free); what was there before is intact"
    )


def test_another_exception_passes_through_and_cleans_up(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        write_file(folder / "a", [b"1"])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_directory(tmp_path / "x", write)

    assert list(tmp_path.iterdir()) == []


def test_everything_is_on_disk_before_it_has_its_name(tmp_path: Path) -> None:
    """What a power cut leaves is decided by the order of these calls."""
    with written_down() as events:
        write_directory(tmp_path / "x", fill())
    renamed = next(place for place, (call, _) in enumerate(events) if call == "rename")
    temporary = events[renamed][1]
    manifest_written = events.index(("write", MANIFEST))

    for name in ("a.txt", "b.bin"):
        last_write = max(place for place, event in enumerate(events) if event == ("write", name))
        assert last_write < events.index(("fsync", name)) < manifest_written
    assert manifest_written < events.index(("fsync", MANIFEST)) < events.index(("fsync", temporary)) < renamed
    assert events[renamed + 1] == ("fsync", tmp_path.name)


def test_a_small_file_is_the_old_or_the_new_one_whenever_writing_stops(tmp_path: Path) -> None:
    write_file_atomic(tmp_path / "p" / "latest.json", b"old")
    with failing(None, Crash) as calls:
        write_file_atomic(tmp_path / "p" / "latest.json", b"new")
    seen = set()
    for at in range(1, len(calls) + 1):
        path = tmp_path / str(at) / "latest.json"
        write_file_atomic(path, b"old")
        with pytest.raises(Crash), failing(at, Crash):
            write_file_atomic(path, b"new")
        seen.add(path.read_bytes())

    assert seen == {b"old", b"new"}


def test_a_large_write_that_the_system_cuts_short_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:7]))
    write_file(tmp_path / "a", [bytes(range(100))])

    assert (tmp_path / "a").read_bytes() == bytes(range(100))


def test_where_there_are_no_links_there_is_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_link(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    def no_room(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "a").write_text("1")
    link_or_copy(tmp_path / "a", tmp_path / "linked")
    monkeypatch.setattr(os, "link", no_link)
    link_or_copy(tmp_path / "a", tmp_path / "copied")
    monkeypatch.setattr(os, "link", no_room)
    with pytest.raises(OSError, match="No space"):
        link_or_copy(tmp_path / "a", tmp_path / "none")

    assert (tmp_path / "a").stat().st_nlink == 2
    assert (tmp_path / "copied").read_text() == "1"


def test_a_system_without_the_call_to_exchange_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(FileNotFoundError):
        files.exchange(tmp_path / "a", tmp_path / "missing")
    with monkeypatch.context() as patch:
        patch.setattr(files, "_CANNOT_EXCHANGE", {errno.ENOENT})
        assert not files.exchange(tmp_path / "a", tmp_path / "missing")
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())

    assert not files.exchange(tmp_path / "a", tmp_path / "missing")


WRITER = """
import os, sys, time
from pathlib import Path
from glassformer.checkpoint.files import write_directory
def write(folder):
    print("writing", flush=True)
    time.sleep(60)
write_directory(Path(sys.argv[1]), write)
"""


@pytest.fixture
def writer(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Another process that is in the middle of writing ``x``."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "x")], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_only_what_a_dead_process_left_is_cleaned_up(
    tmp_path: Path, writer: "subprocess.Popen[bytes]"
) -> None:
    os.utime(tmp_path / leftovers(tmp_path)[0], (0, 0))
    (tmp_path / ".tmp-young").mkdir()
    (tmp_path / "x.tmp-").touch()

    assert remove_stale(tmp_path) == []  # one is being written, the other may be
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert len(remove_stale(tmp_path)) == 1
    assert leftovers(tmp_path) == [".tmp-young"]
    assert remove_stale(tmp_path, older_than=-1) == [".tmp-young"]
    assert [path.name for path in tmp_path.iterdir()] == ["x.tmp-"]
