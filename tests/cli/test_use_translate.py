"""``glassformer translate``: where text comes from, how results are printed, what is refused."""

import io
import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Ended
from tests.support.trained import french, trained

LINE = "small red cat"


@pytest.fixture
def translate(cli: Cli) -> Cli:
    return lambda *arguments: cli("translate", "-m", trained("translator"), *arguments)


def type_in(monkeypatch: pytest.MonkeyPatch, data: bytes, *, terminal: bool = False) -> None:
    """Standard input that holds these bytes."""
    stream = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stdin", stream)


def test_arguments_are_translated_one_line_each(translate: Cli) -> None:
    assert translate(LINE, "old house") == Ended(0, f"{french(LINE)}\n{french('old house')}\n", "")


def test_standard_input_keeps_its_blank_lines(translate: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, f"{LINE}\r\n\n \t\u00a0\n\u200b\n{LINE}".encode())

    assert translate() == Ended(0, f"{french(LINE)}\n\n\n\n{french(LINE)}\n", "")


def test_an_empty_standard_input_gives_nothing(translate: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, b"")

    assert translate() == Ended(0, "", "")


def test_a_file_goes_line_by_line_into_a_file(translate: Cli, tmp_path: Path) -> None:
    lines = [LINE, "", "old house", *["new road"] * 300]
    (tmp_path / "in.txt").write_text("\n".join(lines) + "\n")
    ended = translate("-i", "in.txt", "-o", "out.txt")

    assert ended == Ended(0, "", "wrote 303 lines to out.txt\n")
    assert (tmp_path / "out.txt").read_text().splitlines() == [french(line) for line in lines]
    assert [path.name for path in tmp_path.glob(".*")] == []  # nothing half-written stays


