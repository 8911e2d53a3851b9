"""The parameters of an architecture without building it."""

import pytest

from glassformer.engine.parameters import parameter_shapes
from tests.support.models import POSITIONS, tiny_model

SWITCHES: list[dict[str, object]] = [
    {},
    {"norm": "pre"},
    {"norm": "sandwich", "norm_kind": "rms"},
    {"gated": True, "bias": False},
    {"tying": "none", "output_bias": True, "embedding_norm": True},
    {"tying": "two-way", "n_kv_heads": 2, "d_k": 6, "d_v": 10},
    {"n_encoder_layers": 3, "n_decoder_layers": 1},
]


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("family", ["encoder-decoder", "decoder-only"])
def test_they_are_those_of_the_model(family: str, positions: str) -> None:
    for switches in SWITCHES:
        model = tiny_model(family=family, positions=positions, **switches)
        expected = {name: tuple(value.shape) for name, value in model.named_parameters()}

        assert parameter_shapes(model.config) == expected


def test_two_vocabularies() -> None:
    model = tiny_model(source_vocab_size=23, tying="two-way")
    expected = {name: tuple(value.shape) for name, value in model.named_parameters()}

    assert parameter_shapes(model.config) == expected
