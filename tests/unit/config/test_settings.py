"""Settings are few, frozen, strict, and each says what it means."""

import pytest
from pydantic import ValidationError

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
    read,
)
from glassformer.config.decode import DecodeOptions

TABLES: tuple[type[Strict], ...] = (
    CorpusFiles,
    DataConfig,
    DecodeConfig,
    ModelConfig,
    PatchConfig,
    RunConfig,
    TokenizerConfig,
    TrainConfig,
)


SETTINGS = {
    "RunConfig": "data tokenizer model train decode",
    "DataConfig": "train valid langs max_length max_ratio",
    "CorpusFiles": "src tgt pairs text labelled",
    "TokenizerConfig": "kind path vocab_size joint lowercase min_frequency dropout languages",
    "ModelConfig": (
        "family vocab_size source_vocab_size max_length d_model d_ff n_heads n_kv_heads d_k d_v "
        "n_encoder_layers n_decoder_layers positions rotary_base relative_buckets relative_max_distance "
        "norm norm_kind norm_epsilon embedding_norm activation gated bias output_bias tying scale_embedding "
        "dropout attention_dropout activation_dropout layer_drop head n_classes labels "
        "pooling patches"
    ),
    "PatchConfig": "height width channels size",
    "TrainConfig": (
        "steps epochs max_minutes batch_tokens accumulate optimizer learning_rate muon_learning_rate betas "
        "epsilon momentum weight_decay schedule warmup_steps label_smoothing mask_probability context_length "
        "clip_norm ema average_last validate_every save_every keep_last log_every best_by patience "
        "valid_sentences precision compile shard seed"
    ),
    "DecodeConfig": (
        "beam alpha length_penalty coverage nbest beam_groups diversity no_repeat_ngram repetition_penalty "
        "min_length max_length max_extra temperature top_k top_p min_p seed split batch_tokens"
    ),
}
"""A new setting is a decision: it is written down here, or this test fails."""


def test_these_are_all_the_settings_there_are() -> None:
    assert {cls.__name__: " ".join(cls.model_fields) for cls in TABLES} == SETTINGS


@pytest.mark.parametrize("cls", TABLES)
def test_every_setting_says_what_it_means(cls: type[Strict]) -> None:
    silent = [name for name, field in cls.model_fields.items() if not field.description]

    assert silent == []
    assert cls.__doc__


def test_options_of_decoding_are_its_settings() -> None:
    assert list(DecodeOptions.__annotations__) == list(DecodeConfig.model_fields)


def test_settings_are_frozen() -> None:
    config = ModelConfig(vocab_size=8)

    with pytest.raises(ValidationError, match="frozen"):
        config.d_model = 4  # type: ignore[misc]
    assert config.d_model == 512


def test_equal_settings_are_equal_and_can_be_keys() -> None:
    assert ModelConfig(vocab_size=8) == ModelConfig(vocab_size=8) != ModelConfig(vocab_size=9)
    assert len({ModelConfig(vocab_size=8), ModelConfig(vocab_size=8)}) == 1


def test_an_integer_may_stand_for_a_float() -> None:
    dropout = read(ModelConfig, {"vocab_size": 8, "dropout": 0}, "x").dropout

    assert dropout == 0.0
    assert type(dropout) is float


def test_the_defaults_are_the_papers_base_model() -> None:
    config = ModelConfig(vocab_size=37_000)

    assert (config.n_encoder_layers, config.n_decoder_layers) == (6, 6)
    assert (config.d_model, config.d_ff, config.n_heads, config.d_key, config.d_value) == (
        512,
        2048,
        8,
        64,
        64,
    )
    assert (config.dropout, config.norm, config.norm_kind) == (0.1, "post", "layer")
    assert (config.positions, config.activation, config.gated) == ("sinusoidal", "relu", False)
    assert (config.tying, config.scale_embedding) == ("three-way", True)
    assert TrainConfig().betas == (0.9, 0.98)
    assert (TrainConfig().epsilon, TrainConfig().warmup_steps) == (1e-9, 4000)
    assert (TrainConfig().label_smoothing, TrainConfig().schedule) == (0.1, "noam")
    assert (DecodeConfig().beam, DecodeConfig().alpha, DecodeConfig().max_extra) == (4, 0.6, 50)


def test_widths_follow_d_model_until_they_are_set() -> None:
    config = ModelConfig(vocab_size=8, n_kv_heads=2, d_v=10, source_vocab_size=8)

    assert (config.d_key, config.d_value, config.n_key_heads, config.n_source_ids) == (64, 10, 2, 8)
    assert (config.n_patches, ModelConfig(vocab_size=8).n_key_heads) == (0, 8)


def test_patches_are_counted() -> None:
    patches = PatchConfig(height=8, width=12, size=4)
    config = ModelConfig(vocab_size=1, family="encoder-only", head="classifier", patches=patches)

    assert config.n_patches == 6


def test_a_path_alone_is_a_file_of_pairs() -> None:
    assert read(DataConfig, {"train": "a.tsv"}, "x").train == CorpusFiles(pairs="a.tsv")


@pytest.mark.parametrize(
    ("files", "paths"),
    [
        (CorpusFiles(src="a", tgt="b"), ("a", "b")),
        (CorpusFiles(pairs="a"), ("a",)),
        (CorpusFiles(text="a"), ("a",)),
        (CorpusFiles(labelled="a"), ("a",)),
    ],
)
def test_a_corpus_knows_its_files_source_first(files: CorpusFiles, paths: tuple[str, ...]) -> None:
    assert files.paths == paths
