"""Batches to hidden states to logits to loss. Knows torch and the settings, nothing else."""

from glassformer.nn.attention import MultiHeadAttention, Sight, attention, explained_attention
from glassformer.nn.cache import Cache
from glassformer.nn.loss import Loss, cross_entropy, projected_cross_entropy
from glassformer.nn.masks import causal_mask, combine, padding_mask, token_mask
from glassformer.nn.output import probabilities
from glassformer.nn.transformer import (
    DecoderOnly,
    EncoderDecoder,
    EncoderOnly,
    Transformer,
    build_model,
    parameter_count,
)

__all__ = [
    "Cache",
    "DecoderOnly",
    "EncoderDecoder",
    "EncoderOnly",
    "Loss",
    "MultiHeadAttention",
    "Sight",
    "Transformer",
    "attention",
    "build_model",
    "causal_mask",
    "combine",
    "cross_entropy",
    "explained_attention",
    "padding_mask",
    "parameter_count",
    "probabilities",
    "projected_cross_entropy",
    "token_mask",
]
