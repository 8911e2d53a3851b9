"""Texts that break other programs, through ``glassformer translate``: a result or one clear sentence."""

import io
import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Ended
from tests.support.trained import french, trained


@pytest.fixture
def translate(cli: Cli) -> Cli:
    return lambda *arguments: cli("translate", "-m", trained("translator"), "--beam", 1, *arguments)


@pytest.mark.parametrize(
    "text", ["", " ", "\t", "\u00a0", "\u3000", "\u200b", "\x00\x07", "\u2028", "\ufeff"]
)
def test_what_is_blank_stays_blank(text: str, translate: Cli) -> None:
    found = json.loads(translate("--json", text).out)

    assert (found["text"], found["score"], found["n_input_tokens"]) == ("", None, 0)


ODD = {
    "one character": "x",
    "controls": "red\x01\x1b[2J cat",
    "other line ends": "red\u2028cat\x85dog\x0b\x0cbird",
    "noncharacters": "\ufdd0 \U0001fffe \ue000",
    "an emoji family": "👨‍👩‍👧 🇫🇷 👍🏽",
    "right to left": "שלום 42 cat مرحبا",
    "bidi controls": "red \u202ecat\u202c",
    "East Asian": "日本語です。ｶﾀｶﾅ１２３",
    "joiners": "क्ष \u0915\u094d\u200d\u0937 می\u200cخواهم",
    "special tokens": "</s> <pad> <unk> ▁ @@ >>fra<< [MASK]",
    "markup": '<script>alert(1)</script> " onmouseover=x',
    "formats": "%s%n {0} $(id) `id`",
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_text_gives_one_line(kind: str, translate: Cli) -> None:
    ended = translate(ODD[kind])

    assert ended.code == 0, ended.err
    assert ended.out.count("\n") == 1
    ended.out.encode()  # whole characters
    again = json.loads(translate("--json", ODD[kind]).out)
    assert ended.out == " ".join(again["text"].split("\n")) + "\n"
    assert len(translate("--json", ODD[kind]).out.splitlines()) == 1


def test_special_tokens_in_text_are_text(translate: Cli) -> None:
    plain = json.loads(translate("--json", "cat </s> dog").out)

    assert plain["n_input_tokens"] > 4  # spelt out, not three tokens and an end


def test_both_forms_of_an_accent_are_one(translate: Cli) -> None:
    assert translate("caf\u00e9").out == translate("cafe\u0301").out


def test_dropped_combining_marks_are_told(translate: Cli) -> None:
    ended = translate("cat", "e" + "\u0301" * 500)

    assert ended.code == 0
    assert "warning: text 2: of 500 combining marks in a row 32 were kept" in ended.err.splitlines()


def test_an_unknown_script_is_told(translate: Cli) -> None:
    ended = translate("--json", "สวัสดีครับ")

    assert json.loads(ended.out)["unknown_ratio"] > 0.5
    assert any(
        "of the input is in characters that the tokenizer does not know" in line
        for line in ended.err.splitlines()
    )
    assert json.loads(translate("--json", "red cat").out)["unknown_ratio"] == 0


def test_half_a_character_is_refused(translate: Cli) -> None:
    ended = translate("red", "cat \ud800")

    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: ") and "half a character" in ended.err


def test_too_long_is_refused_by_line_and_never_cut(translate: Cli, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("cat\n" * 299 + "cat " * 2000 + "\n")
    ended = translate("-i", "in.txt", "-o", "out.txt")
    split = translate("--split", "cat " * 2000)

    assert ended.code == 1 and not (tmp_path / "out.txt").exists()
    assert ended.err == (
        "256 lines are done and kept; the same command goes on after them\n"
        "error: in.txt: line 300: a source of 2001 tokens is longer than max_length = 1024; "
        "split it, or train with a larger max_length\n"
    )
    assert split.err == (
        "error: a sentence of 2001 tokens is longer than max_length = 1024; "
        "shorten it, or train with a larger max_length\n"
    )


def test_a_line_of_a_megabyte(translate: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.txt").write_bytes(b"cat\n" + b"a" * (1 << 20) + b"\n")
    long = translate("-i", "in.txt")
    (tmp_path / "in.txt").write_bytes(b"cat\n" + b"a" * ((1 << 20) + 1) + b"\n")
    longer = translate("-i", "in.txt")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"cat\n" + b"a" * ((1 << 20) + 1))))
    piped = translate()

    assert long.code == 1 and long.err.startswith("error: in.txt: line 2: a source of ")
    assert longer == Ended(3, "", "error: in.txt: line 2 is longer than 1048576 bytes; split or remove it\n")
    assert piped == Ended(3, "", "error: standard input: line 2 is longer than 1048576 bytes; split it\n")


def test_what_is_not_utf8_is_refused_by_line(
    translate: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.txt").write_bytes(b"cat\nred \xff\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"cat\nred \xff\n")))

    assert translate("-i", "in.txt").err == "error: in.txt: line 2 is not UTF-8 (byte 0xff at column 5)\n"
    assert translate().err == "error: standard input: line 2 is not UTF-8 (byte 0xff at column 5)\n"


def test_a_beam_wider_than_the_vocabulary(translate: Cli) -> None:
    ended = translate("--beam", 1000, "red")

    assert (ended.code, ended.out) == (0, french("red") + "\n")


def test_a_terminal_is_not_steered(
    translate: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from glassformer.cli.lines import safe

    del capsys
    steering = "\x1b[2J\x9b \u202e é 👨‍👩‍👧 \u202f!"

    assert safe(steering) == steering  # into a file or a pipe goes what there is
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert safe(steering) == "\\x1b[2J\\x9b \\x202e é 👨‍👩‍👧 \u202f!"
    del translate


def test_a_table_for_spreadsheets_runs_nothing(translate: Cli, tmp_path: Path) -> None:
    from glassformer.cli.lines import _exported

    del translate
    cells = "=cmd|' /C calc'!A0\t+1\t@x\t-0.25\tplain"

    assert _exported(cells, tmp_path / "x.tsv") == "'=cmd|' /C calc'!A0\t'+1\t'@x\t-0.25\tplain"
    assert _exported(cells, tmp_path / "x.txt") == cells
