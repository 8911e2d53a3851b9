"""Stores: what goes in comes out, what is left out is counted, and a half one is never seen."""

import errno
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from glassformer.config import TokenizerConfig
from glassformer.data import StoreOptions, TokenStore, build_store, writing
from glassformer.errors import DataError
from glassformer.text import Corpus, Labelled, Lines, Pairs, Tokenizer
from tests.unit.data.prepared import WORDS, made_up_pairs, prepare, settings, tokenizer

LABELLED = [
    ("a big cat", "pos"),
    ("an old dog", "neg"),
    ("", "neg"),
    ("le chat", "mixed"),
    ("la maison", "pos"),
]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_pairs_come_back(tmp_path: Path) -> None:
    pairs = made_up_pairs(50)
    store = prepare(tmp_path, Pairs.from_list(pairs))

    assert len(store) == 50 and store.kind == "pairs"
    for row, (source, target) in enumerate(pairs):
        assert store.source(row).tolist() == tokenizer().encode(source)
        assert store.target(row).tolist() == tokenizer().encode(target)
    assert store.source_lengths.tolist() == [len(store.source(row)) for row in range(50)]
    assert store.target_lengths.tolist() == [len(store.target(row)) for row in range(50)]


def test_ids_are_views_of_the_files(tmp_path: Path) -> None:
    store = prepare(tmp_path, Pairs.from_list(made_up_pairs(5)))

    assert not store.source(3).flags.owndata and not store.source(3).flags.writeable
    assert store.source(3).dtype == np.uint16


def test_a_large_vocabulary_takes_wider_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = prepare(tmp_path / "narrow", Pairs.from_list(made_up_pairs(5)))
    monkeypatch.setattr(Tokenizer, "size", 65_537)
    wide = prepare(tmp_path / "wide", Pairs.from_list(made_up_pairs(5)))

    assert wide.source(4).dtype == np.uint32
    assert wide.source(4).tolist() == narrow.source(4).tolist()


def test_two_vocabularies_encode_two_sides(tmp_path: Path) -> None:
    pairs = Pairs.from_list([("the cat sees a dog", "le chat voit un chien")] * 4)
    two = Tokenizer.train(pairs, TokenizerConfig(vocab_size=280, joint=False))
    store = build_store(tmp_path / "store", pairs, two, settings())

    assert store.source(0).tolist() == two.source.encode("the cat sees a dog")
    assert store.target(0).tolist() == two.encode("le chat voit un chien")


def test_what_is_left_out_is_counted_for_its_first_reason(tmp_path: Path) -> None:
    long = " ".join(["cat"] * 40)
    pairs = [("cat", "chat"), ("", "chat"), ("cat", "\u200b "), (long, "chat"), (" ".join(["a"] * 9), "chat")]
    limits = settings(max_length=20, max_ratio=4.0)
    store = build_store(tmp_path / "store", Pairs.from_list(pairs), tokenizer(), limits)

    assert store.dropped == {"empty": 2, "too_long": 1, "ratio": 1}
    assert len(store) == 1 and store.source(0).tolist() == tokenizer().encode("cat")


def test_a_stream_is_all_lines_each_with_its_end(tmp_path: Path) -> None:
    lines = ["the cat", "", "a dog " * 500]
    store = prepare(tmp_path, Lines.from_list(lines))
    eos = tokenizer().eos_id

    assert store.kind == "stream" and store.dropped == {"empty": 0, "too_long": 0, "ratio": 0}
    assert store.tokens.tolist() == [i for line in lines for i in [*tokenizer().encode(line), eos]]


def test_lines_are_rows_without_blank_ones(tmp_path: Path) -> None:
    store = prepare(tmp_path, Lines.from_list(["the cat", "", "a dog"]), StoreOptions(stream=False))

    assert store.kind == "lines" and len(store) == 2 and store.dropped["empty"] == 1
    assert store.source(1).tolist() == tokenizer().encode("a dog")


