"""Mistakes in settings are told word for word: the place, the value, the way out."""

from pathlib import Path

import pytest

from glassformer.config import (
    CorpusFiles,
    DataConfig,
    DecodeConfig,
    ModelConfig,
    PatchConfig,
    RunConfig,
    Strict,
    TokenizerConfig,
    TrainConfig,
    load,
    preset_table,
    read,
    read_toml,
)
from glassformer.errors import ConfigError

DATA = 'data = {train = {text = "a.txt"}}\n'


def told(cls: type[Strict], table: dict[str, object]) -> str:
    with pytest.raises(ConfigError) as error:
        read(cls, table, "run.toml")
    return str(error.value)


@pytest.mark.parametrize(
    ("cls", "table", "message"),
    [
        (ModelConfig, {"vocab_size": 8, "n_head": 4}, "unknown key 'n_head'; did you mean 'n_heads'?"),
        (ModelConfig, {"vocab_size": 8, "zzz": 4}, "unknown key 'zzz'"),
        (
            ModelConfig,
            {"vocab_size": 8, "norms": "pre", "zzz": 4},
            "unknown key 'norms'; did you mean 'norm'?; unknown key 'zzz'",
        ),
        (TrainConfig, {"warmup": 10}, "unknown key 'warmup'; did you mean 'warmup_steps'?"),
        (DecodeConfig, {"beams": 5}, "unknown key 'beams'; did you mean 'beam'?"),
        (TokenizerConfig, {"vocab": 5}, "unknown key 'vocab'; did you mean 'vocab_size'?"),
        (CorpusFiles, {"pair": "a.tsv"}, "unknown key 'pair'; did you mean 'pairs'?"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_name(
    cls: type[Strict], table: dict[str, object], message: str
) -> None:
    assert told(cls, table) == f"run.toml: {message}"


@pytest.mark.parametrize(
    ("cls", "table", "message"),
    [
        (ModelConfig, {}, "'vocab_size' is required"),
        (ModelConfig, {"vocab_size": True}, "vocab_size = true should be a valid integer"),
        (ModelConfig, {"vocab_size": "8"}, 'vocab_size = "8" should be a valid integer'),
        (ModelConfig, {"vocab_size": 8.0}, "vocab_size = 8.0 should be a valid integer"),
        (ModelConfig, {"vocab_size": 0}, "vocab_size = 0 should be greater than 0"),
        (ModelConfig, {"vocab_size": 8, "n_heads": -1}, "n_heads = -1 should be greater than 0"),
        (ModelConfig, {"vocab_size": 8, "dropout": 1}, "dropout = 1 should be less than 1"),
        (
            ModelConfig,
            {"vocab_size": 8, "dropout": -0.1},
            "dropout = -0.1 should be greater than or equal to 0",
        ),
        (ModelConfig, {"vocab_size": 8, "dropout": "0.1"}, 'dropout = "0.1" should be a valid number'),
        (ModelConfig, {"vocab_size": 8, "dropout": float("nan")}, "dropout = NaN should be a finite number"),
        (ModelConfig, {"vocab_size": 8, "gated": 1}, "gated = 1 should be a valid boolean"),
        (
            ModelConfig,
            {"vocab_size": 8, "norm": "mid"},
            "norm = \"mid\" should be 'post', 'pre' or 'sandwich'",
        ),
        (
            ModelConfig,
            {"vocab_size": 8, "family": "rnn"},
            "family = \"rnn\" should be 'encoder-decoder', 'decoder-only' or 'encoder-only'",
        ),
        (ModelConfig, {"vocab_size": 8, "rotary_base": 1.0}, "rotary_base = 1.0 should be greater than 1"),
        (
            ModelConfig,
            {"vocab_size": 8, "relative_buckets": 3},
            "relative_buckets = 3 should be greater than or equal to 4",
        ),
        (
            ModelConfig,
            {"vocab_size": 8, "n_classes": 1},
            "n_classes = 1 should be greater than or equal to 2",
        ),
        (PatchConfig, {"height": 8, "width": 8}, "'size' is required"),
        (TrainConfig, {"steps": 0}, "steps = 0 should be greater than 0"),
        (TrainConfig, {"learning_rate": 0.0}, "learning_rate = 0.0 should be greater than 0"),
        (TrainConfig, {"epsilon": float("inf")}, "epsilon = Infinity should be a finite number"),
        (TrainConfig, {"seed": -1}, "seed = -1 should be greater than or equal to 0"),
        (DecodeConfig, {"beam": 0}, "beam = 0 should be greater than 0"),
        (DecodeConfig, {"alpha": 6}, "alpha = 6 should be less than or equal to 5"),
        (
            DataConfig,
            {"train": "a.tsv", "max_ratio": 0.5},
            "max_ratio = 0.5 should be greater than or equal to 1",
        ),
        (CorpusFiles, {"src": 5, "tgt": "b"}, "src = 5 should be a valid string"),
    ],
)
def test_a_wrong_value_is_refused_as_the_user_wrote_it(
    cls: type[Strict], table: dict[str, object], message: str
) -> None:
    assert told(cls, table) == f"run.toml: {message}"


def test_a_wrong_value_inside_a_list_is_told_with_its_place() -> None:
    assert (
        told(TrainConfig, {"betas": [0.9, "0.98"]}) == 'run.toml [betas]: 1 = "0.98" should be a valid number'
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"n_heads": 7},
            "n_heads = 7 does not divide d_model = 512; change one, or set d_k and d_v",
        ),
        (
            {"n_heads": 7, "d_k": 64},
            "n_heads = 7 does not divide d_model = 512; change one, or set d_k and d_v",
        ),
        ({"n_kv_heads": 3}, "n_kv_heads = 3 does not divide n_heads = 8; groups must be equal"),
        ({"n_kv_heads": 16}, "n_kv_heads = 16 does not divide n_heads = 8; groups must be equal"),
        (
            {"family": "decoder-only", "source_vocab_size": 8},
            'source_vocab_size has no meaning for family = "decoder-only"; remove it',
        ),
        (
            {"family": "encoder-only", "source_vocab_size": 8},
            'source_vocab_size has no meaning for family = "encoder-only"; remove it',
        ),
        (
            {"source_vocab_size": 9},
            'tying = "three-way" needs one vocabulary, but source_vocab_size = 9 and vocab_size = 8; '
            'set tying = "two-way"',
        ),
        (
            {"positions": "rotary", "d_k": 5, "d_v": 5},
            "rotary positions turn pairs, but d_k = 5 is odd; choose an even d_k",
        ),
        (
            {"d_model": 15, "n_heads": 3},
            "sines and cosines come in pairs, but d_model = 15 is odd; choose an even one",
        ),
        (
            {"positions": "relative", "relative_max_distance": 16},
            "relative_max_distance = 16 must be more than half of relative_buckets = 32",
        ),
        (
            {"family": "encoder-only", "head": "classifier", "n_classes": 3, "labels": ["yes", "no"]},
            "labels has 2 names for n_classes = 3; they must agree",
        ),
        (
            {"patches": {"height": 8, "width": 8, "size": 2}},
            'patches are read by family = "encoder-only", not by "encoder-decoder"',
        ),
        (
            {"family": "encoder-only", "patches": {"height": 8, "width": 8, "size": 2}},
            'head = "masked-lm" guesses words, but patches are no words; set head = "classifier"',
        ),
        (
            {
                "family": "encoder-only",
                "head": "classifier",
                "max_length": 15,
                "patches": {"height": 8, "width": 8, "size": 2},
            },
            "max_length = 15 is less than the 16 patches of an image",
        ),
    ],
)
def test_an_architecture_that_contradicts_itself_is_refused(
    settings: dict[str, object], message: str
) -> None:
    assert told(ModelConfig, {"vocab_size": 8} | settings) == f"run.toml: {message}"


