"""``glassformer eval`` and ``check``: each family on its kind of file, and figures that can be compared."""

import json
from pathlib import Path

import pytest

from glassformer.training import RunDirectory
from tests.cli.conftest import Cli, Ended
from tests.support.runs import figures
from tests.support.trained import corpus, trained

TRANSLATOR, LANGUAGE, MASKED, CLASSIFIER = "translator", "language model", "masked", "classifier"


def valid(*more: object) -> list[object]:
    folder = corpus(TRANSLATOR)
    return ["eval", trained(TRANSLATOR), "--src", folder / "valid.en", "--ref", folder / "valid.fr", *more]


def last_validation(kind: str) -> dict[str, object]:
    return [values for split, _, values in figures(RunDirectory(trained(kind))) if split == "valid"][-1]


def test_validation_in_training_is_eval_to_the_last_digit(cli: Cli, tmp_path: Path) -> None:
    """The same decoder, settings and scorer; the server answers with the same translator."""
    before = last_validation(TRANSLATOR)
    for side, flag in (("en", "src"), ("fr", "tgt")):  # training decodes the first valid_sentences = 20
        lines = (corpus(TRANSLATOR) / f"valid.{side}").read_text().splitlines()[:20]
        (tmp_path / f"first.{flag}").write_text("\n".join(lines) + "\n")
    now = json.loads(
        cli("eval", trained(TRANSLATOR), "--src", "first.src", "--ref", "first.tgt", "--json").out
    )

    assert (now["bleu"]["value"], now["chrf"]["value"]) == (before["bleu"], before["chrf"])
    every = json.loads(cli(*valid("--json")).out)
    assert every["perplexity"] == pytest.approx(before["ppl"], rel=1e-6)


