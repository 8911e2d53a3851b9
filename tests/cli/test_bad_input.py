"""Every mistake of a user: one sentence, the right exit code, no traceback, nothing overwritten."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.support.corpora import write_reversal

TINY = [
    "--preset=tiny",
    "--vocab-size=260",
    "--batch-tokens=128",
    "--steps=2",
    "--set=model.d_model=16",
    "--set=model.d_ff=32",
    "--set=model.n_heads=2",
    "--set=model.n_encoder_layers=1",
    "--set=model.n_decoder_layers=1",
    "--set=decode.beam=1",
    "--set=train.valid_sentences=2",
    "--set=train.warmup_steps=4",
]
PAIR = ["--src", "train.src", "--tgt", "train.tgt"]
FILES = {
    "short.tgt": b"a\nb\n",
    "empty.src": b"",
    "empty.tgt": b"",
    "bad.src": b"ok\nbad \xff byte\n",
    "bad.tgt": b"a\nb\n",
    "long.txt": b"cat " * 50 + b"\n",
    "typo.toml": b'[data]\ntrain = {src = "train.src", tgt = "train.tgt"}\n[train]\nstepz = 3\n',
    "broken.toml": b"[train\n",
    "one.tsv": b"hello\ta\nworld\ta\n",
    "a-file": b"x",
}
MISTAKES: dict[str, tuple[int, str, str]] = {
    "nothing": (
        4,
        "train",
        "nothing to train on; give --src and --tgt, --data, --text, --labelled or a config file",
    ),
    "no such file": (3, "train --src no.src --tgt train.tgt TINY", "{here}/no.src: there is no such file"),
    "half a pair": (4, "train --src train.src", "corpus: src is given without tgt; name both files"),
    "two kinds": (
        4,
        "train PAIR --text train.src",
        "corpus: a corpus is src + tgt, pairs, text or labelled; this one has src and text",
    ),
    "unequal": (
        3,
        "train --src train.src --tgt short.tgt TINY",
        "{here}/train.src has 300 lines, {here}/short.tgt has 2; they must pair up",
    ),
    "not UTF-8": (
        3,
        "train --src bad.src --tgt bad.tgt TINY",
        "{here}/bad.src: line 2 is not UTF-8 (byte 0xff at column 5)",
    ),
    "empty": (
        3,
        "train --src empty.src --tgt empty.tgt TINY",
        "{here}/empty.src and {here}/empty.tgt: there is no line in it; a corpus needs at least one",
    ),
    "vocabulary too small": (
        4,
        "train PAIR TINY --vocab-size=3",
        "tokenizer: vocab_size = 3 leaves nothing to learn after 5 special ids and 210 bytes; "
        "set vocab_size to 216 at the very least",
    ),
    "all too long": (
        3,
        "train --src long.txt --tgt long.txt TINY --set data.max_length=20",
        "{here}/long.txt and {here}/long.txt: all pairs are left out, 1 of 1 (0 empty, 1 longer than "
        "max_length = 20 tokens, 0 beyond max_ratio = 9); mend the corpus or widen the limits in [data]",
    ),
    "unwritable": (1, "train PAIR TINY --runs a-file/x", "a-file/x: cannot be written (Not a directory)"),
    "unknown key in a file": (
        4,
        "train typo.toml",
        "typo.toml [train]: unknown key 'stepz'; did you mean 'steps'?",
    ),
    "broken file": (
        4,
        "train broken.toml",
        "broken.toml: Expected ']' at the end of a table declaration (at line 1, column 7)",
    ),
    "unknown key in --set": (
        4,
        "train PAIR --set train.stepz=3",
        "settings [train]: unknown key 'stepz'; did you mean 'steps'?",
    ),
    "unknown table in --set": (
        4,
        "train PAIR --set trian.steps=3",
        "settings: unknown key 'trian'; did you mean 'train'?",
    ),
    "no value in --set": (
        4,
        "train PAIR --set steps",
        "--set steps: should be key=value, such as train.steps=500",
    ),
    "another kind of corpus": (
        4,
        "train --text train.src --preset tiny",
        "encoder-decoder models learn from pairs, but the corpus is text; give it --src and --tgt, "
        "or choose another --preset",
    ),
    "one label": (
        3,
        "train --labelled one.tsv --preset tiny-mlm",
        "{here}/one.tsv: 'a' is the only label; a classifier needs two",
    ),
    "what is not measured": (
        4,
        "train PAIR TINY --set train.best_by=accuracy",
        'train.best_by = "accuracy" is not measured in this run; use "loss" or "bleu" or "chrf"',
    ),
    "patience without validation": (
        4,
        "train PAIR TINY --set train.patience=2",
        "train.patience = 2 needs validation text; give --valid",
    ),
    "longer than the model": (
        4,
        "train PAIR TINY --set model.max_length=16",
        "data.max_length needs 258 positions, but model.max_length = 16; change one of them",
    ),
    "batch smaller than a row": (
        3,
        "train PAIR TINY --batch-tokens=2",
        "train: batch_tokens = 2 is less than one row of 26 tokens, special ones included "
        "(276 of 300 rows do not fit); set batch_tokens to 26 or more, or lower max_length in [data]",
    ),
    "a name with a slash": (
        4,
        "train PAIR TINY --name a/b",
        "--name a/b: should be a plain name; --runs is for the folder",
    ),
    "no such run": (4, "train --resume nothing", "nothing: there is no such run"),
    "no run": (
        4,
        "train --resume .",
        ".: no config.toml here; is this a run directory that 'glassformer train' made?",
    ),
    "resume with a file": (
        4,
        "train typo.toml --resume .",
        "--resume goes on with a run as it is; it does not take a config file",
    ),
    "no such model": (
        4,
        "train PAIR TINY --init-from nothing",
        "nothing: there is no such directory, nor runs/nothing",
    ),
    "check of unequal files": (
        3,
        "data check --src train.src --tgt short.tgt",
        "{here}/train.src has 300 lines, {here}/short.tgt has 2; they must pair up",
    ),
    "tokenize without a tokenizer": (
        4,
        "tokenize",
        "no tokenizer given; name one with -m, a run directory or a tokenizer.json",
    ),
    "unknown format": (4, "plot . --format gif", "--format gif: should be svg, png or term"),
}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    write_reversal(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def words(command: str) -> list[str]:
    short = {"TINY": TINY, "PAIR": PAIR}
    return [part for word in command.split() for part in short.get(word, [word])]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_a_sentence(mistake: str, cli: Cli, corpus: Path) -> None:
    code, command, message = MISTAKES[mistake]
    before = {path: path.read_bytes() for path in corpus.iterdir() if path.is_file()}
    ended = cli(*words(command))
    error = next(line for line in ended.err.splitlines() if line.startswith("error: "))

    assert error == f"error: {message.format(here=corpus)}"
    assert ended.code == code
    assert "Traceback" not in ended.err and ended.out == ""
    assert {path: path.read_bytes() for path in corpus.iterdir() if path.is_file()} == before
    assert not list(corpus.glob("runs/*/config.toml"))


def test_an_unknown_key_of_the_environment(cli: Cli, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del corpus
    monkeypatch.setenv("GLASSFORMER_TRAIN__STEPZ", "3")

    assert cli("train", *PAIR).err == "error: settings [train]: unknown key 'stepz'; did you mean 'steps'?\n"


def test_usage_is_code_2(cli: Cli) -> None:
    assert cli("train", *PAIR, "--steps", "0").code == 2
    assert cli("train", "--no-such-flag").code == 2


def test_another_number_of_processes_than_torchrun_s(
    cli: Cli, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del corpus
    monkeypatch.setenv("WORLD_SIZE", "2")
    ended = cli("train", *PAIR, *TINY, "--devices", "3")

    assert ended.code == 4
    assert ended.err == "error: --devices 3, but torchrun has started 2 processes; leave --devices out\n"


def test_tracking_names_what_to_install(cli: Cli, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del corpus
    monkeypatch.setattr("glassformer.training.tracking.find_spec", lambda _: None)
    ended = cli("train", *PAIR, *TINY, "--track")

    assert ended.code == 4
    assert ended.err == (
        "error: --track needs TensorBoard, which is not installed\nhint:  pip install 'glassformer[track]'\n"
    )


def test_what_a_resume_refuses(cli: Cli, corpus: Path) -> None:
    assert cli("train", *PAIR, *TINY, "--name", "run").code == 0
    changed = cli("train", "--resume", "run-01", "--batch-tokens", "64")
    unknown = cli("train", "--resume", "run-01", "--set", "train.stepz=3")
    preset = cli("train", "--resume", "run-01", "--preset", "tiny")

    assert (changed.code, unknown.code, preset.code) == (4, 4, 4)
    assert changed.err.splitlines()[1:] == [
        "error: train.batch_tokens was 128 in this run; 64 would change the updates to come, "
        "so the resume would not be exact",
        "hint:  keep it, or start anew from these weights: "
        "glassformer train --init-from runs/run-01 --set train.batch_tokens=64",
    ]
    assert unknown.err.splitlines()[1:] == [
        "error: --resume with these settings [train]: unknown key 'stepz'; did you mean 'steps'?"
    ]
    assert preset.err.splitlines()[1:] == [
        "error: --preset has no meaning for a run that has begun; it keeps its architecture"
    ]
    assert cli("train", *PAIR, *TINY, "--name", "run").out == "runs/run-02\n"  # never overwritten
    (corpus / "train.src").write_text((corpus / "train.src").read_text().replace("red", "blue"))
    corpus_changed = cli("train", "--resume", "run-01")

    assert corpus_changed.code == 4
    assert corpus_changed.err.splitlines()[-1] == (
        "error: the corpus is not the one that this run began with; restore it, or start anew from these "
        "weights with --init-from"
    )


def test_a_sentence_that_is_too_long_is_left_out_and_counted(cli: Cli, corpus: Path) -> None:
    for side in ("src", "tgt"):
        with (corpus / f"train.{side}").open("a") as file:
            file.write("cat " * 300 + "\n")
    ended = cli("train", *PAIR, *TINY, "--dry-run")

    assert ended.code == 0
    assert " Data      train 300 (1 too_long left out)   valid 0" in ended.err.splitlines()


def test_a_corpus_that_cannot_give_the_vocabulary_is_told(cli: Cli, corpus: Path) -> None:
    del corpus
    ended = cli("train", *PAIR, *TINY, "--vocab-size", "9000", "--dry-run")

    assert ended.code == 0
    assert "tokens, fewer than the 9,000 asked for" in ended.err


def test_a_nan_ends_with_a_sentence(cli: Cli, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import math

    from glassformer.training.task import TrainingLoss

    forward, count = TrainingLoss.forward, iter(range(100))

    def third_is_nan(self: TrainingLoss, batch: object) -> object:
        smoothed, nll = forward(self, batch)  # type: ignore[arg-type]
        return (smoothed * math.nan, nll) if next(count) == 2 else (smoothed, nll)

    monkeypatch.setattr(TrainingLoss, "forward", third_is_nan)
    ended = cli("train", *PAIR, *TINY, "--steps", "9", "--set", "train.save_every=2", "--name", "run")

    assert ended.code == 1
    assert ended.err.splitlines()[-1].startswith(
        "error: step 3: the gradient is not finite (norm nan, loss nan)"
    )
    assert [path.name for path in sorted((corpus / "runs/run-01/checkpoints").glob("step-*"))] == [
        "step-000002"
    ]
    assert '"status": "failed"' in (corpus / "runs/run-01/run.json").read_text()
