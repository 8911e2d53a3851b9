"""What the settings say about a block is what the block has."""

import pytest
import torch
from torch import nn

from glassformer.nn import MultiHeadAttention, build_model
from glassformer.nn.feedforward import FeedForward
from glassformer.nn.output import GuessTransform
from tests.support.equality import assert_exact
from tests.support.models import FAMILIES, encoder_only, shake, tiny_config
from tests.support.twins import ACTIVATIONS


@pytest.mark.parametrize("family", FAMILIES)
def test_every_attention_has_the_configured_widths(family: str) -> None:
    model = build_model(tiny_config(family=family, n_kv_heads=2, d_k=6, d_v=5))
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]

    assert len(attentions) == {"encoder-decoder": 6}.get(family, 2)
    for attention in attentions:
        assert attention.query.weight.shape == (4 * 6, 16)
        assert attention.key.weight.shape == (2 * 6, 16)
        assert attention.value.weight.shape == (2 * 5, 16)
        assert attention.output.weight.shape == (16, 4 * 5)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("gated", [False, True])
def test_every_feed_forward_network_is_of_the_configured_kind(activation: str, gated: bool) -> None:
    model = build_model(tiny_config(activation=activation, gated=gated, activation_dropout=0.3))
    networks = [module for module in model.modules() if isinstance(module, FeedForward)]

    assert len(networks) == 4
    for network in networks:
        assert network.expand.weight.shape == (24, 16)
        assert network.contract.weight.shape == (16, 24)
        assert (network.gate is not None) is gated
        assert (network.activation, network.dropout.rate) == (activation, 0.3)


@pytest.mark.parametrize("bias", [False, True])
def test_linear_maps_of_blocks_have_a_bias_or_none(bias: bool) -> None:
    model = build_model(tiny_config(bias=bias, gated=True))
    maps = [module for module in model.modules() if isinstance(module, nn.Linear)]

    assert len(maps) == 6 * 4 + 4 * 3
    assert {module.bias is not None for module in maps} == {bias}


@pytest.mark.parametrize("output_bias", [False, True])
def test_the_output_has_a_bias_of_its_own_or_none(output_bias: bool) -> None:
    output = encoder_only(output_bias=output_bias).output
    assert output is not None
    hidden = torch.randn(1, 2, 16)
    expected = hidden @ output.weight.T + (0 if output.bias is None else output.bias)

    assert (output.bias is not None) is output_bias
    torch.testing.assert_close(output(hidden), expected)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_guess_is_a_linear_map_the_activation_and_a_norm(activation: str) -> None:
    guess = shake(GuessTransform(tiny_config(activation=activation)).double())
    x = torch.randn(1, 3, 16).double()
    units = ACTIVATIONS[activation](x @ guess.dense.weight.T + guess.dense.bias)

    assert_exact(guess(x), guess.norm(units))


def test_an_embedding_norm_comes_after_the_positions() -> None:
    model = encoder_only(positions="learned", embedding_norm=True)
    front = model.front
    assert front.norm is not None
    assert front.positions is not None
    x, places = torch.randn(2, 3, 16), torch.tensor([[0, 1, 5]])

    assert torch.equal(front(x, places), front.norm(x + front.positions(places, x)))