def test_a_terminal_shows_how_far_a_file_is(
    translate: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.txt").write_text("\n".join([LINE] * 300) + "\n")
    monkeypatch.setattr("rich.console.Console.is_terminal", property(lambda _: True))
    shown = translate("-i", "in.txt", "-o", "out.txt").err

    assert " 256 of 300 lines, " in shown and " 300 of 300 lines, " in shown and "ETA 0:00" in shown


def test_a_prompt_answers_until_an_empty_line(translate: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, b"", terminal=True)
    typed = iter([LINE, "cat " * 2000, "old house", ""])
    monkeypatch.setattr("builtins.input", lambda _: next(typed))
    ended = translate()

    assert (ended.code, ended.out) == (0, f"{french(LINE)}\n{french('old house')}\n")
    assert ended.err.splitlines()[0] == "type a text and press Enter; an empty line or Ctrl-D ends"
    assert ended.err.splitlines()[1].startswith("error: a source of 2001 tokens is longer than max_length")


def test_a_prompt_ends_with_the_input(translate: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(_: str) -> str:
        raise EOFError

    type_in(monkeypatch, b"", terminal=True)
    monkeypatch.setattr("builtins.input", end)

    assert translate().code == 0


def test_several_results_with_their_scores(translate: Cli) -> None:
    rows = [row.split("\t") for row in translate("--nbest", 3, "--scores", LINE).out.splitlines()]

    assert [len(row) for row in rows] == [2, 2, 2]
    assert rows[0][1] == french(LINE)
    assert sorted((float(row[0]) for row in rows), reverse=True) == [float(row[0]) for row in rows]
    assert translate("--scores", "").out == "\t\n"  # nothing was asked, so there is no score


def test_alignments_in_pharaoh_format(translate: Cli) -> None:
    first, second = (row.split("\t") for row in translate("--align", "--nbest", 2, LINE).out.splitlines())

    assert first == [french(LINE), "0-0 1-1 2-2"]
    assert second[1].split()
    assert translate("--align", "").out == "\t\n"


def test_json_says_everything(translate: Cli) -> None:
    lines = [
        json.loads(row) for row in translate("--json", "--align", "--nbest", 2, LINE, "").out.splitlines()
    ]

    assert [line["source"] for line in lines] == [LINE, ""]
    assert lines[0]["text"] == french(LINE) and len(lines[0]["alternatives"]) == 1
    assert lines[0]["alignment"]["source"] == LINE.split()
    assert [link[:2] for link in lines[0]["alignment"]["links"]] == [[0, 0], [1, 1], [2, 2]]
    assert [round(sum(row), 1) <= 1 for row in lines[0]["alignment"]["weights"]] == [True] * 3
    assert lines[0]["tokens"][-1]["piece"] == "</s>"
    assert (lines[1]["text"], lines[1]["score"], lines[1]["tokens"]) == ("", None, [])


def test_a_stream_joins_to_the_translation(translate: Cli) -> None:
    assert translate("--stream", LINE, "", "old house").out == f"{french(LINE)}\n\n{french('old house')}\n"


def test_sampling_is_repeated_by_its_seed(translate: Cli) -> None:
    texts = ["--sample", "--temperature", 2, LINE, "old dog", "new red road"]

    assert translate("--seed", 1, *texts) == translate("--seed", 1, *texts)
    assert len({translate("--seed", seed, *texts).out for seed in range(6)}) > 1
    assert translate("--temperature", 0, LINE).out == french(LINE) + "\n"
    assert translate("--sample", "--top-p", "1e-8", LINE).out == french(LINE) + "\n"
    assert translate("--sample", "--nbest", 5, LINE).out.count("\n") == 5  # any number when sampling


def test_wishes(translate: Cli) -> None:
    assert translate("--prefix", "grand", LINE).out.startswith("grand")
    assert "oiseau" in translate("--term", "oiseau", LINE).out
    assert "rouge" not in translate("--forbid", "rouge", LINE).out


def test_a_paragraph_is_split(translate: Cli) -> None:
    text = f"{LINE}. Old house"
    whole = translate("--split", "--json", text)

    assert whole.code == 0
    assert json.loads(whole.out)["text"].count(" ") >= 1


def test_the_shortlist_changes_nothing_where_it_covers(translate: Cli, tmp_path: Path) -> None:
    lines = [LINE, "", "old house", "new dog bird red"]
    (tmp_path / "in.txt").write_text("\n".join(lines) + "\n")

    assert translate("--shortlist", "-i", "in.txt") == translate("-i", "in.txt")


def test_an_ensemble(cli: Cli) -> None:
    model = trained("translator")

    assert cli("translate", "-m", model, "-m", model, LINE).out == french(LINE) + "\n"


MISTAKES: dict[str, tuple[list[object], str]] = {
    "a beam of 0": (["--beam", 0], "translate: beam = 0 should be greater than 0"),
    "more results than the beam": (["--beam", 2, "--nbest", 3], "translate: nbest = 3 is more than beam = 2"),
    "top-k without sampling": (
        ["--top-k", 3],
        "translate: top_k = 3 is for sampling; set temperature, for example 1.0",
    ),
    "top-p of 0": (["--sample", "--top-p", 0], "translate: top_p = 0.0 should be greater than 0"),
    "a negative temperature": (
        ["--temperature", -1],
        "translate: temperature = -1.0 should be greater than or equal to 0",
    ),
    "a negative seed": (
        ["--sample", "--seed", -1],
        "translate: seed = -1 should be greater than or equal to 0",
    ),
    "a stream and JSON": (
        ["--stream", "--json"],
        "--stream and --json do not go together; leave one of them out",
    ),
    "a stream and scores": (
        ["--stream", "--scores"],
        "--stream and --scores do not go together; leave one of them out",
    ),
    "a stream into a file": (
        ["--stream", "-o", "x"],
        "--stream and -o do not go together; leave one of them out",
    ),
    "text twice": (["-i", "in.txt"], "text is given twice, as arguments and with -i; leave one of them out"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_contradictions_are_told(mistake: str, translate: Cli) -> None:
    flags, message = MISTAKES[mistake]
    ended = translate(*flags, LINE)

    assert ended == Ended(4, "", f"error: {message}\n")
