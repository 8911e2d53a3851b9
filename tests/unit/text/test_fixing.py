"""Fixing: pairs are dropped, never sides; each with its reason; files appear whole."""

import gzip
import json
from pathlib import Path

import pytest

from glassformer.errors import DataError
from glassformer.text import Labelled, Lines, Pairs, fix, sift

PAIRS = [
    ("A dog is here.", "Un chien est là."),
    ("", "vide"),
    ("A dog is here.", "Un chien est là."),
    ("Tab-free\u2028text.", "Texte sans tabulation."),
    ("", ""),
    ("A copy \ufffd", "A copy \ufffd"),
]
KEPT = [PAIRS[0], PAIRS[3]]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.en").write_text("".join(f"{source}\n" for source, _ in PAIRS), encoding="utf-8")
    Path("a.fr.gz").write_bytes(gzip.compress("".join(f"{target}\n" for _, target in PAIRS).encode()))
    Path("a.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), encoding="utf-8")


def names(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def test_every_line_has_its_verdict() -> None:
    verdicts = list(sift(Pairs.from_list(PAIRS)))

    assert [verdict.line for verdict in verdicts] == [1, 2, 3, 4, 5, 6]
    assert [verdict.row for verdict in verdicts] == PAIRS
    assert [verdict.reasons for verdict in verdicts] == [
        (),
        ("one side empty",),
        ("duplicate",),
        (),
        ("empty",),
        ("copy", "replacement character"),
    ]


def test_two_files_become_two_files() -> None:
    fixed = fix(Pairs.from_files("a.en", "a.fr.gz"), Path("out"))

    assert fixed.to_dict() == {
        "n_kept": 2,
        "n_dropped": 4,
        "reasons": {
            "one side empty": 1,
            "duplicate": 1,
            "empty": 1,
            "copy": 1,
            "replacement character": 1,
        },
        "paths": ["out/a.en", "out/a.fr", "out/dropped.tsv"],
    }
    assert list(Pairs.from_files("out/a.en", "out/a.fr")) == KEPT
    assert names("out") == ["a.en", "a.fr", "dropped.tsv"]
    assert Path("out/dropped.tsv").read_text() == (
        "2\tone side empty\n3\tduplicate\n5\tempty\n6\tcopy, replacement character\n"
    )


def test_other_formats_stay_what_they_are() -> None:
    entries = [{"source": source, "target": target} for source, target in PAIRS]
    Path("a.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    Path("a.txt").write_text("one\n\none\ntwo\n")
    labelled = Labelled.from_list([("fine", "good"), ("fine", "good")])

    fix(Pairs.from_tsv("a.tsv"), Path("out"))
    fix(Pairs.from_jsonl("a.jsonl"), Path("out"))
    fix(Lines.from_file("a.txt"), Path("out"))
    fix(labelled, Path("out"))

    assert list(Pairs.from_tsv("out/a.tsv")) == list(Pairs.from_jsonl("out/a.jsonl")) == KEPT
    assert list(Lines.from_file("out/a.txt")) == ["one", "two"]
    assert list(Labelled.from_jsonl("out/corpus.jsonl")) == [("fine", "good")]


def test_what_is_in_validation_is_left_out() -> None:
    fixed = fix(Pairs.from_tsv("a.tsv"), Path("out"), valid=Pairs.from_list([PAIRS[0]]))

    assert list(Pairs.from_tsv("out/a.tsv")) == [PAIRS[3]]
    assert fixed.reasons["in validation"] == 2


def test_files_of_one_name_are_told_apart() -> None:
    for folder, text in (("en", "A dog.\n"), ("fr", "Un chien.\n")):
        Path(folder).mkdir()
        Path(folder, "train.txt").write_text(text)

    fixed = fix(Pairs.from_files("en/train.txt", "fr/train.txt"), Path("out"))

    assert [path.name for path in fixed.paths] == ["source.train.txt", "target.train.txt", "dropped.tsv"]


def test_the_corpus_itself_is_never_overwritten() -> None:
    with pytest.raises(DataError) as error:
        fix(Pairs.from_tsv("a.tsv"), Path())

    assert str(error.value) == "a.tsv: this is the corpus that is being read; choose another directory"
    assert len(list(Pairs.from_tsv("a.tsv"))) == len(PAIRS)


def test_when_nothing_is_left_nothing_is_written() -> None:
    with pytest.raises(DataError) as error:
        fix(Pairs.from_list([("", "a"), ("", "")]), Path("out"))

    assert str(error.value) == "the given list: nothing is left of 2 lines; nothing was written"
    assert names("out") == []


def test_a_full_disk_leaves_no_half_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DataError, match=r"^out: No space left on device$"):
        fix(Pairs.from_tsv("a.tsv"), Path("out"))

    assert names("out") == []
