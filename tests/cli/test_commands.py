"""Each verb about training, on a tiny corpus."""

import json
import signal
import tomllib
from pathlib import Path

import pytest

from glassformer.cli.settings import resolve_settings
from glassformer.config import RunConfig, load, resolve
from glassformer.nn.native import native_library
from tests.cli.conftest import Cli
from tests.cli.test_bad_input import PAIR, TINY
from tests.support.corpora import write_reversal

VALID = ["--valid", "valid.src", "valid.tgt"]


@pytest.fixture(autouse=True)
def _corpus(tmp_path: Path) -> None:
    write_reversal(tmp_path)


def test_train_tells_where_everything_is_and_what_comes_next(cli: Cli, tmp_path: Path) -> None:
    ended = cli("train", *PAIR, *VALID, *TINY, "--langs", "en,fr", "--set", "train.log_every=1")
    run = tmp_path / "runs" / "train-en-fr-16-01"

    assert (ended.code, ended.out) == (0, "runs/train-en-fr-16-01\n")
    lines = ended.err.splitlines()
    assert lines[0] == f" training a bpe tokenizer on {tmp_path}/train.src and {tmp_path}/train.tgt"
    assert any(line.startswith("step=2 loss=") for line in lines)
    assert any(line.startswith(" valid @ 2   loss ") and line.endswith("▲ best") for line in lines)
    assert lines[-4:] == [
        " model       runs/train-en-fr-16-01/model",
        " curves      runs/train-en-fr-16-01/plots/",
        " everything  runs/train-en-fr-16-01",
        ' next        glassformer translate -m runs/train-en-fr-16-01 "…"',
    ]
    names = {path.name for path in run.iterdir()}
    assert names >= {"config.toml", "run.json", "metrics.jsonl", "train.log", "tokenizer.json", "model"}
    assert (
        (run / "samples" / "step-000002.tsv").read_text().startswith("source\treference\thypothesis\tscore\n")
    )
    assert "step=2 loss=" in (run / "train.log").read_text()
    assert load(RunConfig, run / "config.toml").train.steps == 2
    again = cli("train", run / "config.toml", "--name", "again")
    assert (again.code, again.out) == (0, "runs/again-01\n")


def test_a_dry_run_tells_everything_and_writes_nothing(cli: Cli, tmp_path: Path) -> None:
    ended = cli("train", *PAIR, *VALID, *TINY, "--dry-run")
    lines = ended.err.splitlines()

    assert ended.code == 0 and ended.out == ""
    assert " Data      train 300   valid 20" in lines
    assert any(line.startswith(" Model     encoder-decoder, 1+1 layers, d_model 16") for line in lines)
    assert any(line.startswith(" Estimate  ") and "GB" in line for line in lines)
    assert any(line.startswith("   src  ") and line.endswith("</s>") for line in lines)
    assert any(line.startswith("   tgt  <s> ") for line in lines)
    assert lines[-1] == "dry run: nothing written. Drop --dry-run to start."
    assert not (tmp_path / "runs").exists()
    plan = json.loads(cli("train", *PAIR, *TINY, "--dry-run", "--json").out)
    assert plan["steps"] == 2 and plan["parameters"] > 0 and plan["n_valid"] == 0


def test_init_writes_a_file_that_is_input_again(cli: Cli, tmp_path: Path) -> None:
    ended = cli("init", "project", *PAIR, *VALID)
    path = tmp_path / "project" / "glassformer.toml"
    text = path.read_text()

    assert (ended.code, ended.out) == (0, "project/glassformer.toml\n")
    assert 'train = {src = "../train.src", tgt = "../train.tgt"}' in text.splitlines()
    assert cli("train", path, *TINY, "--dry-run").code == 0
    plain = resolve(tomllib.loads(text), "file")
    opened = "\n".join(
        line.removeprefix("# ")
        if line.startswith("# ") and " = " in line and not line.endswith("=")
        else line
        for line in text.splitlines()
        if not (line.startswith("# ") and line.endswith("="))
    )
    uncommented = [line for line in opened.splitlines() if line.partition(" = ")[0].isidentifier()]
    tables = "\n".join(line for line in opened.splitlines() if line in uncommented or line.startswith("["))
    assert resolve(tomllib.loads(tables), "file") == plain  # what is commented out is the default
    assert len(uncommented) > 60
    assert cli("init", "project", *PAIR).code == 1
    assert path.read_text() == text


def test_paths_in_a_file_are_relative_to_it(tmp_path: Path) -> None:
    path = tmp_path / "project" / "mine.toml"
    path.parent.mkdir()
    path.write_text('[data]\ntrain = {src = "a.en", tgt = "../a.fr"}\n[tokenizer]\npath = "tokenizer.json"\n')
    found = resolve_settings(path, {}, None)
    given = resolve_settings(path, {"tokenizer": {"path": "here.json"}}, None)

    assert found.tokenizer.path == str(tmp_path / "project" / "tokenizer.json")
    assert found.data.train.src == str(tmp_path / "project" / "a.en")
    assert given.tokenizer.path == "here.json"  # a flag is about the folder that one is in


def test_init_for_other_corpora(cli: Cli) -> None:
    for flag, family in (("--text", "decoder-only"), ("--labelled", "encoder-only")):
        assert cli("init", flag.strip("-"), flag, "train.src").code == 0
        path = Path(flag.strip("-")) / "glassformer.toml"

        assert resolve(tomllib.loads(path.read_text()), "file").model.family == family