@pytest.mark.parametrize(
    "settings",
    [
        {"n_heads": 7, "d_k": 64, "d_v": 64},
        {"n_kv_heads": 4},
        {"n_kv_heads": 8},
        {"source_vocab_size": 8},
        {"source_vocab_size": 9, "tying": "two-way"},
        {"positions": "rotary", "d_k": 6, "d_v": 5},
        {"positions": "none", "d_model": 15, "n_heads": 3},
        {"positions": "relative", "relative_max_distance": 17},
        {
            "family": "encoder-only",
            "head": "classifier",
            "max_length": 16,
            "patches": {"height": 8, "width": 8, "size": 2},
        },
    ],
)
def test_what_only_nearly_contradicts_itself_is_taken(settings: dict[str, object]) -> None:
    config = read(ModelConfig, {"vocab_size": 8} | settings, "run.toml")

    assert {name: config.model_dump(exclude_unset=True)[name] for name in settings} == settings


@pytest.mark.parametrize(
    ("sides", "message"),
    [
        ({"height": 9, "width": 8}, "size = 2 does not divide height = 9; patches must tile the image"),
        ({"height": 8, "width": 9}, "size = 2 does not divide width = 9; patches must tile the image"),
    ],
)
def test_patches_that_do_not_tile_the_image_are_refused(sides: dict[str, object], message: str) -> None:
    table = {"vocab_size": 1, "family": "encoder-only", "patches": sides | {"size": 2}}

    assert told(ModelConfig, table) == f"run.toml [patches]: {message}"


