"""What makes a directory whole."""

import shutil
from pathlib import Path

import pytest

from glassformer.checkpoint.files import write_directory, write_file
from glassformer.checkpoint.manifest import FORMAT, MANIFEST, read_manifest, verify
from glassformer.errors import CheckpointError


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    write_directory(tmp_path / "x", lambda folder: write_file(folder / "a.txt", [b"text"]))
    return tmp_path / "x"


def refusal(directory: Path) -> str:
    with pytest.raises(CheckpointError) as refused:
        verify(directory)
    return str(refused.value)


def test_a_copy_is_as_valid_as_the_original(directory: Path) -> None:
    shutil.copytree(directory, directory.with_name("copy"))

    assert verify(directory.with_name("copy")) == verify(directory)


def test_a_file_that_is_not_in_the_manifest_is_no_concern(directory: Path) -> None:
    (directory / "notes.txt").write_text("mine")

    verify(directory)


def test_what_is_wrong_is_said_with_the_file(directory: Path) -> None:
    path = directory / "a.txt"
    path.write_text("texts")
    larger = refusal(directory)
    path.write_text("Text")
    changed = refusal(directory)
    path.unlink()
    missing = refusal(directory)

    assert larger == f"{path}: 5 bytes, but 4 were written; the file is damaged or incomplete"
    assert changed == f"{path}: the content is not what was written (SHA-256 differs); it is damaged"
    assert missing == f"{path}: there is no such file"


def test_any_other_byte_in_a_manifest_is_refused(directory: Path) -> None:
    path = directory / MANIFEST
    data = path.read_bytes()
    for place in range(len(data)):
        for other in {0x20, 0x0A, 0x30, 0x41, data[place] ^ 0x20} - {data[place]}:
            path.write_bytes(data[:place] + bytes([other]) + data[place + 1 :])
            with pytest.raises(CheckpointError):
                verify(directory)
    path.write_bytes(data)
    verify(directory)


def test_a_newer_format_asks_for_a_newer_program(directory: Path) -> None:
    path = directory / MANIFEST
    path.write_text('{"format": 99, "anything": "else"}')

    assert refusal(directory) == (
        f"{path}: format 99 is newer than the {FORMAT} that this glassformer reads; upgrade it"
    )


@pytest.mark.parametrize(
    "manifest",
    [
        "{}",
        '{"format": 0, "files": {}}',
        '{"format": true, "files": {}}',
        '{"format": 1, "files": []}',
        '{"format": 1, "files": {"../a.txt": {"size": 4, "sha256": "' + "0" * 64 + '"}}}',
        '{"format": 1, "files": {"/etc/passwd": {"size": 4, "sha256": "' + "0" * 64 + '"}}}',
        '{"format": 1, "files": {"a.txt": {"size": -4, "sha256": "' + "0" * 64 + '"}}}',
        '{"format": 1, "files": {"a.txt": {"size": 4, "sha256": "0"}}}',
        '{"format": 1, "files": {"a.txt": 4}}',
    ],
)
def test_a_manifest_that_we_would_not_write_is_refused(directory: Path, manifest: str) -> None:
    (directory / MANIFEST).write_text(manifest)

    assert refusal(directory) == (
        f"{directory / MANIFEST}: this is not a manifest that glassformer wrote; it was changed or damaged"
    )


def test_a_file_that_must_be_there_is_asked_of_the_manifest(directory: Path) -> None:
    with pytest.raises(CheckpointError) as refused:
        read_manifest(directory).read(directory, "a.txt.more")
    with pytest.raises(CheckpointError) as unlisted:
        verify(directory, ["state.json"])

    assert str(refused.value) == f"{directory / 'a.txt.more'}: there is no such file"
    assert str(unlisted.value) == (
        f"{directory / MANIFEST}: state.json is not in it; this directory is not complete"
    )


def test_names_that_could_lead_out_are_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        write_directory(tmp_path / "x", lambda folder: write_file(folder / "a\nb", [b"text"]))

    assert list(tmp_path.iterdir()) == []