def test_tokenised_references_are_told_once(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("red cat\n" * 120)
    (tmp_path / "ref.txt").write_text("rouge chat .\n" * 120)
    ask = ("eval", trained(TRANSLATOR), "--src", "in.txt", "--ref", "ref.txt")
    told = cli(*ask)

    assert told.code == 0 and told.err.count("ref.txt: full stops stand apart") == 1
    assert "stand apart" not in cli(*ask, "--tokenized").err + cli(*valid()).err


def test_a_language_model_has_the_perplexity_of_its_validation(cli: Cli) -> None:
    ask = ("eval", trained(LANGUAGE), "--text", corpus(LANGUAGE) / "valid.txt")
    found = json.loads(cli(*ask, "--json").out)

    assert found["perplexity"] == pytest.approx(last_validation(LANGUAGE)["ppl"], rel=1e-6)
    assert found["context"] == 24
    rows = [row.split() for row in cli(*ask).out.splitlines()]
    assert [row[0] for row in rows] == ["ppl", "word", "bits"]


def test_a_classifier_has_the_accuracy_of_its_validation(cli: Cli) -> None:
    ask = ("eval", trained(CLASSIFIER), "--labelled", corpus(CLASSIFIER) / "valid.tsv")
    found = json.loads(cli(*ask, "--json", "-o", "out.txt").out)

    assert found["accuracy"] == last_validation(CLASSIFIER)["accuracy"]
    assert [label["name"] for label in found["labels"]] == ["colour", "other"]
    assert set(Path("out.txt").read_text().split()) <= {"colour", "other"}
    assert cli(*ask).out.startswith("accuracy")


def test_scores_have_signatures_and_lengths(cli: Cli) -> None:
    found = json.loads(cli(*valid("--json")).out)
    shown = cli(*valid("-o", "out.fr"))

    assert found["bleu"]["signature"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert sum(bucket["sentences"] for bucket in found["buckets"]) == 40
    assert [row.split()[0] for row in shown.out.splitlines()][:4] == ["BLEU", "chrF", "TER", "ppl"]
    assert found["bleu"]["signature"] in shown.out
    assert len(Path("out.fr").read_text().splitlines()) == 40
    assert shown.err == " translated 40\n"


def test_further_references_may_have_gaps(cli: Cli, tmp_path: Path) -> None:
    source = (corpus(TRANSLATOR) / "valid.en").read_text().splitlines()
    target = (corpus(TRANSLATOR) / "valid.fr").read_text().splitlines()
    wrong = ["maison " * 3] * len(target)
    gaps = [line if i % 2 else "" for i, line in enumerate(target)]
    for name, lines in {"src": source, "wrong": wrong, "gaps": gaps, "full": target}.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")

    def bleu(*refs: str) -> dict[str, float]:
        flags = [part for ref in refs for part in ("--ref", ref)]
        found: dict[str, float] = json.loads(
            cli("eval", trained(TRANSLATOR), "--src", "src", *flags, "--json").out
        )["bleu"]
        return found

    alone, some, every = bleu("wrong"), bleu("wrong", "gaps"), bleu("wrong", "full")
    assert alone["value"] < some["value"] < every["value"]
    assert str(some["signature"]).startswith("nrefs:var|") and str(every["signature"]).startswith("nrefs:2|")
    first = cli("eval", trained(TRANSLATOR), "--src", "src", "--ref", "gaps", "--ref", "full")
    assert first == Ended(
        3,
        "",
        "error: gaps: line 1 is blank; the first file of references needs one for every sentence, "
        "only further ones may have gaps\n",
    )
    (tmp_path / "short").write_text("x\n")
    assert cli("eval", trained(TRANSLATOR), "--src", "src", "--ref", "full", "--ref", "short").err == (
        "error: src has 40 lines, short has 1; they must pair up\n"
    )


def test_the_bleu_of_old_papers_and_other_words(cli: Cli) -> None:
    found = json.loads(cli(*valid("--json", "--tokenized", "--tokenize", "char")).out)

    assert "tok:none" in found["tokenized_bleu"]["signature"]
    assert "tok:char" in found["bleu"]["signature"]
    assert cli(*valid("--tokenize", "13b")).err == (
        "error: '13b' is no way to find words; did you mean '13a'?; there are 13a, intl, zh, char, none\n"
    )


def test_two_models_are_compared(cli: Cli) -> None:
    found = json.loads(cli(*valid("--json", "--compare", trained(TRANSLATOR))).out)

    assert [(each["metric"], each["p_value"]) for each in found["compare"]] == [("BLEU", 1.0), ("chrF2", 1.0)]


def test_a_pipeline_stops_below_its_bound(cli: Cli) -> None:
    assert cli(*valid("--min-bleu", 1)).code == 0
    ended = cli(*valid("--min-bleu", 101))

    assert ended.code == 5
    assert ended.err.splitlines()[-1].endswith("is below --min-bleu 101.0")


def test_decoding_is_asked_for(cli: Cli) -> None:
    assert cli(*valid("--beam", 1, "--alpha", 0.2, "--shortlist")).code == 0
    assert cli(*valid("--beam", 0)).err == "error: eval: beam = 0 should be greater than 0\n"


WRONG = {
    TRANSLATOR: ("encoder-decoder", ["--text", "x"], "--src FILE --ref FILE"),
    LANGUAGE: ("decoder-only", ["--src", "x", "--ref", "x"], "--text FILE"),
    CLASSIFIER: ("encoder-only", ["--text", "x"], "--labelled FILE"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_each_family_is_told_what_it_is_judged_on(kind: str, cli: Cli) -> None:
    family, flags, right = WRONG[kind]
    model = trained(kind)

    assert cli("eval", model, *flags) == Ended(
        4,
        "",
        f'error: {model}: this is a model of family = "{family}"; judge it on its own kind of file\n'
        f"hint:  glassformer eval {model} {right}\n",
    )
    assert cli("eval", model) == Ended(
        4,
        "",
        f"error: nothing to evaluate on; name the files\nhint:  glassformer eval {model} {right}\n",
    )


def test_what_has_no_figure_is_told(cli: Cli) -> None:
    model = trained(MASKED)

    assert cli("eval", model, "--text", "x").err.splitlines()[0] == (
        f'error: {model}: a model with head = "masked-lm" has no labels to be right about; '
        "only classifiers are evaluated"
    )
    text = ("--text", corpus(LANGUAGE) / "valid.txt")
    assert cli("eval", trained(LANGUAGE), *text, "--min-bleu", 3).err == (
        "error: --min-bleu is about translations; leave it out\n"
    )


@pytest.mark.parametrize(
    ("kind", "names"),
    {
        TRANSLATOR: ["causal", "padding", "batch", "cache", "attention", "search", "files"],
        LANGUAGE: ["causal", "padding", "batch", "cache", "attention", "search", "files"],
        MASKED: ["padding", "batch", "attention", "files"],
        CLASSIFIER: ["padding", "batch", "attention", "files"],
    }.items(),
)
def test_every_family_keeps_its_promises(kind: str, names: list[str], cli: Cli) -> None:
    ended = cli("check", trained(kind), "--json")
    found = json.loads(ended.out)

    assert ended.code == 0, ended.err
    assert [check["name"] for check in found] == names
    assert all(check["holds"] for check in found)
    lines = cli("check", trained(kind)).out.splitlines()
    assert [line.split()[0] for line in lines] == ["✓"] * len(names)


def test_a_broken_promise_is_told(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.evaluation.invariance.scaled", lambda _: -1.0)
    ended = cli("check", trained(TRANSLATOR), "--only", "padding")

    assert ended.code == 5 and ended.out.startswith("✗")
    assert "padding: amount and content of padding do not matter: Δ" in ended.err


def test_checks_are_chosen(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("red cat\n\nold dog house\n")
    (tmp_path / "blank.txt").write_text("\n \n")
    model = trained(TRANSLATOR)

    assert (
        len(cli("check", model, "-i", "in.txt", "--only", "cache", "--only", "files").out.splitlines()) == 2
    )
    assert cli("check", model, "--only", "cach").err == (
        "error: --only cach: there is no such check; did you mean 'cache'?\n"
    )
    assert cli("check", model, "-i", "blank.txt").err == (
        "error: blank.txt: every line is blank; give at least one text\n"
    )
    assert cli("check", trained(MASKED), "--only", "cache").err == (
        "error: cache: there is no such check for this family; it has padding, batch, attention, files\n"
    )
