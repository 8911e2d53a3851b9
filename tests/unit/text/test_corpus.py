"""Corpora: lazily, repeatedly, line by line; mistakes named with their line."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.config import CorpusFiles
from glassformer.errors import DataError
from glassformer.text import Corpus, Labelled, Lines, Pair, Pairs, open_corpus

PAIRS = [Pair("A dog.", "Un chien."), Pair("", "vide"), Pair("deux\u2028lignes", "une\x0cpage")]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_files() -> Pairs:
    Path("corpus.en").write_text("".join(f"{pair.source}\n" for pair in PAIRS), encoding="utf-8")
    Path("corpus.fr").write_text("".join(f"{pair.target}\n" for pair in PAIRS), encoding="utf-8")
    return Pairs.from_files("corpus.en", "corpus.fr")


def write_tsv() -> Pairs:
    Path("corpus.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS), encoding="utf-8")
    return Pairs.from_tsv("corpus.tsv")


def write_jsonl() -> Pairs:
    entries = [{"source": s, "target": t, "id": 7} for s, t in PAIRS]
    Path("corpus.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return Pairs.from_jsonl("corpus.jsonl")


@pytest.mark.parametrize("write", [write_files, write_tsv, write_jsonl, lambda: Pairs.from_list(PAIRS)])
def test_pairs_are_read_as_often_as_wanted(write: Callable[[], Pairs]) -> None:
    pairs = write()

    assert list(pairs) == PAIRS
    assert list(pairs) == PAIRS
    assert list(pairs.sources) == [pair.source for pair in PAIRS]
    assert list(pairs.targets) == [pair.target for pair in PAIRS]
    assert list(pairs.texts) == list(pairs.texts) == [side for pair in PAIRS for side in pair]


def test_pairs_are_read_lazily() -> None:
    Path("corpus.tsv").write_text("good\tbon\nno tab here\n")

    assert next(iter(Pairs.from_tsv("corpus.tsv"))) == Pair("good", "bon")


def test_lines_and_labelled_text() -> None:
    Path("a.txt").write_bytes(b"one\n\ntwo\r\n")
    Path("a.tsv").write_text("fine film\tgood\n")
    Path("a.jsonl").write_text('{"text": "fine film", "label": "good"}\n')

    assert list(Lines.from_file("a.txt")) == list(Lines.from_list(["one", "", "two"])) == ["one", "", "two"]
    for corpus in (
        Labelled.from_tsv("a.tsv"),
        Labelled.from_jsonl("a.jsonl"),
        Labelled.from_list([("fine film", "good")]),
    ):
        assert list(corpus) == [("fine film", "good")]
        assert list(corpus.texts) == ["fine film"]


@settings(deadline=None, max_examples=60)
@given(
    pairs=st.lists(
        st.tuples(
            *[st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\ufeff\t"))] * 2
        ),
        min_size=1,
    )
)
def test_sides_stay_aligned_whatever_they_hold(pairs: list[tuple[str, str]]) -> None:
    Path("a.en").write_bytes("".join(f"{source}\r\n" for source, _ in pairs).encode())
    Path("a.fr.gz").write_bytes(gzip.compress("\n".join(target for _, target in pairs).encode() + b"\n"))
    Path("a.tsv").write_bytes("".join(f"{source}\t{target}\n" for source, target in pairs).encode())

    assert list(Pairs.from_files("a.en", "a.fr.gz")) == list(Pairs.from_tsv("a.tsv")) == pairs


def test_line_counts_are_compared() -> None:
    Path("corpus.en").write_bytes(b"a\n" * 29000)
    Path("corpus.fr").write_bytes(b"b\n" * 28999)

    with pytest.raises(DataError) as error:
        list(Pairs.from_files("corpus.en", "corpus.fr"))
    with pytest.raises(DataError) as reverse:
        list(Pairs.from_files("corpus.fr", "corpus.en"))

    assert str(error.value) == "corpus.en has 29000 lines, corpus.fr has 28999; they must pair up"
    assert str(reverse.value) == "corpus.fr has 28999 lines, corpus.en has 29000; they must pair up"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "a\tb\nalone\n",
            "corpus.tsv: line 2 has 1 column; it should be source, TAB, target, and maybe TAB, lang",
        ),
        (
            "a\tb\tc\td\n",
            "corpus.tsv: line 1 has 4 columns; it should be source, TAB, target, and maybe TAB, lang",
        ),
        ("", "corpus.tsv: there is no line in it; a corpus needs at least one"),
    ],
)
def test_a_wrong_tsv_line_is_named(content: str, message: str) -> None:
    Path("corpus.tsv").write_text(content)

    with pytest.raises(DataError) as error:
        list(Pairs.from_tsv("corpus.tsv"))

    assert str(error.value) == message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("oops", "line 2 is not JSON (Expecting value at column 1)"),
        ("", "line 2 is not JSON (Expecting value at column 1)"),
        ("[" * 200_000, "line 2 is not JSON that can be read"),
        ('{"source": ' + "1" * 5000 + "}", "line 2 is not JSON that can be read"),
        ("[1]", "line 2 is not an object; it should have the keys source and target"),
        ('{"source": "a"}', "line 2 has no key 'target'"),
        ('{"source": "a", "target": 4}', "line 2: target = 4 should be text in quotes"),
        ('{"source": "a", "target": null}', "line 2: target = null should be text in quotes"),
        (
            '{"source": "a\\ud800", "target": "b"}',
            "line 2: source has half a character (the lone surrogate U+D800)",
        ),
    ],
)
def test_a_wrong_jsonl_line_is_named(line: str, message: str) -> None:
    Path("corpus.jsonl").write_text('{"source": "a", "target": "b"}\n' + line + "\n")

    with pytest.raises(DataError) as error:
        list(Pairs.from_jsonl("corpus.jsonl"))

    assert str(error.value) == f"corpus.jsonl: {message}"


@pytest.mark.parametrize(
    ("corpus", "name"),
    [
        (Pairs.from_files("a", "b"), "a and b"),
        (Lines.from_file("a"), "a"),
        (Pairs.from_list([]), "the given list"),
    ],
)
def test_an_empty_corpus_is_refused(corpus: Corpus, name: str) -> None:
    Path("a").touch()
    Path("b").touch()

    with pytest.raises(DataError) as error:
        list(corpus.rows())

    assert str(error.value) == f"{name}: there is no line in it; a corpus needs at least one"


def test_a_fingerprint_knows_bytes_and_reading() -> None:
    files = write_files()
    before = files.fingerprint
    swapped = Pairs.from_files("corpus.fr", "corpus.en")
    Path("table.tsv").write_text("a\tb\n")

    assert before == write_files().fingerprint
    assert before != swapped.fingerprint
    assert Pairs.from_tsv("table.tsv").fingerprint != Labelled.from_tsv("table.tsv").fingerprint
    assert Pairs.from_list([("a", "b")]).fingerprint == Pairs.from_list([("a", "b")]).fingerprint
    assert Pairs.from_list([("a", "b")]).fingerprint != Pairs.from_list([("ab", "")]).fingerprint
    Path("corpus.en").write_text("changed\n")
    assert before != Pairs.from_files("corpus.en", "corpus.fr").fingerprint


def test_a_fingerprint_needs_the_file() -> None:
    with pytest.raises(DataError, match=r"^gone\.txt: No such file or directory$"):
        _ = Lines.from_file("gone.txt").fingerprint


def test_settings_name_the_corpus(here: Path) -> None:
    write_files(), write_tsv(), write_jsonl()
    Path("corpus.tsv.gz").write_bytes(gzip.compress(Path("corpus.tsv").read_bytes()))
    Path("a.txt").write_text("one\n")
    Path("labels.tsv").write_text("fine\tgood\n")

    for files in (
        CorpusFiles(src="corpus.en", tgt="corpus.fr"),
        CorpusFiles(pairs="corpus.tsv"),
        CorpusFiles(pairs="corpus.tsv.gz"),
        CorpusFiles(pairs="corpus.jsonl"),
    ):
        corpus = open_corpus(files, here)
        assert isinstance(corpus, Pairs) and list(corpus) == PAIRS
    assert list(open_corpus(CorpusFiles(text="a.txt"), here)) == ["one"]
    assert list(open_corpus(CorpusFiles(labelled="labels.tsv"), here)) == [("fine", "good")]


def test_a_table_of_unknown_format_is_refused() -> None:
    with pytest.raises(DataError) as error:
        open_corpus(CorpusFiles(pairs="corpus.csv"), Path())

    assert str(error.value) == "corpus.csv: a table of text is a .tsv or a .jsonl file, or one of them as .gz"