@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
def test_labels_are_numbered_by_name(tmp_path: Path, chunk_rows: int) -> None:
    store = prepare(tmp_path, Labelled.from_list(LABELLED), StoreOptions(chunk_rows=chunk_rows))

    assert store.labels == ("mixed", "neg", "pos")
    assert [store.labels[store.label(row)] for row in range(len(store))] == ["pos", "neg", "mixed", "pos"]


def test_given_labels_keep_their_numbers(tmp_path: Path) -> None:
    options = StoreOptions(labels=("mixed", "neg", "pos"))
    store = prepare(tmp_path, Labelled.from_list(LABELLED[:2]), options)

    assert store.labels == options.labels and [store.label(0), store.label(1)] == [2, 1]


def test_kept_text_is_the_text_itself(tmp_path: Path) -> None:
    pairs = [("the  cat\u2028", "élève 😀"), ("", "x"), ("a dog", "un chien")]
    store = prepare(tmp_path, Pairs.from_list(pairs), StoreOptions(keep_text=True, chunk_rows=1))

    assert store.sides[0].texts(np.array([1, 0])) == ["a dog", "the  cat\u2028"]
    assert store.sides[1].texts(np.array([0])) == ["élève 😀"]


@pytest.mark.parametrize("keep_text", [False, True])
@pytest.mark.parametrize("corpus", [Pairs.from_list(made_up_pairs(40)), Labelled.from_list(LABELLED)])
def test_chunks_make_no_difference(tmp_path: Path, corpus: Corpus, keep_text: bool) -> None:
    stores = [
        prepare(tmp_path / str(rows), corpus, StoreOptions(keep_text=keep_text, chunk_rows=rows))
        for rows in (1, 7, 1000)
    ]

    assert contents(stores[0].folder) == contents(stores[1].folder) == contents(stores[2].folder)


@pytest.mark.parametrize(
    "dressed",
    [b"the cat\r\na dog\r\n", b"\xef\xbb\xbfthe cat\na dog\n", b"the cat\na dog"],
    ids=["crlf", "byte order mark", "no final newline"],
)
def test_how_a_file_is_dressed_makes_no_difference(tmp_path: Path, dressed: bytes) -> None:
    (tmp_path / "clean").write_bytes(b"the cat\na dog\n")
    (tmp_path / "dressed").write_bytes(dressed)
    clean = prepare(tmp_path / "1", Pairs.from_files(tmp_path / "clean", tmp_path / "clean"))
    other = prepare(tmp_path / "2", Pairs.from_files(tmp_path / "dressed", tmp_path / "clean"))

    assert len(other) == 2
    assert other.tokens.tolist() == clean.tokens.tolist()


odd_text = st.text(st.sampled_from("ab \t\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\x00\u200b"), max_size=6)


