"""What is saved is loaded: every value, defaults too."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.config import (
    CorpusFiles,
    DataConfig,
    DecodeConfig,
    ModelConfig,
    PatchConfig,
    RunConfig,
    TokenizerConfig,
    TrainConfig,
    load,
    preset_names,
    read,
    save,
    to_toml,
)
from glassformer.config.strict import Strict
from glassformer.errors import ConfigError
from tests.support.models import FAMILIES, POSITIONS

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
share = st.floats(0, 1, exclude_max=True)
positive = st.integers(1, 10**9)
real = st.floats(1e-12, 1e6)


def corpus() -> st.SearchStrategy[CorpusFiles]:
    return st.one_of(
        st.builds(CorpusFiles, src=names, tgt=names),
        st.builds(CorpusFiles, pairs=names),
        st.builds(CorpusFiles, text=names),
        st.builds(CorpusFiles, labelled=names),
    )


models = st.builds(
    ModelConfig,
    family=st.sampled_from(FAMILIES),
    vocab_size=positive,
    d_model=st.sampled_from([64, 512]),
    n_kv_heads=st.sampled_from([None, 1, 2, 8]),
    d_k=st.sampled_from([None, 2, 6]),
    positions=st.sampled_from(POSITIONS),
    norm_epsilon=real,
    rotary_base=st.floats(2, 1e9),
    tying=st.sampled_from(["three-way", "two-way", "none"]),
    dropout=share,
    gated=st.booleans(),
)
runs = st.builds(
    RunConfig,
    data=st.builds(DataConfig, train=corpus(), valid=st.none() | corpus(), langs=st.tuples(names, names)),
    tokenizer=st.builds(
        TokenizerConfig, path=st.none() | names, languages=st.lists(names, max_size=3).map(tuple)
    ),
    model=models,
    train=st.builds(
        TrainConfig,
        epochs=st.none() | positive,
        learning_rate=st.none() | real,
        betas=st.tuples(share, share),
        epsilon=real,
        patience=st.none() | positive,
        seed=st.integers(0, 2**63 - 1),
    ),
    decode=st.builds(DecodeConfig, alpha=st.floats(-2, 5), beam=positive),
)


def through_a_file(config: Strict, folder: Path) -> Strict:
    save(config, folder / "settings.toml")
    return load(type(config), folder / "settings.toml")


@settings(deadline=None, max_examples=100)
@given(config=runs)
def test_a_run_that_is_saved_is_loaded(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert through_a_file(config, tmp_path_factory.getbasetemp()) == config


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_that_is_saved_is_loaded(name: str, tmp_path: Path) -> None:
    config = ModelConfig.preset(name, vocab_size=37_000)

    assert through_a_file(config, tmp_path) == config


def test_patches_are_saved_as_a_table_of_their_own(tmp_path: Path) -> None:
    config = ModelConfig(
        vocab_size=1,
        family="encoder-only",
        head="classifier",
        patches=PatchConfig(height=8, width=8, size=2),
    )

    assert "[patches]\nheight = 8\nwidth = 8\nchannels = 1\nsize = 2\n" in to_toml(config)
    assert through_a_file(config, tmp_path) == config


def test_a_saved_file_says_every_default() -> None:
    written = to_toml(TrainConfig())
    unset = [name for name, value in TrainConfig() if value is None]

    assert [name for name in TrainConfig.model_fields if f"\n{name} = " not in f"\n{written}"] == unset


@settings(deadline=None, max_examples=50)
@given(table=st.dictionaries(names, st.integers() | st.booleans() | names, min_size=1, max_size=4))
def test_no_table_whatever_makes_the_reader_fail_otherwise_than_in_words(table: dict[str, object]) -> None:
    refused = False
    try:
        read(TrainConfig, table, "x")
    except ConfigError:
        refused = True

    assert refused or set(table) <= set(TrainConfig.model_fields)
