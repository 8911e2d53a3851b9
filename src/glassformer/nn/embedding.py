"""Tokens or image patches to hidden states (section 3.4)."""

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import nn

from glassformer.config import ModelConfig, PatchConfig
from glassformer.errors import InputError
from glassformer.nn.dropout import Dropout
from glassformer.nn.masks import without_padding
from glassformer.nn.norm import build_norm
from glassformer.nn.positions import LearnedPositions, SinusoidalPositions
from glassformer.nn.shapes import Hidden, Ids, Images, PaddingMask, Positions


class TokenEmbedding(nn.Module):
    """A vector per token id, multiplied by √d_model where the paper's scaling is on."""

    def __init__(self, vocab_size: int, d_model: int, *, scaled: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        self.scale = d_model**0.5 if scaled else 1.0

    def forward(self, ids: Ids) -> Hidden:
        x = F.embedding(ids, self.weight)
        return x if self.scale == 1.0 else x * self.scale

    if TYPE_CHECKING:
        __call__ = forward


class PatchEmbedding(nn.Module):
    """A vector per square patch of an image, left to right and top to bottom."""

    def __init__(self, patches: PatchConfig, d_model: int) -> None:
        super().__init__()
        self.expected = (patches.channels, patches.height, patches.width)
        self.project = nn.Conv2d(patches.channels, d_model, patches.size, stride=patches.size)

    def forward(self, images: Images) -> Hidden:
        if tuple(images.shape[1:]) != self.expected:
            raise InputError(
                f"images are {tuple(images.shape)}, but this model reads (batch, channels, height, width) "
                f"with {self.expected}"
            )
        dtype = self.project.weight.dtype
        if images.dtype != dtype:
            given, own = (str(kind).removeprefix("torch.") for kind in (images.dtype, dtype))
            raise InputError(f"images are {given}, but this model computes in {own}; convert and scale them")
        maps: Hidden = self.project(images).flatten(2).transpose(1, 2)  # (B, L, D)
        return maps

    if TYPE_CHECKING:
        __call__ = forward


class Front(nn.Module):
    """The way into a stack: position, norm where there is one, dropout."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.positions: SinusoidalPositions | LearnedPositions | None = None
        match config.positions:
            case "sinusoidal":
                self.positions = SinusoidalPositions(config.d_model)
            case "learned":
                self.positions = LearnedPositions(config.max_length, config.d_model)
            case "rotary" | "alibi" | "relative" | "none":
                pass  # nothing is added: these act inside attention, or not at all
        self.norm = build_norm(config) if config.embedding_norm else None
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Hidden, positions: Positions, mask: PaddingMask | None = None) -> Hidden:
        if self.positions is not None:
            x = x + self.positions(positions, x)
        if self.norm is not None:
            x = self.norm(without_padding(x, mask))  # before it: a NaN would spoil its gradients
        return self.dropout(x)

    if TYPE_CHECKING:
        __call__ = forward
