"""The three Transformers, all of the same blocks.

EncoderDecoder   source ids → encode → memory; target ids + memory → decode → hidden → logits
DecoderOnly      ids → decode → hidden → logits of the next token
EncoderOnly      ids or images → encode → hidden → logits of blanks, of classes, or one vector
"""

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.config import ModelConfig
from glassformer.errors import ConfigError, InputError
from glassformer.nn.cache import Cache
from glassformer.nn.dropout import Dropout
from glassformer.nn.embedding import Front, PatchEmbedding, TokenEmbedding
from glassformer.nn.initial import initialize
from glassformer.nn.masks import token_positions
from glassformer.nn.output import GuessTransform, OutputProjection
from glassformer.nn.shapes import (
    ClassLogits,
    Hidden,
    Ids,
    Images,
    Logits,
    Memory,
    PaddingMask,
    Pooled,
    SourceIds,
)
from glassformer.nn.stack import CrossStack, Stack


class EncoderDecoder(nn.Module):
    """The Transformer of the paper's Figure 1."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        _check_family(config, "encoder-decoder")
        self.config = config
        self.target_embedding = _embedding(config, config.vocab_size)
        self.source_embedding = (
            self.target_embedding if config.tying == "three-way" else _embedding(config, config.n_source_ids)
        )
        self.source_front = Front(config)
        self.target_front = Front(config)
        self.encoder = Stack(config, config.n_encoder_layers, causal=False)
        self.decoder = CrossStack(config)
        self.output = _output(config, self.target_embedding)
        initialize(self)

    def forward(self, source: SourceIds, target: Ids, source_mask: PaddingMask | None = None) -> Logits:
        """For each target position, the logits of the token after it."""
        memory = self.encode(source, source_mask)
        return self.output(self.decode(target, self.remember(memory, source_mask)))

    if TYPE_CHECKING:
        __call__ = forward

    def encode(self, source: SourceIds, mask: PaddingMask | None = None) -> Memory:
        """The memory: one hidden state per source token."""
        _check_ids(source, self.config.n_source_ids, self.config.max_length, "source")
        positions = token_positions(mask, source.size(1), source.device)
        x = self.source_front(self.source_embedding(source), positions, mask)
        return self.encoder(x, mask, positions)

    def remember(self, memory: Memory, mask: PaddingMask | None = None) -> Cache:
        """A fresh cache for decoding from this memory."""
        return self.decoder.remember(memory, mask)

    def decode(self, target: Ids, cache: Cache, mask: PaddingMask | None = None) -> Hidden:
        """Hidden states of the target positions given, which follow those already in the cache.

        Padding may stand behind a target: no position looks ahead, so it changes nothing before it. Where it
        stands before one, a mask over all positions, the cached ones too, says so.
        """
        past, room = cache.length, self.config.max_length
        if mask is None:
            _check_ids(target, self.config.vocab_size, room - past, "target")
            positions = torch.arange(past, past + target.size(1), device=target.device)[None]
        else:
            _check_ids(target, self.config.vocab_size, target.size(-1), "target")
            positions = token_positions(mask, target.size(1), target.device)
            _check_positions(positions, room)  # padding takes up none
        x = self.target_front(self.target_embedding(target), positions)
        return self.decoder(x, positions, cache, mask)


class DecoderOnly(nn.Module):
    """A causal language model: the decoder without a memory to look at."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        _check_family(config, "decoder-only")
        self.config = config
        self.embedding = _embedding(config, config.vocab_size)
        self.front = Front(config)
        self.decoder = Stack(config, config.n_decoder_layers, causal=True)
        self.output = _output(config, self.embedding)
        initialize(self)

    def forward(self, ids: Ids, mask: PaddingMask | None = None) -> Logits:
        """For each position, the logits of the token after it."""
        return self.output(self.decode(ids, self.remember(), mask))

    if TYPE_CHECKING:
        __call__ = forward

    def remember(self) -> Cache:
        """A fresh cache."""
        return Cache(self.config.n_decoder_layers)

    def decode(self, ids: Ids, cache: Cache, mask: PaddingMask | None = None) -> Hidden:
        """Hidden states of the positions given, which follow those already in the cache.

        The mask covers the cached positions too, so that prompts of unequal length can be padded.
        """
        past, room = cache.length, self.config.max_length
        if mask is None:
            _check_ids(ids, self.config.vocab_size, room - past, "text")
            positions = torch.arange(past, past + ids.size(1), device=ids.device)[None]
        else:
            _check_ids(ids, self.config.vocab_size, ids.size(-1), "text")
            positions = token_positions(mask, ids.size(1), ids.device)
            _check_positions(positions, room)  # padding takes up none
        x = self.front(self.embedding(ids), positions, None if mask is None else mask[..., past:])
        return self.decoder(x, mask, positions, cache)


