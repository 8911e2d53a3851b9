"""Lines: one end of line, one encoding, constant memory."""

import gzip
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.errors import DataError
from glassformer.text.lines import MAX_LINE_BYTES, lone_surrogate, read_lines


def written(tmp_path: Path, content: bytes, name: str = "corpus.fr") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"one", ["one"]),
        (b"one\n", ["one"]),
        (b"one\n\n", ["one", ""]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"one\r\r\n", ["one\r"]),
        (b"\xef\xbb\xbfone\ntwo", ["one", "two"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf\n", [""]),
        ("a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\n".encode(), ["a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g"]),
        ("déjà\n".encode(), ["déjà"]),
        (b"one\r\nno end", ["one", "no end"]),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_line_ends_at_a_line_feed_only(
    content: bytes, lines: list[str], packed: bool, tmp_path: Path
) -> None:
    path = written(tmp_path, gzip.compress(content) if packed else content)

    assert list(read_lines(path)) == lines


@settings(deadline=None, max_examples=100)
@given(lines=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"))))
def test_what_is_written_is_read(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    kept = [line.removeprefix("\ufeff").removesuffix("\r") for line in lines]
    path = written(tmp_path_factory.mktemp("lines"), "".join(f"{line}\n" for line in kept).encode())

    assert list(read_lines(path)) == kept


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"good\nabc\xffdef\n", "corpus.fr: line 2 is not UTF-8 (byte 0xff at column 4)"),
        ("été".encode("latin-1"), "corpus.fr: line 1 is not UTF-8 (byte 0xe9 at column 1)"),
        ("a\n".encode("utf-16"), "corpus.fr: line 1 is not UTF-8 (byte 0xff at column 1)"),
        (b"\xed\xa0\x80\n", "corpus.fr: line 1 is not UTF-8 (byte 0xed at column 1)"),
        (
            b"ok\n" + b"a" * (MAX_LINE_BYTES + 1),
            "corpus.fr: line 2 is longer than 1048576 bytes; split or remove it",
        ),
    ],
)
def test_mistakes_are_told(
    content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus.fr").write_bytes(content)

    with pytest.raises(DataError) as error:
        list(read_lines(Path("corpus.fr")))

    assert str(error.value) == message


def test_a_line_at_the_limit_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, b"a" * MAX_LINE_BYTES + b"\nb\n")

    assert [len(line) for line in read_lines(path)] == [MAX_LINE_BYTES, 1]


def test_an_endless_line_takes_constant_memory(tmp_path: Path) -> None:
    path = tmp_path / "corpus.en"
    with path.open("wb") as file:
        file.write(b"good\n")
        file.truncate(50_000_000)
    tracemalloc.start()

    with pytest.raises(DataError, match=r"line 2 is longer than 1048576 bytes"):
        list(read_lines(path))

    assert tracemalloc.get_traced_memory()[1] < 8_000_000
    tracemalloc.stop()


def test_a_packed_line_without_end_takes_constant_memory(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(bytes(50_000_000)))
    tracemalloc.start()

    with pytest.raises(DataError, match=r"line 1 is longer than 1048576 bytes"):
        list(read_lines(path))

    assert tracemalloc.get_traced_memory()[1] < 8_000_000
    tracemalloc.stop()


def test_truncated_gzip_is_refused_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole = gzip.compress("".join(f"line {n}\n" for n in range(1000)).encode())
    Path("corpus.gz").write_bytes(whole[:500])

    with pytest.raises(DataError) as error:
        list(read_lines(Path("corpus.gz")))

    assert str(error.value) == "corpus.gz: the gzip data ends early, after byte 500; copy the file again"


def test_damaged_gzip_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole = bytearray(gzip.compress("".join(f"line {n}\n" for n in range(1000)).encode()))
    whole[-6] ^= 1  # in the check sum
    Path("corpus.gz").write_bytes(whole)

    with pytest.raises(DataError) as error:
        list(read_lines(Path("corpus.gz")))

    size = len(whole)
    assert str(error.value) == f"corpus.gz: the gzip data is damaged before byte {size}; copy the file again"


def test_files_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("secret").write_bytes(b"a\n")

    def refuse(_path: Path, _mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    with pytest.raises(DataError, match=r"^missing: there is no such file$"):
        list(read_lines(Path("missing")))
    with pytest.raises(DataError, match=r"^folder: this is a directory; name a file of text$"):
        list(read_lines(Path("folder")))
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"^secret: Permission denied$"):
        list(read_lines(Path("secret")))


def test_half_characters_are_found() -> None:
    assert lone_surrogate("déjà 👍") is None
    assert lone_surrogate("abc") is None
    assert lone_surrogate("ab\ud83dc") == 2