@given(st.lists(st.tuples(odd_text, odd_text), max_size=12))
@hypothesis_settings(max_examples=40, deadline=None)
def test_control_characters_never_break_the_alignment(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("odd")
    pairs = [("cat", "chat"), *texts]
    for name, side in (("a", 0), ("b", 1)):
        (folder / name).write_bytes("".join(pair[side] + "\n" for pair in pairs).encode())
    store = prepare(folder, Pairs.from_files(folder / "a", folder / "b"))
    expected = [[tokenizer().encode(side) for side in pair] for pair in pairs]
    kept = [[a, b] for a, b in expected if a and b]

    assert [[store.source(i).tolist(), store.target(i).tolist()] for i in range(len(store))] == kept
    assert store.dropped == {"empty": len(expected) - len(kept), "too_long": 0, "ratio": 0}


def test_a_store_that_fits_is_not_built_again(tmp_path: Path) -> None:
    corpus = Pairs.from_list(made_up_pairs(5))
    first = prepare(tmp_path, corpus)
    before = (first.folder / "source.ids").stat().st_mtime_ns
    calls: list[int] = []
    again = build_store(first.folder, corpus, tokenizer(), settings(), progress=calls.append)

    assert again.fingerprint == first.fingerprint and calls == []
    assert (first.folder / "source.ids").stat().st_mtime_ns == before


def test_whatever_decides_changes_the_fingerprint(tmp_path: Path) -> None:
    corpus = Pairs.from_list(made_up_pairs(5))
    variants = {
        "same": build_store(tmp_path / "0", corpus, tokenizer(), settings()),
        "corpus": build_store(
            tmp_path / "1", Pairs.from_list(made_up_pairs(5, seed=2)), tokenizer(), settings()
        ),
        "tokenizer": build_store(tmp_path / "2", corpus, tokenizer(280), settings()),
        "max_length": build_store(tmp_path / "3", corpus, tokenizer(), settings(max_length=255)),
        "max_ratio": build_store(tmp_path / "4", corpus, tokenizer(), settings(max_ratio=8.5)),
        "text": build_store(tmp_path / "5", corpus, tokenizer(), settings(), StoreOptions(keep_text=True)),
    }

    assert len({store.fingerprint for store in variants.values()}) == len(variants)


def test_a_store_of_something_else_is_replaced(tmp_path: Path) -> None:
    prepare(tmp_path, Pairs.from_list(made_up_pairs(5)))
    store = prepare(tmp_path, Pairs.from_list(made_up_pairs(7)))

    assert len(store) == 7 and len(TokenStore(store.folder)) == 7
    assert names(tmp_path) == ["store"]


@pytest.mark.parametrize("damage", ["source.ids", "target.lengths", "store.json"])
def test_a_damaged_store_is_built_again(tmp_path: Path, damage: str) -> None:
    corpus = Pairs.from_list(made_up_pairs(5))
    store = prepare(tmp_path, corpus)
    whole = contents(store.folder)
    os.truncate(store.folder / damage, 3)
    with pytest.raises(DataError) as caught:
        TokenStore(store.folder)
    prepare(tmp_path, corpus)

    assert (
        str(caught.value) == f"{store.folder}: there is no whole token store here; prepare the corpus again"
    )
    assert contents(store.folder) == whole


class Breaking(Pairs):
    """A corpus in the middle of which something happens."""

    def __init__(self, error: BaseException) -> None:
        super().__init__("list", [], made_up_pairs(5))
        self.error = error

    def _read(self) -> Iterator[tuple[str, ...]]:
        yield from self._given
        raise self.error


class Deadly(Breaking):
    """A corpus in the middle of which the process dies, with no chance to tidy up."""

    def _read(self) -> Iterator[tuple[str, ...]]:
        yield from self._given
        os._exit(9)


@pytest.mark.parametrize("error", [DataError("x: line 6 is not UTF-8"), KeyboardInterrupt()])
def test_a_failure_leaves_nothing_half(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)):
        prepare(tmp_path, Breaking(error), StoreOptions(chunk_rows=2))

    assert names(tmp_path) == []


def test_a_failure_leaves_the_older_store(tmp_path: Path) -> None:
    store = prepare(tmp_path, Pairs.from_list(made_up_pairs(3)))
    before = contents(store.folder)
    with pytest.raises(KeyboardInterrupt):
        prepare(tmp_path, Breaking(KeyboardInterrupt()))

    assert contents(store.folder) == before and names(tmp_path) == ["store"]


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            prepare(tmp_path, Deadly(KeyboardInterrupt()), StoreOptions(chunk_rows=2))
        finally:
            os._exit(1)  # never reached, unless the child did not die where it should
    _, status = os.waitpid(pid, 0)
    left = names(tmp_path)
    store = prepare(tmp_path, Pairs.from_list(made_up_pairs(5)))

    assert os.waitstatus_to_exitcode(status) == 9
    assert left == [".store.partial"] and names(tmp_path) == ["store"]
    assert len(store) == 5


def test_of_many_who_build_at_once_one_does(tmp_path: Path) -> None:
    corpus = Pairs.from_list(made_up_pairs(200))
    told: list[int] = []
    options = StoreOptions(chunk_rows=20)

    def build(_: int) -> TokenStore:
        return build_store(tmp_path / "store", corpus, tokenizer(), settings(), options, told.append)

    for _ in range(5):
        told.clear()
        with ThreadPoolExecutor(4) as pool:
            stores = list(pool.map(build, range(8)))

        assert told == list(range(20, 201, 20))
        assert {len(store) for store in stores} == {200} and names(tmp_path) == ["store"]
        shutil.rmtree(tmp_path / "store")