@pytest.mark.parametrize(
    ("cls", "table", "message"),
    [
        (TrainConfig, {"warmup_steps": 0}, 'schedule = "noam" needs warmup_steps of at least 1'),
        (
            TrainConfig,
            {"schedule": "cosine", "warmup_steps": 50, "steps": 50},
            "warmup_steps = 50 leaves nothing of steps = 50",
        ),
        (
            TrainConfig,
            {"schedule": "linear", "warmup_steps": 51, "steps": 50},
            "warmup_steps = 51 leaves nothing of steps = 50",
        ),
        (TrainConfig, {"average_last": 6}, "average_last = 6 is more than keep_last = 5"),
        (
            TokenizerConfig,
            {"kind": "unigram", "dropout": 0.1},
            'dropout leaves out merges, but kind = "unigram" has none; set dropout = 0',
        ),
        (
            TokenizerConfig,
            {"kind": "char", "dropout": 0.1},
            'dropout leaves out merges, but kind = "char" has none; set dropout = 0',
        ),
        (DecodeConfig, {"min_length": 3, "max_length": 2}, "min_length = 3 is more than max_length = 2"),
        (DecodeConfig, {"nbest": 5}, "nbest = 5 is more than beam = 4"),
        (
            DecodeConfig,
            {"temperature": 1.0, "coverage": 0.2},
            "coverage = 0.2 is for searching; leave temperature unset",
        ),
        (
            DecodeConfig,
            {"temperature": 1.0, "beam_groups": 2},
            "beam_groups = 2 is for searching; leave temperature unset",
        ),
        (DecodeConfig, {"top_k": 9}, "top_k = 9 is for sampling; set temperature, for example 1.0"),
        (DecodeConfig, {"top_p": 0.9}, "top_p = 0.9 is for sampling; set temperature, for example 1.0"),
        (
            DecodeConfig,
            {"beam_groups": 3, "diversity": 0.5, "nbest": 3},
            "beam_groups = 3 does not divide beam = 4; groups must be equal",
        ),
        (
            DecodeConfig,
            {"beam_groups": 2, "nbest": 2},
            "beam_groups = 2 and diversity = 0.0 do not go together; set both or neither",
        ),
        (
            DecodeConfig,
            {"beam_groups": 2, "diversity": 0.5},
            "nbest = 1 is less than beam_groups = 2, which give at least one result each",
        ),
        (CorpusFiles, {"src": "a"}, "src is given without tgt; name both files"),
        (CorpusFiles, {"tgt": "a"}, "tgt is given without src; name both files"),
        (
            CorpusFiles,
            {},
            "a corpus is src + tgt, pairs, text or labelled; this one has nothing",
        ),
        (
            CorpusFiles,
            {"src": "a", "tgt": "b", "pairs": "c", "text": "d"},
            "a corpus is src + tgt, pairs, text or labelled; this one has src and pairs and text",
        ),
    ],
)
def test_other_tables_that_contradict_themselves_are_refused(
    cls: type[Strict], table: dict[str, object], message: str
) -> None:
    assert told(cls, table) == f"run.toml: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modle = {}\n" + DATA, "run.toml: unknown key 'modle'; did you mean 'model'?"),
        (
            DATA + "model = {vocab_size = 8}\ntokenizer = {joint = false}",
            "run.toml: tokenizer.joint = false gives two vocabularies, "
            'which model.tying = "three-way" cannot share; set model.tying = "two-way"',
        ),
        (
            DATA
            + 'model = {vocab_size = 8, family = "decoder-only", tying = "two-way"}\n'
            + "tokenizer = {joint = false}",
            "run.toml: tokenizer.joint = false is for encoder-decoder models, which have two sides",
        ),
        (
            "data = {train = {src = 'a'}}\nmodel = {d_model = '512'}\ntrain = {warmup = 100}",
            "run.toml [data.train]: src is given without tgt; name both files\n"
            "run.toml [model]: 'vocab_size' is required\n"
            'run.toml [model]: d_model = "512" should be a valid integer\n'
            "run.toml [train]: unknown key 'warmup'; did you mean 'warmup_steps'?",
        ),
        (
            "data = {train = 'a.tsv', valid = {}}\nmodel = {vocab_size = 8}",
            "run.toml [data.valid]: a corpus is src + tgt, pairs, text or labelled; this one has nothing",
        ),
        ("model = {vocab_size = 8}", "run.toml: 'data' is required"),
        ("model = ", "run.toml: Invalid value (at end of document)"),
        ("a = 1\na = 2", "run.toml: Cannot overwrite a value (at end of document)"),
    ],
)
def test_every_mistake_of_a_file_is_told_at_once(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(text)

    with pytest.raises(ConfigError) as error:
        load(RunConfig, Path("run.toml"))

    assert str(error.value) == message


def test_a_missing_file_a_folder_and_bytes_that_are_no_text_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("bytes.toml").write_bytes(b"a = '\xff'")
    messages = {}
    for name in ("none.toml", "folder", "bytes.toml"):
        with pytest.raises(ConfigError) as error:
            read_toml(Path(name))
        messages[name] = str(error.value)

    assert messages == {
        "none.toml": "none.toml: there is no such file",
        "folder": "folder: Is a directory",
        "bytes.toml": "bytes.toml: 'utf-8' codec can't decode byte 0xff in position 5: invalid start byte",
    }


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("smal", "there is no preset 'smal'; did you mean 'small'?"),
        (
            "gpt9",
            "there is no preset 'gpt9'; choose from base, base-lm, base-mlm, big, small, "
            "small-lm, small-mlm, tiny, tiny-lm, tiny-mlm",
        ),
        (
            "../presets/tiny",
            "there is no preset '../presets/tiny'; choose from base, base-lm, base-mlm, big, small, "
            "small-lm, small-mlm, tiny, tiny-lm, tiny-mlm",
        ),
    ],
)
def test_an_unknown_preset_is_refused_with_those_there_are(name: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        preset_table(name)

    assert str(error.value) == message


def test_a_mistake_beside_a_preset_names_the_preset() -> None:
    with pytest.raises(ConfigError) as missing:
        ModelConfig.preset("tiny")
    with pytest.raises(ConfigError) as contradiction:
        ModelConfig.preset("tiny", vocab_size=8, n_heads=3)

    assert str(missing.value) == "preset tiny: 'vocab_size' is required"
    assert str(contradiction.value) == (
        "preset tiny: n_heads = 3 does not divide d_model = 128; change one, or set d_k and d_v"
    )
