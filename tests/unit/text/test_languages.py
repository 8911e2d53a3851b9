"""Target languages that come with the pairs: read, tagged, refused with the line, kept by the tools."""

import json
from pathlib import Path

import pytest

from glassformer.config import TokenizerConfig
from glassformer.errors import DataError
from glassformer.text import Pairs, Tokenizer, check, fix
from glassformer.text.languages import Tagger

ROWS: list[tuple[str, str] | tuple[str, str, str]] = [
    ("one", "un", "fr"),
    ("one", "eins", "de"),
    ("two", "deux"),
]


def tokenizer(*languages: str) -> Tokenizer:
    return Tokenizer.train(["one un eins"], TokenizerConfig(kind="char", languages=languages))


@pytest.fixture(params=["tsv", "jsonl", "list"])
def corpus(request: pytest.FixtureRequest, tmp_path: Path) -> Pairs:
    match request.param:
        case "tsv":
            path = tmp_path / "corpus.tsv"
            path.write_text("".join("\t".join(row) + "\n" for row in ROWS))
            return Pairs.from_tsv(path)
        case "jsonl":
            path = tmp_path / "corpus.jsonl"
            keys = ("source", "target", "lang")
            path.write_text("".join(json.dumps(dict(zip(keys, row, strict=False))) + "\n" for row in ROWS))
            return Pairs.from_jsonl(path)
        case _:
            return Pairs.from_list(ROWS)


def test_a_pair_may_bring_its_target_language(corpus: Pairs) -> None:
    assert list(corpus.rows()) == ROWS
    assert list(corpus.languages) == ["fr", "de", None]
    assert [tuple(pair) for pair in corpus] == [row[:2] for row in ROWS]
    assert "fr" not in corpus.texts


def test_another_language_is_another_corpus() -> None:
    assert Pairs.from_list(ROWS).fingerprint != Pairs.from_list((row[0], row[1]) for row in ROWS).fingerprint


def test_a_list_of_anything_else_is_refused() -> None:
    with pytest.raises(DataError) as error:
        Pairs.from_list([("a", "b"), ("a", "b", "c", "d")])  # type: ignore[list-item]

    assert str(error.value) == "the given list: pair 2 has 4 parts; it should have two"


def test_a_language_that_is_no_text_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"source": "a", "target": "b", "lang": 7}\n')
    with pytest.raises(DataError) as error:
        list(Pairs.from_jsonl(path))

    assert str(error.value) == f"{path}: line 1: lang = 7 should be text in quotes"


@pytest.mark.parametrize(
    ("known", "default", "named", "expected"),
    [
        ((), None, None, None),
        ((), "fr", None, None),  # codes in [data] langs alone make no tags
        (("fr",), None, None, "fr"),
        (("fr", "de"), "de", None, "de"),
        (("fr", "de"), "de", "fr", "fr"),
    ],
)
def test_a_pair_asks_for_its_own_language_or_for_the_default(
    known: tuple[str, ...], default: str | None, named: str | None, expected: str | None
) -> None:
    texts = tokenizer(*known)
    tagger = Tagger(texts, default)

    assert tagger.language(named, "x") == expected
    assert tagger.tag(named, "x") == (None if expected is None else texts.language_id(expected))


@pytest.mark.parametrize(
    ("known", "named", "message"),
    [
        (
            (),
            "fr",
            "c.tsv: line 3 has the target language 'fr', but this run has no languages; name them in "
            "[tokenizer] languages, or leave it out",
        ),
        (
            ("fra", "deu"),
            "fr",
            "c.tsv: line 3 has the target language 'fr'; did you mean 'fra'?; [tokenizer] languages has "
            "fra, deu",
        ),
        (
            ("fr", "de"),
            "",
            "c.tsv: line 3 has the target language ''; [tokenizer] languages has fr, de",
        ),
        (
            ("fr", "de"),
            None,
            "c.tsv: line 3 names no target language; name one of fr, de: in the third column of a .tsv file, "
            "as lang in a .jsonl file, or for all such pairs as the second of [data] langs",
        ),
    ],
)
def test_a_wrong_or_missing_language_is_refused(
    known: tuple[str, ...], named: str | None, message: str
) -> None:
    with pytest.raises(DataError) as error:
        Tagger(tokenizer(*known)).tag(named, "c.tsv: line 3")

    assert str(error.value) == message


def test_checking_tells_languages_apart() -> None:
    """Another language is no duplicate, no second target, no wrong script."""
    rows = [(f"word {i}", f"слово {i}" if language == "ru" else f"mot {i}", language)
            for i in range(9) for language in ("fr", "ru")]  # fmt: skip
    report = check(Pairs.from_list(rows), Pairs.from_list([("word 1", "Wort 1", "de")]))

    assert report.findings == ()
    assert report.scripts[0] == "latin"
    assert set(report.scripts[1].split(" and ")) == {"latin", "cyrillic"}


def test_within_a_language_scripts_and_repeats_are_found() -> None:
    rows = [(f"word {i}", f"mot {i}", "fr") for i in range(9)]
    report = check(Pairs.from_list([*rows, rows[0], ("word", "слово", "fr"), ("word", "слово", "ru")]))

    assert {finding.kind: finding.count for finding in report.findings} == {
        "duplicate": 1,
        "wrong script": 1,
    }


def test_a_mended_corpus_keeps_its_languages(corpus: Pairs, tmp_path: Path) -> None:
    (written, _) = fix(corpus, tmp_path / "out").paths
    again = Pairs.from_tsv(written) if written.suffix == ".tsv" else Pairs.from_jsonl(written)

    assert list(again.rows()) == ROWS
