"""PyTorch's own modules with the weights of ours: the independent implementation beside each part."""

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.config import ModelConfig
from glassformer.nn import EncoderDecoder, MultiHeadAttention
from glassformer.nn.block import Block, CrossBlock
from glassformer.nn.feedforward import FeedForward

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


def _copy(to: nn.Module, of: nn.Module) -> None:
    to.load_state_dict(of.state_dict())


@torch.no_grad()
def _fill_attention(twin: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    assert twin.in_proj_weight is not None
    twin.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
    twin.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
    _copy(twin.out_proj, ours.output)


def torch_attention(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    """``nn.MultiheadAttention`` with our weights."""
    twin = nn.MultiheadAttention(ours.query.in_features, ours.n_heads, batch_first=True, dtype=torch.float64)
    _fill_attention(twin, ours)
    return twin


def _fill_feed_forward(
    twin: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer, ours: FeedForward
) -> None:
    _copy(twin.linear1, ours.expand)
    _copy(twin.linear2, ours.contract)


def torch_encoder_layer(ours: Block, config: ModelConfig) -> nn.TransformerEncoderLayer:
    """``nn.TransformerEncoderLayer`` with our weights; not in eval mode, which would take a shortcut."""
    twin = nn.TransformerEncoderLayer(
        config.d_model,
        config.n_heads,
        config.d_ff,
        dropout=0.0,
        activation=ACTIVATIONS[config.activation],
        layer_norm_eps=config.norm_epsilon,
        batch_first=True,
        norm_first=config.norm == "pre",
        dtype=torch.float64,
    )
    _fill_attention(twin.self_attn, ours.attention)
    _fill_feed_forward(twin, ours.feed_forward)
    _copy(twin.norm1, ours.attention_residual.norm)
    _copy(twin.norm2, ours.feed_forward_residual.norm)
    return twin


def torch_decoder_layer(ours: CrossBlock, config: ModelConfig) -> nn.TransformerDecoderLayer:
    """``nn.TransformerDecoderLayer`` with our weights."""
    twin = nn.TransformerDecoderLayer(
        config.d_model,
        config.n_heads,
        config.d_ff,
        dropout=0.0,
        activation=ACTIVATIONS[config.activation],
        layer_norm_eps=config.norm_epsilon,
        batch_first=True,
        norm_first=config.norm == "pre",
        dtype=torch.float64,
    )
    _fill_attention(twin.self_attn, ours.attention)
    _fill_attention(twin.multihead_attn, ours.cross_attention)
    _fill_feed_forward(twin, ours.feed_forward)
    _copy(twin.norm1, ours.attention_residual.norm)
    _copy(twin.norm2, ours.cross_attention_residual.norm)
    _copy(twin.norm3, ours.feed_forward_residual.norm)
    return twin


def _final_norm(ours: nn.LayerNorm | nn.RMSNorm | None, config: ModelConfig) -> nn.LayerNorm | None:
    """The norm after the last layer, which a post-norm model has none of."""
    if ours is None:
        return None
    twin = nn.LayerNorm(config.d_model, config.norm_epsilon, dtype=torch.float64)
    _copy(twin, ours)
    return twin


def torch_transformer(ours: EncoderDecoder) -> nn.Transformer:
    """``nn.Transformer``, from hidden states to hidden states, with our weights."""
    config = ours.config
    encoder = nn.TransformerEncoder(
        torch_encoder_layer(ours.encoder.blocks[0], config),
        config.n_encoder_layers,
        _final_norm(ours.encoder.norm, config),
        enable_nested_tensor=False,
    )
    encoder.layers = nn.ModuleList(torch_encoder_layer(block, config) for block in ours.encoder.blocks)
    decoder = nn.TransformerDecoder(
        torch_decoder_layer(ours.decoder.blocks[0], config),
        config.n_decoder_layers,
        _final_norm(ours.decoder.norm, config),
    )
    decoder.layers = nn.ModuleList(torch_decoder_layer(block, config) for block in ours.decoder.blocks)
    filled = [copy.deepcopy(stack.state_dict()) for stack in (encoder, decoder)]
    twin = nn.Transformer(
        config.d_model,
        config.n_heads,
        custom_encoder=encoder,
        custom_decoder=decoder,
        batch_first=True,
        dtype=torch.float64,
    )
    encoder.load_state_dict(filled[0])  # nn.Transformer has drawn new weights
    decoder.load_state_dict(filled[1])
    return twin
