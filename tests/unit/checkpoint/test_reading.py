"""The strict reader of JSON and of files that may be anything."""

import errno
import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glassformer.checkpoint.reading import (
    JSON_LIMIT,
    human_size,
    json_bytes,
    json_object,
    open_regular,
    read_bounded,
    read_json,
)
from glassformer.errors import CheckpointError

REFUSED = {
    b'{"a": 1, "a": 2}': "x: not valid JSON: key 'a' appears twice",
    b'{"a": NaN}': "x: not valid JSON: NaN is not a number of JSON",
    b'{"a": -Infinity}': "x: not valid JSON: -Infinity is not a number of JSON",
    b'{"a": 1e999}': "x: not valid JSON: number 1e999 is too large",
    b'{"a": ' + b"9" * 5000 + b"}": "x: not valid JSON: a number of 5000 digits is too large",
    b"[" * 17 + b"]" * 17: "x: not valid JSON: nested deeper than 16",
    b"[1]": "x: not valid JSON: an object is expected",
    b"": "x: not valid JSON: Expecting value: line 1 column 1 (char 0)",
    b'{"a": 1': "x: not valid JSON: Expecting ',' delimiter: line 1 column 8 (char 7)",
    b"\xef\xbb\xbf{}": "x: not valid JSON: Unexpected UTF-8 BOM (decode using utf-8-sig): "
    "line 1 column 1 (char 0)",
    b'{"a": "\xff"}': "x: not valid JSON: 'utf-8' codec can't decode byte 0xff in position 7: "
    "invalid start byte",
}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
numbers = st.integers(-(2**128), 2**128) | st.floats(allow_nan=False, allow_infinity=False)
leaves = st.none() | st.booleans() | numbers | texts
values = leaves | st.lists(leaves, max_size=3) | st.dictionaries(texts, leaves, max_size=3)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # the first draw builds its tables
@given(st.dictionaries(texts, values, max_size=4))
def test_what_was_written_is_read_back_equal(table: dict[str, object]) -> None:
    assert json_object(json_bytes(table), "x") == table


@pytest.mark.parametrize("data", REFUSED)
def test_json_that_is_not_strict_is_refused_with_the_reason(data: bytes) -> None:
    with pytest.raises(CheckpointError) as refused:
        json_object(data, "x")

    assert str(refused.value) == REFUSED[data]


def test_brackets_inside_strings_are_no_depth() -> None:
    assert json_object(b'{"a": "' + b"[" * 100 + rb"\"{" + b'"}', "x") == {"a": "[" * 100 + '"{'}


@pytest.mark.parametrize("data", [b"[" * 5_000_000, b'{"' + rb"\"" * 2_500_000, b'["' * 2_500_000])
def test_hostile_nesting_is_refused_in_linear_time(data: bytes) -> None:
    start = time.process_time()
    with pytest.raises(CheckpointError):
        json_object(data, "x")

    assert time.process_time() - start < 5


def test_a_file_larger_than_its_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.touch()
    os.truncate(path, 10**12)  # sparse: it takes no room
    with pytest.raises(CheckpointError) as refused:
        read_json(path)

    assert str(refused.value) == f"{path}: 1.0 TB; it may have 16 MB at most"
    assert JSON_LIMIT == 16_000_000


def test_pipes_links_and_directories_are_refused_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    told = {}
    for name in ("link", "loop", "pipe", "directory", "missing"):
        with pytest.raises(CheckpointError) as refused:
            read_bounded(tmp_path / name)
        told[name] = str(refused.value).removeprefix(f"{tmp_path / name}: ")

    assert told == {
        "link": "this is a symbolic link; put the file itself there",
        "loop": "this is a symbolic link; put the file itself there",
        "pipe": "this is not a regular file",
        "directory": "this is not a regular file",
        "missing": "there is no such file",
    }


def test_an_error_of_the_disk_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text("{}")
    with pytest.raises(CheckpointError) as refused, open_regular(path):
        raise OSError(errno.EIO, "Input/output error")

    assert str(refused.value) == f"{path}: Input/output error"


@pytest.mark.parametrize(
    ("size", "said"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (12_345_678, "12 MB"), (999_999, "1.0 MB"),
     (3_456_000_000, "3.5 GB"), (10**16, "10000 TB")],
)  # fmt: skip
def test_sizes_are_said_as_people_say_them(size: int, said: str) -> None:
    assert human_size(size) == said
