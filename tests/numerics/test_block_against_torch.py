"""Our blocks are PyTorch's Transformer layers, and our stacks its Transformer."""

import pytest
import torch
from torch import Tensor

from glassformer.nn import Sight, causal_mask, padding_mask
from glassformer.nn.block import Block, CrossBlock
from tests.support.equality import assert_exact
from tests.support.models import encoder_decoder, shake, tiny_config
from tests.support.twins import torch_decoder_layer, torch_encoder_layer, torch_transformer

NORMS = ["post", "pre"]
LENGTHS = torch.tensor([6, 2, 4])


def hidden(batch: int, length: int) -> Tensor:
    return torch.randn(batch, length, 16, dtype=torch.float64)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu-tanh", "silu"])
@pytest.mark.parametrize("causal", [False, True])
def test_a_block_is_an_encoder_layer_of_torch(norm: str, activation: str, causal: bool) -> None:
    config = tiny_config(norm=norm, activation=activation, norm_epsilon=1e-3)
    ours = shake(Block(config).double())
    x, padding = hidden(3, 6), padding_mask(LENGTHS, 6)
    expected = torch_encoder_layer(ours, config)(
        x,
        src_mask=~causal_mask(6)[0, 0] if causal else None,
        src_key_padding_mask=~padding[:, 0, 0],
    )

    assert_exact(ours(x, Sight(padding, causal)), expected)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu-tanh", "silu"])
def test_a_cross_block_is_a_decoder_layer_of_torch(norm: str, activation: str) -> None:
    config = tiny_config(norm=norm, activation=activation)
    ours = shake(CrossBlock(config).double())
    x, memory, padding = hidden(3, 5), hidden(3, 6), padding_mask(LENGTHS, 6)
    expected = torch_decoder_layer(ours, config)(
        x, memory, tgt_mask=~causal_mask(5)[0, 0], memory_key_padding_mask=~padding[:, 0, 0]
    )
    actual = ours(x, Sight(causal=True), ours.cross_attention.remember(memory), Sight(padding))

    assert_exact(actual, expected)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_both_stacks_together_are_the_transformer_of_torch(norm: str, activation: str) -> None:
    ours = encoder_decoder(norm=norm, activation=activation, n_encoder_layers=3, positions="none").double()
    source, target, padding = hidden(3, 6), hidden(3, 5), padding_mask(LENGTHS, 6)
    expected = torch_transformer(ours)(
        source,
        target,
        tgt_mask=~causal_mask(5)[0, 0],
        src_key_padding_mask=~padding[:, 0, 0],
        memory_key_padding_mask=~padding[:, 0, 0],
    )
    memory = ours.encoder(source, padding, torch.arange(6)[None])
    actual = ours.decoder(target, torch.arange(5)[None], ours.remember(memory, padding))

    assert_exact(actual, expected)


def test_a_sandwich_norms_before_and_after_each_sublayer() -> None:
    ours = shake(Block(tiny_config(norm="sandwich")).double())
    x = hidden(2, 5)
    first, second = ours.attention_residual, ours.feed_forward_residual
    assert first.norm_after is not None
    assert second.norm_after is not None
    middle = x + first.norm_after(ours.attention(first.norm(x)))
    expected = middle + second.norm_after(ours.feed_forward(second.norm(middle)))

    assert_exact(ours(x, Sight()), expected)


@pytest.mark.parametrize(("norm", "ends"), [("post", False), ("pre", True), ("sandwich", True)])
def test_a_stack_ends_with_a_norm_unless_its_blocks_do(norm: str, ends: bool) -> None:
    model = encoder_decoder(norm=norm)

    assert (model.encoder.norm is not None) is ends
    assert (model.decoder.norm is not None) is ends
