"""The verbs of the other families: generate, fill, classify, embed, score; what they say to a wrong one."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Cli, Ended
from tests.support.corpora import WORDS
from tests.support.trained import corpus, trained

LANGUAGE, MASKED, CLASSIFIER, TRANSLATOR = "language model", "masked", "classifier", "translator"


def test_a_text_goes_on(cli: Cli) -> None:
    ask = ("generate", "-m", trained(LANGUAGE), "--max-tokens", 4)
    greedy = cli(*ask, "--temperature", 0, "red cat", "")

    assert greedy.code == 0, greedy.err
    first, second = greedy.out.splitlines()
    assert first.startswith("red cat") and set(first.split()) <= set(WORDS)
    assert len(first.split()) <= 6 and second.split()  # a blank prompt asks for a text from its beginning
    assert cli(*ask, "--beam", 2, "red cat").code == 0
    assert cli(*ask, "--seed", 3, "red cat") == cli(*ask, "--seed", 3, "red cat")
    assert cli(*ask, "--stream", "--temperature", 0, "red cat", "").out == greedy.out
    rows = cli(*ask, "--nbest", 3, "--scores", "red cat").out.splitlines()
    assert len(rows) == 3 and all(float(row.split("\t")[0]) <= 0 for row in rows)
    told = json.loads(cli(*ask, "--json", "--beam", 1, "red cat").out)
    assert told["source"] == "red cat" and len(told["tokens"]) <= 4


def test_blanks_are_filled(cli: Cli, tmp_path: Path) -> None:
    ask = ("fill", "-m", trained(MASKED))
    found = cli(*ask, "--top", 3, "the [MASK] cat [MASK]")
    told = json.loads(cli(*ask, "--json", "--mask", "___", "red ___ dog").out)

    blanks = found.out.removesuffix("\n").split("\t")
    assert len(blanks) == 2 and all(len(blank.split("  ")) == 3 for blank in blanks)
    assert len(told["blanks"]) == 1 and len(told["blanks"][0]) == 5
    chances = [guess["probability"] for guess in told["blanks"][0]]
    assert chances == sorted(chances, reverse=True)
    (tmp_path / "in.txt").write_text("red [MASK]\n\n[MASK] cat\n")
    assert [bool(line) for line in cli(*ask, "-i", "in.txt").out.split("\n")] == [True, False, True, False]
    (tmp_path / "in.txt").write_text("red [MASK]\nred\n")
    assert cli(*ask, "-i", "in.txt") == Ended(
        1, "", "error: in.txt: line 2: there is no [MASK] to fill; write it where a word is missing\n"
    )
    assert cli(*ask, "--mask", "", "red").err == (
        "error: a marker cannot be empty; name one, such as [MASK]\n"
    )


def test_texts_are_classified(cli: Cli, tmp_path: Path) -> None:
    ask = ("classify", "-m", trained(CLASSIFIER))
    (tmp_path / "in.txt").write_text("red cat\n\nhouse red\n")

    assert [row.split("\t")[0] for row in cli(*ask, "-i", "in.txt").out.splitlines()] == [
        "colour",
        "",
        "other",
    ]
    both = cli(*ask, "--all", "red cat").out.removesuffix("\n").split("\t")
    assert both[::2] == ["colour", "other"]
    assert float(both[1]) + float(both[3]) == pytest.approx(1, abs=1e-3)
    told = json.loads(cli(*ask, "--json", "--all", "red cat").out)
    assert [label["name"] for label in told["labels"]] == ["colour", "other"]
    assert cli(*ask, "-i", "in.txt", "-o", "out.txt") == Ended(0, "", "wrote 3 lines to out.txt\n")


def test_texts_become_vectors(cli: Cli, tmp_path: Path) -> None:
    ask = ("embed", "-m", trained(MASKED))
    rows = cli(*ask, "red cat", "dog").out.splitlines()
    cosines = np.array(
        [row.split() for row in cli(*ask, "--similarity", "red", "red", "").out.splitlines()], float
    )
    ended = cli(*ask, "-o", "x.npy", "--no-normalize", "--pool", "first", "red", "")

    assert [len(row.split()) for row in rows] == [32, 32]
    assert np.linalg.norm(np.array(rows[0].split(), float)) == pytest.approx(1, abs=1e-3)
    assert cosines[0, :2] == pytest.approx([1, 1], abs=1e-3) and not cosines[2].any()
    assert ended.err == "wrote (2, 32) to x.npy\n"
    assert cli(*ask, "-o", "cosines.npy", "--similarity", "red", "old").err == "wrote (2, 2) to cosines.npy\n"
    assert np.load(tmp_path / "cosines.npy").diagonal() == pytest.approx([1, 1])
    vectors = np.load(tmp_path / "x.npy", allow_pickle=False)
    assert vectors.shape == (2, 32) and not vectors[1].any()
    assert len(json.loads(cli(*ask, "--json", "red").out)[0]) == 32
    assert cli(*ask, "--pool", "last", "red").err == "error: --pool last: should be mean or first\n"
    assert cli(*ask, "-o", "nowhere/x.npy", "red").err == (
        "error: nowhere/x.npy: cannot be written (No such file or directory)\n"
    )


def test_given_texts_are_scored(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in.en").write_text("red cat\n\nold dog\n")
    (tmp_path / "in.fr").write_text("rouge chat\n\nroute route\n")
    ask = ("score", "-m", trained(TRANSLATOR), "--src", "in.en", "--tgt", "in.fr")
    good, blank, bad = cli(*ask).out.splitlines()

    assert blank == "" and float(good.split("\t")[0]) > float(bad.split("\t")[0])
    assert float(good.split("\t")[1]) < 1.5 < float(bad.split("\t")[1])  # perplexity
    words = cli(*ask, "--words").out.splitlines()[0].split("\t")
    assert [word.split(" ")[0] for word in words] == ["rouge", "chat", "</s>"]
    told = [json.loads(line) for line in cli(*ask, "--json").out.splitlines()]
    assert told[1]["log_probability"] is None
    assert sum(token["log_probability"] for token in told[0]["tokens"]) == pytest.approx(
        told[0]["log_probability"]
    )
    alone = cli("score", "-m", trained(LANGUAGE), "--tgt", "in.en").out.splitlines()
    assert [bool(line) for line in alone] == [True, False, True]
    (tmp_path / "in.fr").write_text("rouge chat\n")
    assert cli(*ask).err == "error: in.en has 3 lines, in.fr has 1; they must pair up\n"
    assert cli("score").err == "error: nothing to score; name the texts with --tgt\n"
    assert cli("score", "--tgt", "in.en").err == (
        "error: a text alone is scored by a language model; name one with -m, or give --src\n"
    )


WRONG = {
    ("translate", LANGUAGE): ("decoder-only", "LanguageModel", "generate"),
    ("translate", CLASSIFIER): ("encoder-only", "TextEncoder", "classify"),
    ("generate", TRANSLATOR): ("encoder-decoder", "Translator", "translate"),
    ("fill", TRANSLATOR): ("encoder-decoder", "Translator", "translate"),
    ("classify", LANGUAGE): ("decoder-only", "LanguageModel", "generate"),
    ("embed", TRANSLATOR): ("encoder-decoder", "Translator", "translate"),
}


@pytest.mark.parametrize(("verb", "kind"), WRONG)
def test_another_family_is_told_which_verb_fits(verb: str, kind: str, cli: Cli) -> None:
    family, name, other = WRONG[verb, kind]
    model = trained(kind)
    ended = cli(verb, "-m", model, "red [MASK]")

    assert ended == Ended(
        4,
        "",
        f'error: {model}: this is a model of family = "{family}"; use {name}\n'
        f'hint:  glassformer {other} -m {model} "…"\n',
    )


def test_another_head_is_told(cli: Cli) -> None:
    assert cli("fill", "-m", trained(CLASSIFIER), "red [MASK]").err == (
        'error: a model with head = "classifier" cannot fill in blanks; that needs head = "masked-lm"\n'
    )
    assert cli("classify", "-m", trained(MASKED), "red").err == (
        'error: a model with head = "masked-lm" cannot classify; that needs head = "classifier"\n'
    )


@pytest.mark.parametrize("verb", ["generate", "fill", "classify", "embed"])
def test_verbs_that_need_a_model_ask_for_it(verb: str, cli: Cli) -> None:
    ended = cli(verb, "text")

    assert ended.code == 2 and "--model" in ended.err


def test_contradictions_are_told(cli: Cli) -> None:
    ask = ("generate", "-m", trained(LANGUAGE), "red")

    assert cli(*ask, "--beam", 2, "--top-k", 3).err == (
        "error: --beam and --top-k do not go together; leave one of them out\n"
    )
    assert cli(*ask, "--beam", 2, "--temperature", 1).code == 4
    assert cli(*ask, "--stream", "--json").code == 4
    assert cli(*ask, "--engine", "gpu").err == "error: --engine gpu: should be auto, native or pytorch\n"
    assert cli(*ask, "--max-tokens", 0).code == 2


def test_a_prompt_that_leaves_no_room(cli: Cli) -> None:
    ended = cli("generate", "-m", trained(LANGUAGE), "red " * 2000)

    assert ended.code == 1 and "leaves no room in the" in ended.err


def test_files_of_text_are_where_they_were_written() -> None:
    assert (corpus(LANGUAGE) / "valid.txt").is_file()
