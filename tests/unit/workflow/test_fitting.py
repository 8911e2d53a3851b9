"""Training from Python gives the run of the command line."""

from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.config import resolve
from glassformer.errors import ConfigError, DataError, GlassformerError
from tests.support.runs import differences, figures, train
from tests.support.trained import corpus, trained

SMALL = {"d_model": 16, "d_ff": 32, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1}
TRAIN = {"batch_tokens": 256, "warmup_steps": 2, "context_length": 16, "save_every": 3, "log_every": 1}
TINY: dict[str, Any] = {
    "tokenizer": {"vocab_size": 260},
    "model": {"preset": "tiny", **SMALL},
    "train": TRAIN,
    "decode": {"beam": 1, "max_extra": 3},
}


@pytest.fixture(autouse=True)
def _no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.training.trainer.draw_run", lambda *_: None)


def test_a_fit_is_the_run_of_the_command_line(tmp_path: Path) -> None:
    folder = corpus("translator")
    files = {"src": str(folder / "train.en"), "tgt": str(folder / "train.fr")}
    pairs = gf.Pairs.from_files(*files.values())
    run = gf.fit(pairs, out=tmp_path / "one" / "demo", steps=3, settings=TINY)
    tables = TINY | {"train": TRAIN | {"steps": 3}, "data": {"train": files}}
    other = train(resolve(tables, "test"), tmp_path / "two")

    assert run.path == tmp_path / "one" / "demo-01"
    assert differences(run, other) == []
    assert gf.fit(pairs, out=tmp_path / "one" / "demo", steps=1, settings=TINY).path.name == "demo-02"


def test_text_in_memory_is_written_so_that_the_run_can_be_resumed(tmp_path: Path) -> None:
    pairs = [(line, line.upper()) for line in ("red\tcat", 'a "dog"', "été\u2028") for _ in range(20)]
    corpora = gf.Pairs.from_list(pairs), gf.Pairs.from_list(pairs[:3])
    run = gf.fit(*corpora, out=tmp_path / "x", steps=3, settings=TINY)
    data = run.settings().data

    assert str(data.train.pairs).startswith(str(tmp_path / ".corpora")) and data.valid is not None
    assert [tuple(pair) for pair in gf.Pairs.from_jsonl(str(data.train.pairs))] == pairs
    translator = gf.Translator.from_pretrained(run.path)
    assert translator.decode.beam == 1
    assert [split for split, *_ in figures(run)].count("valid") == 1


def test_the_family_follows_the_corpus(tmp_path: Path) -> None:
    settings = TINY | {"model": SMALL}
    lines = ["red cat house", "old dog road"] * 20
    language = gf.fit(gf.Lines.from_list(lines), out=tmp_path / "lm", steps=1, settings=settings)
    labels = gf.Labelled.from_list([(line, line[:3]) for line in lines])
    classes = gf.fit(labels, out=tmp_path / "classes", steps=1, settings=settings)

    assert isinstance(gf.load(language.path), gf.LanguageModel)
    encoder = gf.load(classes.path)
    assert isinstance(encoder, gf.TextEncoder) and encoder.labels == ("old", "red")


def test_a_fit_goes_on_from_a_model(tmp_path: Path) -> None:
    folder = corpus("translator")
    pairs = gf.Pairs.from_files(folder / "train.en", folder / "train.fr")
    run = gf.fit(pairs, out=tmp_path / "more", steps=1, init_from=trained("translator"))
    before = gf.Translator.from_pretrained(trained("translator"))
    after = gf.Translator.from_pretrained(run.path)

    assert after.tokenizer.fingerprint == before.tokenizer.fingerprint
    assert after.engines.config == before.engines.config


def test_mistakes_are_told(tmp_path: Path) -> None:
    pairs = gf.Pairs.from_list([("a", "b")])
    with pytest.raises(ConfigError, match=r"fit \[train\]: unknown key 'step'; did you mean 'steps'"):
        gf.fit(pairs, out=tmp_path / "x", settings={"train": {"step": 3}})
    with pytest.raises(ConfigError, match="fit: unknown key 'trian'"):
        gf.fit(pairs, out=tmp_path / "x", settings={"trian": {"steps": 3}})
    (tmp_path / "file").write_text("")
    with pytest.raises(GlassformerError, match="cannot be written"):
        gf.fit(pairs, out=tmp_path / "file" / "x")


def test_a_validation_sentence_that_no_model_could_read_is_told_before_the_run(tmp_path: Path) -> None:
    pairs = gf.Pairs.from_list([("red cat", "rouge chat")] * 20)
    valid = gf.Pairs.from_list([("red", "rouge"), ("red " * 3000, "rouge")])
    with pytest.raises(
        DataError, match=r"validation text 2: a source of \d+ tokens is longer than max_length"
    ):
        gf.fit(pairs, valid, out=tmp_path / "x", steps=1, settings=TINY)

    assert not list(tmp_path.glob("x-*"))
