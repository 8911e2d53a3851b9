"""Presets are data: each loads, each builds, and the paper's have the paper's size."""

import tomllib
from importlib.resources import files

import pytest
import torch

from glassformer.config import ModelConfig, preset_names, preset_table
from glassformer.nn import build_model, parameter_count

VOCABULARY = 37_000  # "a shared source-target vocabulary of about 37000 tokens", section 5.1


def test_these_are_all_the_presets_there_are() -> None:
    assert preset_names() == [
        *("base", "base-lm", "base-mlm", "big"),
        *("small", "small-lm", "small-mlm"),
        *("tiny", "tiny-lm", "tiny-mlm"),
    ]


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_loads_and_builds(name: str) -> None:
    config = ModelConfig.preset(name, vocab_size=100)
    with torch.device("meta"):
        model = build_model(config)

    assert model.config == config
    assert parameter_count(model) > 0


@pytest.mark.parametrize(
    ("name", "family", "n_layers", "d_model", "d_ff", "n_heads"),
    [
        ("tiny", "encoder-decoder", 4, 128, 256, 4),
        ("small", "encoder-decoder", 4, 256, 1024, 8),
        ("base", "encoder-decoder", 6, 512, 2048, 8),
        ("big", "encoder-decoder", 6, 1024, 4096, 16),
        ("tiny-lm", "decoder-only", 4, 128, 256, 4),
        ("base-mlm", "encoder-only", 6, 512, 2048, 8),
    ],
)
def test_presets_have_the_sizes_they_promise(
    name: str, family: str, n_layers: int, d_model: int, d_ff: int, n_heads: int
) -> None:
    config = ModelConfig.preset(name, vocab_size=100)

    assert config.family == family
    assert (config.n_encoder_layers, config.n_decoder_layers) == (n_layers, n_layers)
    assert (config.d_model, config.d_ff, config.n_heads) == (d_model, d_ff, n_heads)


@pytest.mark.parametrize("size", ["tiny", "small", "base"])
@pytest.mark.parametrize("relative", ["lm", "mlm"])
def test_a_relative_says_only_what_differs_from_its_base(size: str, relative: str) -> None:
    own = tomllib.loads((files("glassformer.config") / f"presets/{size}-{relative}.toml").read_text())

    assert own.pop("base") == size
    assert preset_table(f"{size}-{relative}") == preset_table(size) | own
    assert "base" not in preset_table(f"{size}-{relative}")


def test_overrides_win_over_a_preset() -> None:
    assert ModelConfig.preset("tiny-lm", vocab_size=9, dropout=0.0, norm="post").norm == "post"


def parameters_by_arithmetic(d_model: int, d_ff: int, n_layers: int) -> int:
    """The paper's model on paper: matrices and biases of both stacks, and one shared embedding."""
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder_layer = attention + norm + feed_forward + norm
    decoder_layer = attention + norm + attention + norm + feed_forward + norm
    return VOCABULARY * d_model + n_layers * (encoder_layer + decoder_layer)


@pytest.mark.parametrize(
    ("name", "published", "within", "d_model", "d_ff"),
    [("base", 65e6, 0.04, 512, 2048), ("big", 213e6, 0.02, 1024, 4096)],
)
def test_parameters_are_as_many_as_the_paper_says(
    name: str, published: float, within: float, d_model: int, d_ff: int
) -> None:
    with torch.device("meta"):
        count = parameter_count(build_model(ModelConfig.preset(name, vocab_size=VOCABULARY)))

    assert count == parameters_by_arithmetic(d_model, d_ff, 6)
    assert abs(count / published - 1) < within


def test_the_base_model_has_63_million_parameters_by_arithmetic() -> None:
    assert round(parameters_by_arithmetic(512, 2048, 6) / 1e6) == 63