def test_data_check(cli: Cli, tmp_path: Path) -> None:
    report = json.loads(cli("data", "check", *PAIR, *VALID, "--json").out)
    strict = cli("data", "check", *PAIR, "--strict")
    fixed = cli("data", "check", *PAIR, "--fix", "clean")

    assert report["n_lines"] == 300
    assert strict.code == 5 and strict.err.splitlines()[-1].endswith("of 300 lines should be left out")
    assert fixed.code == 0
    assert {path.name for path in (tmp_path / "clean").iterdir()} == {"train.src", "train.tgt", "dropped.tsv"}


def test_runs_and_models_are_shown_compared_averaged_and_removed(cli: Cli, tmp_path: Path) -> None:
    for steps in (2, 3):
        cli(
            "train",
            *PAIR,
            *VALID,
            *TINY,
            "--name",
            f"run{steps}",
            "--steps",
            steps,
            "--set",
            "train.save_every=1",
        )
    listed = json.loads(cli("runs", "ls", "--json", "--sort", "step").out)

    assert [run["name"] for run in listed] == ["run3-01", "run2-01"]
    assert cli("runs", "ls").out.splitlines()[1].startswith("run2-01  finished  2")
    assert json.loads(cli("runs", "show", "run2-01", "--json").out)["step"] == 2
    assert json.loads(cli("runs", "diff", "run2-01", "run3-01", "--json").out) == {"train.steps": [2, 3]}
    averaged = cli("average", "run3-01", "-n", "2", "--out", "mean")
    assert (averaged.code, averaged.out) == (0, "mean\n")
    assert averaged.err == "mean of steps 2, 3; next: glassformer info mean\n"
    assert "- Weights: the mean of steps 2, 3\n" in (tmp_path / "mean" / "README.md").read_text()
    assert cli("average", "run3-01", "-n", "2").out == "runs/run3-01/model\n"
    assert cli("average", "run3-01", "-n", "2", "--out", "mean").code == 4  # never overwritten
    assert cli("average", "run3-01", "-n", "9").err == (
        "error: runs/run3-01/checkpoints: 3 regular checkpoints are kept, fewer than 9; "
        "average fewer, or train with a larger keep_last\n"
    )
    info = json.loads(cli("info", "run3-01", "--json").out)
    assert info["status"] == "finished" and info["vocabulary"] == 260 and "loss" in info["scores"]
    assert "| vocabulary | 260 ids, bpe tokenizer |" in cli("info", "mean", "--markdown").out
    assert cli("info", "mean").out.splitlines()[1].startswith("model       encoder-decoder, 1+1 layers")
    assert cli("tokenize", "-m", "run3-01", "red cat").out.split() != []
    assert json.loads(cli("tokenize", "-m", "mean", "red cat", "--json").out)["text"] == "red cat"
    assert cli("plot", "run3-01", "--format", "term").out.count("run3-01") == 3
    assert cli("runs", "rm", "run2-01", "--yes").code == 0
    assert not (tmp_path / "runs" / "run2-01").exists()


def test_fine_tuning_takes_architecture_and_tokenizer(cli: Cli, tmp_path: Path) -> None:
    cli("train", *PAIR, *TINY, "--name", "first")
    ended = cli(
        "train", *PAIR, "--init-from", "first-01", "--steps", "1", "--batch-tokens", "128", "--name", "second"
    )

    assert ended.code == 0, ended.err
    assert not any("tokenizer" in line for line in ended.err.splitlines()[:1])
    second = load(RunConfig, tmp_path / "runs/second-01/config.toml")
    assert second.model == load(RunConfig, tmp_path / "runs/first-01/config.toml").model


def test_a_signal_ends_with_the_command_that_resumes(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from glassformer.cli.progress import TrainingProgress

    def stop(_: TrainingProgress, step: int, *_rest: object) -> None:
        if step == 1:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingProgress, "stepped", stop)
        ended = cli("train", *PAIR, *VALID, *TINY, "--name", "run")

    assert ended.code == 130
    assert ended.err.splitlines()[-2:] == [
        "error: stopped at step 1; everything is saved",
        "hint:  glassformer train --resume runs/run-01",
    ]
    assert cli("train", "--resume", "runs/run-01").code == 0


def test_plots_of_several_runs_and_the_first_is_opened(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("typer.launch", opened.append)
    for name in ("one", "two"):
        cli("train", *PAIR, *TINY, "--name", name)
    ended = cli("plot", "one-01", "two-01", "--out", "both", "--format", "svg", "--open")

    assert ended.out == "both/loss.svg\nboth/lr.svg\n"
    assert opened == ["both/loss.svg"]
    assert cli("plot", "one-01", "two-01").err == (
        "error: several runs in one plot need a folder; name it with --out\n"
    )


def test_a_language_model_by_its_family(cli: Cli, tmp_path: Path) -> None:
    ended = cli(
        "train", "--text", "train.src", "--family", "decoder-only", *TINY, "--set", "train.context_length=32"
    )

    assert ended.code == 0, ended.err
    assert ended.err.splitlines()[-1] == ' next        glassformer generate -m runs/train-16-01 "…"'
    assert load(RunConfig, tmp_path / "runs/train-16-01/config.toml").model.family == "decoder-only"


def test_doctor(cli: Cli) -> None:
    findings = {finding["what"]: finding["mark"] for finding in json.loads(cli("doctor", "--json").out)}

    assert findings["attention"] == "ok" and findings["torch"] == "ok"
    assert findings["training"] == ("note" if native_library() is None else "ok")
    assert "| ✓ | python |" in cli("doctor", "--markdown").out
    assert " ✓ python" in cli("info").out