class EncoderOnly(nn.Module):
    """An encoder that fills in blanks, names a class, or gives one vector for a sentence or an image."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        _check_family(config, "encoder-only")
        self.config = config
        self.embedding: TokenEmbedding | PatchEmbedding = (
            _embedding(config, config.vocab_size)
            if config.patches is None
            else PatchEmbedding(config.patches, config.d_model)
        )
        self.front = Front(config)
        self.encoder = Stack(config, config.n_encoder_layers, causal=False)
        self.guess: GuessTransform | None = None
        self.output: OutputProjection | None = None
        self.classes: nn.Linear | None = None
        match config.head:
            case "masked-lm":
                self.guess = GuessTransform(config)
                self.output = _output(config, self.embedding)
            case "classifier":
                self.class_dropout = Dropout(config.dropout)
                self.classes = nn.Linear(config.d_model, config.n_classes)
            case "embedding":
                pass  # the hidden states are the result
        initialize(self)

    def forward(self, inputs: Ids | Images, mask: PaddingMask | None = None) -> Logits | ClassLogits | Pooled:
        """What the head is for: logits at every position, logits of the classes, or one unit vector."""
        match self.config.head:
            case "masked-lm":
                return self.fill(inputs, mask)
            case "classifier":
                return self.classify(inputs, mask)
            case "embedding":
                return self.embed(inputs, mask)

    if TYPE_CHECKING:
        __call__ = forward

    def encode(self, inputs: Ids | Images, mask: PaddingMask | None = None) -> Hidden:
        """One hidden state per token or patch."""
        config = self.config
        if config.patches is None:
            _check_ids(inputs, config.vocab_size, config.max_length, "text")
        x = self.embedding(inputs)
        positions = token_positions(mask, x.size(1), x.device)
        return self.encoder(self.front(x, positions, mask), mask, positions)

    def fill(self, ids: Ids, mask: PaddingMask | None = None) -> Logits:
        """At each position, the logits of the token that belongs there."""
        return self.guessed(self.encode(ids, mask))

    def guessed(self, hidden: Hidden) -> Logits:
        """The logits for hidden states, which may be a selection of positions."""
        if self.guess is None or self.output is None:
            raise _wrong_head(self.config, "masked-lm", "fill in blanks")
        return self.output(self.guess(hidden))

    def classify(self, inputs: Ids | Images, mask: PaddingMask | None = None) -> ClassLogits:
        """One logit per class."""
        if self.classes is None:
            raise _wrong_head(self.config, "classifier", "classify")
        logits: ClassLogits = self.classes(self.class_dropout(self.pool(self.encode(inputs, mask), mask)))
        return logits

    def embed(self, inputs: Ids | Images, mask: PaddingMask | None = None) -> Pooled:
        """One vector of length 1 for the whole input, so that a dot product is the cosine."""
        return F.normalize(self.pool(self.encode(inputs, mask), mask), dim=-1)

    def pool(self, hidden: Hidden, mask: PaddingMask | None = None) -> Pooled:
        """The mean of the real positions, or the first of them."""
        if mask is None:
            return hidden[:, 0] if self.config.pooling == "first" else hidden.mean(1)
        real = mask[:, 0, 0, :, None]  # (B, L, 1)
        if self.config.pooling == "first":
            first = mask[:, 0, 0].long().argmax(-1)  # the first True, on whichever side padding stands
            return hidden[torch.arange(len(hidden), device=hidden.device), first]
        return hidden.masked_fill(~real, 0.0).sum(1) / real.sum(1).clamp(min=1)


Transformer = EncoderDecoder | DecoderOnly | EncoderOnly


def build_model(config: ModelConfig) -> Transformer:
    """The Transformer that the configuration describes, with fresh weights."""
    match config.family:
        case "encoder-decoder":
            return EncoderDecoder(config)
        case "decoder-only":
            return DecoderOnly(config)
        case "encoder-only":
            return EncoderOnly(config)


def parameter_count(model: nn.Module) -> int:
    """Numbers that training changes; a tied matrix counts once."""
    return sum(parameter.numel() for parameter in model.parameters())


def _embedding(config: ModelConfig, vocab_size: int) -> TokenEmbedding:
    return TokenEmbedding(vocab_size, config.d_model, scaled=config.scale_embedding)


def _output(config: ModelConfig, embedding: TokenEmbedding | PatchEmbedding) -> OutputProjection:
    tied = embedding.weight if config.tying != "none" and isinstance(embedding, TokenEmbedding) else None
    return OutputProjection(config.vocab_size, config.d_model, bias=config.output_bias, tied=tied)


def _check_family(config: ModelConfig, family: str) -> None:
    if config.family != family:
        raise ConfigError(
            f'family = "{config.family}" is not "{family}"; build_model(config) picks the class that fits'
        )


def _wrong_head(config: ModelConfig, needed: str, job: str) -> InputError:
    return InputError(f'a model with head = "{config.head}" cannot {job}; that needs head = "{needed}"')


def _check_positions(positions: Tensor, room: int) -> None:
    """Refuse a padded text whose tokens alone are more than the model has positions for."""
    if torch.compiler.is_compiling() or not positions.numel():
        return
    longest = int(positions.max()) + 1
    if longest > room:
        raise InputError(
            f"a text of {longest} tokens is longer than max_length = {room}; "
            "split it, or train with a larger max_length"
        )


def _check_ids(ids: Tensor, vocab_size: int, room: int, name: str) -> None:
    """Refuse what would otherwise fail deep inside: the model's border is here."""
    if ids.dim() != 2 or ids.is_floating_point() or ids.dtype == torch.bool:
        kind = str(ids.dtype).removeprefix("torch.")
        raise InputError(
            f"{name} ids have shape {tuple(ids.shape)} and type {kind}; "
            "give integers of shape (batch, length)"
        )
    if ids.size(1) > room:
        raise InputError(
            f"a {name} of {ids.size(1)} tokens is longer than the {room} that max_length leaves; "
            "split it, or train with a larger max_length"
        )
    if ids.numel() and not torch.compiler.is_compiling():  # a look at values would break the graph
        low, high = (int(bound) for bound in torch.aminmax(ids))
        if low < 0 or high >= vocab_size:
            wrong = low if low < 0 else high
            raise InputError(
                f"{name} id {wrong} is outside the vocabulary of {vocab_size}; "
                f"ids run from 0 to {vocab_size - 1}"
            )
