"""Normalisation of hidden states."""

from torch import nn

from glassformer.config import ModelConfig


def build_norm(config: ModelConfig) -> nn.LayerNorm | nn.RMSNorm:
    """The norm that the configuration names, over the features of a position."""
    match config.norm_kind:
        case "layer":
            return nn.LayerNorm(config.d_model, eps=config.norm_epsilon)
        case "rms":
            return nn.RMSNorm(config.d_model, eps=config.norm_epsilon)