def test_a_site_that_is_put_in_place_while_we_look_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process renames its finished store between our mkdir, which it made fail, and our next look."""
    plain, site = os.mkdir, tmp_path / ".store.partial"
    found: list[Path] = []

    def mkdir(path: Path, *arguments: Any) -> None:
        if path == site and not found:
            found.append(path)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        plain(path, *arguments)

    monkeypatch.setattr(os, "mkdir", mkdir)
    store = prepare(tmp_path, Pairs.from_list(made_up_pairs(5)))

    assert found == [site] and len(store) == 5 and names(tmp_path) == ["store"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_a_disk_that_cannot_be_written_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def fails(*_: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(writing._SideWriter, "write", fails)
    with pytest.raises(DataError) as caught:
        prepare(tmp_path, Pairs.from_list(made_up_pairs(5)))

    assert str(caught.value) == f"{tmp_path / 'store'}: cannot be written: {os.strerror(code)}"
    assert names(tmp_path) == []


def test_nothing_of_the_users_is_removed(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "thesis.txt").write_text("years of work")
    with pytest.raises(DataError) as caught:
        prepare(tmp_path, Pairs.from_list(made_up_pairs(5)))

    place = tmp_path / "store"
    assert str(caught.value) == f"{place}: this is there already and is no token store; name another folder"
    assert names(place) == ["thesis.txt"]


def test_an_empty_folder_may_be_used(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()

    assert len(prepare(tmp_path, Pairs.from_list(made_up_pairs(1)))) == 1


def test_progress_is_told_chunk_by_chunk(tmp_path: Path) -> None:
    told: list[int] = []
    corpus = Pairs.from_list(made_up_pairs(7))
    build_store(tmp_path / "store", corpus, tokenizer(), settings(), StoreOptions(chunk_rows=3), told.append)

    assert told == [3, 6, 7]


LONG = " ".join(WORDS * 3)


@pytest.mark.parametrize(
    ("corpus", "options", "message"),
    [
        (
            Pairs.from_list([("", "chat"), (LONG, LONG), ("cat", "a a a a a a a a")]),
            StoreOptions(),
            "the given list: all pairs are left out, 3 of 3 (1 empty, 1 longer than max_length = 30 tokens, "
            "1 beyond max_ratio = 2.5); mend the corpus or widen the limits in [data]",
        ),
        (
            Lines.from_list(["", " "]),
            StoreOptions(stream=False),
            "the given list: all lines are left out, 2 of 2 (2 empty, 0 longer than max_length = 30 tokens, "
            "0 beyond max_ratio = 2.5); mend the corpus or widen the limits in [data]",
        ),
        (
            Lines.from_list(["", " "]),
            StoreOptions(),
            "the given list: all of its 2 lines are blank; there is nothing to learn",
        ),
        (
            Lines.from_list([]),
            StoreOptions(),
            "the given list: there is no line in it; a corpus needs at least one",
        ),
        (
            Labelled.from_list([("the cat", "posi")]),
            StoreOptions(labels=("neg", "pos")),
            "the given list: label 'posi' does not occur in the training set; did you mean 'pos'?; "
            "it has neg, pos",
        ),
    ],
    ids=["pairs", "lines", "stream", "empty", "label"],
)
def test_a_corpus_that_gives_nothing_is_refused(
    tmp_path: Path, corpus: Corpus, options: StoreOptions, message: str
) -> None:
    with pytest.raises(DataError) as caught:
        build_store(tmp_path / "store", corpus, tokenizer(), settings(max_length=30, max_ratio=2.5), options)

    assert str(caught.value) == message
    assert names(tmp_path) == []


def test_a_store_without_targets_or_labels_says_so(tmp_path: Path) -> None:
    store = prepare(tmp_path, Lines.from_list(["the cat"]))
    with pytest.raises(DataError) as no_target:
        store.target(0)
    with pytest.raises(DataError) as no_label:
        store.label(0)

    assert str(no_target.value) == f"{store.folder}: a store of stream has no target side"
    assert str(no_label.value) == f"{store.folder}: a store of stream has no labels"
