"""Several target languages, and warnings, on the command line."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_bad_input import TINY

ROWS = [("a b", "a b", "same"), ("a b", "b a", "back"), ("b c", "b c", "same"), ("b c", "c b", "back")] * 10
SETTINGS = [*TINY, "--set", 'tokenizer.languages=["same","back"]', "--langs", "en"]


def write(name: str, rows: list[tuple[str, ...]]) -> None:
    Path(name).write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


@pytest.mark.parametrize(
    ("row", "settings", "message"),
    [
        (
            ("x", "y", "sam"),
            SETTINGS,
            "line 41 has the target language 'sam'; did you mean 'same'?; "
            "[tokenizer] languages has same, back",
        ),
        (("x", "y"), SETTINGS, "line 41 names no target language; name one of same, back"),
        (ROWS[0], TINY, "line 1 has the target language 'same', but this run has no languages"),
    ],
)
def test_a_wrong_language_ends_training_with_its_line(
    cli: Cli, row: tuple[str, ...], settings: list[str], message: str
) -> None:
    write("train.tsv", [*ROWS, row])
    ended = cli("train", "--data", "train.tsv", *settings)

    assert ended.code == 3
    assert message in " ".join(ended.err.split())
    assert not Path("runs/train-en-16-01").exists()


def test_a_default_that_has_no_tag_is_refused(cli: Cli) -> None:
    write("train.tsv", list(ROWS))
    ended = cli("train", "--data", "train.tsv", *SETTINGS[:-1], "en,bakc")

    assert ended.code == 4
    assert "data.langs: the target language 'bakc' is none of same, back; did you mean 'back'?" in " ".join(
        ended.err.split()
    )


def test_every_verb_takes_a_language(cli: Cli) -> None:
    write("train.tsv", list(ROWS))
    Path("a.txt").write_text("a b\n")
    trained = cli("train", "--data", "train.tsv", "--valid-data", "train.tsv", *SETTINGS, "--name", "both")
    model = "runs/both-01"

    assert trained.code == 0, trained.err
    assert "(en → same, back)" in Path(model, "model", "README.md").read_text(encoding="utf-8")
    assert cli("translate", "-m", model, "--to", "back", "a b").code == 0
    assert cli("translate", "-m", model, "--language", "same", "--stream", "a b").code == 0
    assert cli("score", "-m", model, "--src", "a.txt", "--tgt", "a.txt", "--to", "same").code == 0
    assert cli("eval", model, "--src", "a.txt", "--ref", "a.txt", "--to", "same").code == 0
    assert cli("explain", "-m", model, "--to", "back", "a b").code == 0
    assert cli("check", model, "--only", "batch").code == 0
    unnamed = cli("translate", "-m", model, "a b")
    assert unnamed.code != 0 and "name one of same, back" in unnamed.err


def test_a_warning_is_told_once_and_counted_and_never_among_the_results(cli: Cli) -> None:
    lines = [
        "Wo ist der Bahnhof?",
        "Hello.",
        "Das Wetter ist heute sehr schlecht.",
        "Ich will jetzt schlafen.",
    ]
    Path("in.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ended = cli("translate", "-i", "in.txt", "--beam", "1")
    told = [line for line in ended.err.splitlines() if "warning:" in line]

    assert ended.code == 0 and len(ended.out.splitlines()) == 4 and "warning" not in ended.out
    assert "text 1: the input is unlike the text" in told[0]
    assert "2 more texts as text 1" in told[1]


def test_warnings_are_part_of_json(cli: Cli) -> None:
    ended = cli("translate", "--json", "--beam", "1", "Wo ist der Bahnhof?", "Where is the station?")
    found = [json.loads(line)["warnings"] for line in ended.out.splitlines()]

    assert [len(each) for each in found] == [1, 0]
