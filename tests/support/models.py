"""Models small enough for many tests, with weights that hide nothing."""

from typing import TypeVar, get_args

import torch
from torch import Tensor, nn

from glassformer.config import ModelConfig, read
from glassformer.config.model import Family, Positions
from glassformer.nn import DecoderOnly, EncoderDecoder, EncoderOnly, Transformer, build_model
from glassformer.nn.shapes import Hidden, Ids, PaddingMask

M = TypeVar("M", bound=nn.Module)
FAMILIES: tuple[str, ...] = get_args(Family)
POSITIONS: tuple[str, ...] = get_args(Positions)
PAD = 0
VOCABULARY = 17

SMALLEST: dict[str, object] = {
    "vocab_size": VOCABULARY,
    "max_length": 48,
    "d_model": 16,
    "d_ff": 24,
    "n_heads": 4,
    "n_encoder_layers": 2,
    "n_decoder_layers": 2,
    "relative_buckets": 8,  # few and near, so that short sequences meet all of them
    "relative_max_distance": 12,
    "dropout": 0.0,
}


def tiny_config(**settings: object) -> ModelConfig:
    """The smallest architecture that still has two of everything."""
    return read(ModelConfig, SMALLEST | settings, "test")


def shake(model: M, size: float = 0.2) -> M:
    """Move every parameter, so that no bias is 0, no gain is 1 and a mix-up shows."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * size)
    return model


def tiny_model(**settings: object) -> Transformer:
    """A model of ``tiny_config``, shaken and ready for use, in the default precision."""
    return shake(build_model(tiny_config(**settings))).eval()


def encoder_decoder(**settings: object) -> EncoderDecoder:
    """The same of a given family."""
    model = tiny_model(family="encoder-decoder", **settings)
    assert isinstance(model, EncoderDecoder)
    return model


def decoder_only(**settings: object) -> DecoderOnly:
    """The same of a given family."""
    model = tiny_model(family="decoder-only", **settings)
    assert isinstance(model, DecoderOnly)
    return model


def encoder_only(**settings: object) -> EncoderOnly:
    """The same of a given family."""
    model = tiny_model(family="encoder-only", **settings)
    assert isinstance(model, EncoderOnly)
    return model


def random_ids(*shape: int, vocabulary: int = VOCABULARY) -> Tensor:
    """Tokens, none of which is padding."""
    return torch.randint(PAD + 1, vocabulary, shape)


def read_ids(model: Transformer, ids: Ids, mask: PaddingMask | None = None) -> Hidden:
    """What a model makes of ids that may be padded: hidden states, one for each id.

    Of an encoder-decoder these are the memory.
    """
    match model:
        case EncoderDecoder() | EncoderOnly():
            return model.encode(ids, mask)
        case DecoderOnly():
            return model.decode(ids, model.remember(), mask)


def pad(row: Tensor, size: int, side: str) -> Tensor:
    """One row of ids brought to a size by padding on one side."""
    padding = row.new_full((size - len(row),), PAD)
    return torch.cat([row, padding] if side == "right" else [padding, row])
