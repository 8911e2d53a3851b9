"""The report on a corpus: every kind of finding, counted, weighed and placed."""

import json
import tracemalloc
from pathlib import Path

import pytest

from glassformer.text import Corpus, Labelled, Limits, Lines, Pairs, check
from glassformer.text.oddities import KINDS, kinds_of, look_at

GOOD = [(f"This is sentence {word}.", f"Voici la phrase {word}.") for word in ("one", "two", "three", "four")]


def kinds(corpus: Corpus, valid: Corpus | None = None) -> dict[str, list[int]]:
    """The lines that show each kind of finding."""
    report = check(corpus, valid)
    return {finding.kind: [place.line for place in finding.examples] for finding in report.findings}


def with_line(source: str, target: str) -> dict[str, list[int]]:
    return kinds(Pairs.from_list([*GOOD, (source, target)]))


def test_a_good_corpus_has_no_findings() -> None:
    report = check(Pairs.from_list(GOOD))

    assert report.findings == ()
    assert report.clean and not report.fatal
    assert (report.n_lines, report.n_kept, report.scripts) == (4, 4, ("latin", "latin"))


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        ("", "", "empty"),
        (" \u200b", "\u3000\ufeff", "empty"),
        ("A dog.", "", "one side empty"),
        ("\u00a0", "Un chien.", "one side empty"),
        ("A dog.", "A dog. ", "copy"),
        ("Yes.", "Oui, je le veux vraiment beaucoup, croyez-moi.", "length ratio"),
        ("word " * 500, "mot " * 500, "overlong"),
        ("A d\ufffdg.", "Un chien.", "replacement character"),
        ("The summer.", "L'Ã©tÃ©.", "mojibake"),
        ("Donâ€™t.", "Non.", "mojibake"),
        ("Here Â» there.", "Ici.", "mojibake"),
        ("Russian", "ÐŸÑ€Ð¸Ð²ÐµÑ‚", "mojibake"),
        ("A \x00 dog.", "Un chien.", "control character"),
        ("A\u200b dog.", "Un chien.", "invisible character"),
        ("A dog\u202e.", "Un chien.", "invisible character"),
        ("A dog.", "Un e\u0301le\u0301phant.", "not NFC"),
        ("Собака спит.", "Un chien dort.", "wrong script"),
        ("A dog.", "狗在睡觉。", "wrong script"),
    ],
)
def test_an_odd_line_is_found(source: str, target: str, kind: str) -> None:
    assert with_line(source, target) == {kind: [5]}


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("42", "42"),
        ("CAFÉ» open", "CAFÉ” ouvert"),
        ("NÃO Â", "âge Été"),
        ("Yes.", "Oui, bien entendu."),
        ("I say привет.", "Je dis привет."),
        ("Tab\there", "Ici"),
        ("क्\u200dष 👨\u200d👩", "ab"),
    ],
)
def test_what_only_looks_odd_is_left_alone(source: str, target: str) -> None:
    assert look_at((source, target), Limits()) == 0


def test_duplicates_are_told_from_other_translations() -> None:
    pairs = [
        *GOOD,
        GOOD[1],
        ("Hello.", "Bonjour."),
        ("Hello.", "Salut."),
        ("Hello.", "Salut."),
        ("", ""),
        ("", ""),
    ]

    assert kinds(Pairs.from_list(pairs)) == {
        "duplicate": [5, 8],
        "several targets": [6, 7, 8],
        "empty": [9, 10],
    }


def test_leaks_into_validation_are_found() -> None:
    valid = Pairs.from_list([GOOD[2], (GOOD[3][0], "Autre phrase."), ("", "")])

    assert kinds(Pairs.from_list([*GOOD, ("", "")]), valid) == {
        "empty": [5],
        "in validation": [3],
        "source in validation": [3, 4],
    }


def test_lines_and_labels() -> None:
    lines = Lines.from_list(["One line.", "", "One line.", "Две строки."])
    labelled = Labelled.from_list([("fine", "good"), ("fine", "bad"), ("fine", "good"), ("dull", "плохо")])

    assert kinds(lines) == {"empty": [2], "duplicate": [3], "wrong script": [4]}
    assert kinds(labelled) == {"duplicate": [3], "several targets": [1, 2, 3]}


def test_counts_go_beyond_the_examples() -> None:
    report = check(Pairs.from_list(GOOD + [("", f"vide {n}") for n in range(10)]))
    (finding,) = report.findings

    assert (finding.kind, finding.severity, finding.count) == ("one side empty", "warn", 10)
    assert [place.line for place in finding.examples] == [5, 6, 7]
    assert finding.examples[0].texts == ("", "vide 0")
    assert (report.n_lines, report.n_kept, report.clean, report.fatal) == (14, 4, False, False)


def test_limits_can_be_set() -> None:
    assert kinds_of(look_at(("abcdef", "x"), Limits(max_characters=5))) == ("overlong",)
    assert kinds_of(look_at(("abcdef", "x"), Limits(max_ratio=2, ratio_from=5))) == ("length ratio",)


def test_a_corpus_that_cannot_be_read_is_fatal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.en").write_text("one\ntwo\n")
    Path("a.fr").write_text("un\n")
    report = check(Pairs.from_files("a.en", "a.fr"))

    assert report.fatal
    assert [(f.kind, f.meaning) for f in report.findings] == [
        ("unreadable", "a.en has 2 lines, a.fr has 1; they must pair up")
    ]


def test_a_corpus_of_nothing_but_trouble_is_fatal() -> None:
    report = check(Pairs.from_list([("a", ""), ("", "")]))

    assert report.fatal and report.n_kept == 0
    assert report.scripts == ("latin", "none")
    assert [finding.kind for finding in report.findings] == ["nothing left", "empty", "one side empty"]


def test_a_report_is_json() -> None:
    table = json.loads(json.dumps(check(Pairs.from_list([*GOOD, ("", "vide")])).to_dict()))

    assert table == {
        "corpus": "the given list",
        "n_lines": 5,
        "n_kept": 4,
        "scripts": ["latin", "latin"],
        "findings": [
            {
                "kind": "one side empty",
                "severity": "warn",
                "meaning": "a text without a translation",
                "count": 1,
                "examples": [{"line": 5, "texts": ["", "vide"]}],
            }
        ],
    }


def test_lines_are_not_kept_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    n_lines = 20_000
    path.write_text("".join(f"{n} {'word ' * 60}\n" for n in range(n_lines)))
    tracemalloc.start()
    check(Lines.from_file(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak / n_lines < 110  # bytes for a line of more than three hundred


def test_every_kind_says_what_it_means() -> None:
    assert all(severity in ("warn", "info") and meaning for severity, meaning in KINDS.values())
    assert kinds_of(2 ** len(KINDS) - 1) == tuple(KINDS)
