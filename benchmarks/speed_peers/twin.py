"""The unfused twin: ``nn.Transformer`` with our weights, plain cross-entropy and plain Adam.

Without dropout both must see the same losses, step by step: what makes ours fast changes only rounding.
That is asked for in float64. In float32 the curves part after a few updates on some seeds (by 2e-3 on one of
three): Adam's epsilon of 1e-9 makes full-sized updates of gradients that are nothing but rounding; with 1e-6
they stay within 1e-6. So float32 is held to its first losses only, and the rest of its curve is shown.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.speed_peers import ours
from benchmarks.speed_peers.torch_transformer import TorchTransformer
from benchmarks.speed_peers.worker import (
    BETAS,
    CLIP_NORM,
    EPSILON,
    LEARNING_RATE,
    SMOOTHING,
    IdBatch,
    Shape,
    Step,
)
from glassformer.nn import EncoderDecoder, MultiHeadAttention

ROWS = 16
"""Of each batch: enough to compare, and soon done."""
FLOAT64, FLOAT32, FIRST = 1e-9, 1e-4, 3
"""Largest differences allowed: of all losses in float64, and of the first few in float32."""


class Curves(NamedTuple):
    """Losses before each update, in nats per token."""

    ours: list[float]
    twin: list[float]

    def difference(self, first: int | None = None) -> float:
        """The largest one, of all losses or of the first."""
        pairs = list(zip(self.ours, self.twin, strict=True))
        return max(abs(a - b) for a, b in pairs[:first])


class Comparison(NamedTuple):
    """Ours and its twin, in both precisions."""

    float64: Curves
    float32: Curves

    @property
    def same(self) -> bool:
        """Whether both compute the same."""
        return self.float64.difference() <= FLOAT64 and self.float32.difference(FIRST) <= FLOAT32


def compare(shape: Shape, batches: Sequence[IdBatch], steps: int = 10, seed: int = 1) -> Comparison:
    """Train both from the same weights on the same batches."""
    return Comparison(
        *(_curves(shape, batches, steps, seed, dtype) for dtype in (torch.float64, torch.float32))
    )


def _curves(shape: Shape, batches: Sequence[IdBatch], steps: int, seed: int, dtype: torch.dtype) -> Curves:
    shape = shape._replace(dropout=0.0)
    few = [_first_rows(batch) for batch in batches]
    torch.manual_seed(seed)
    model = ours.build_model(shape).to(dtype)
    twin = twin_of(model, shape)
    runs = [
        [step(number % len(few)) for number in range(steps)]
        for step in (ours.build_step(model, few), _plain_step(twin, few))
    ]
    return Curves(*runs)


def twin_of(model: EncoderDecoder, shape: Shape) -> TorchTransformer:
    """PyTorch's modules with our weights."""
    twin = TorchTransformer(shape, model.target_embedding.weight.dtype)
    with torch.no_grad():
        twin.embedding.weight.copy_(model.target_embedding.weight)
    for block, layer in zip(model.encoder.blocks, twin.transformer.encoder.layers, strict=True):
        _fill(layer.self_attn, block.attention)
        _fill_rest(
            layer, block.feed_forward, [block.attention_residual.norm, block.feed_forward_residual.norm]
        )
    for crossing, layer in zip(model.decoder.blocks, twin.transformer.decoder.layers, strict=True):
        _fill(layer.self_attn, crossing.attention)
        _fill(layer.multihead_attn, crossing.cross_attention)
        residuals = (
            crossing.attention_residual,
            crossing.cross_attention_residual,
            crossing.feed_forward_residual,
        )
        _fill_rest(layer, crossing.feed_forward, [residual.norm for residual in residuals])
    return twin


def _fill(twin: nn.MultiheadAttention, attention: MultiHeadAttention) -> None:
    parts = (attention.query, attention.key, attention.value)
    _copy(twin.in_proj_weight, torch.cat([part.weight for part in parts]))
    _copy(twin.in_proj_bias, torch.cat([part.bias for part in parts]))
    twin.out_proj.load_state_dict(attention.output.state_dict())


def _fill_rest(layer: nn.Module, feed_forward: nn.Module, norms: Sequence[nn.Module]) -> None:
    pairs = {"linear1": "expand", "linear2": "contract"}
    for theirs, own in pairs.items():
        layer.get_submodule(theirs).load_state_dict(feed_forward.get_submodule(own).state_dict())
    for number, norm in enumerate(norms, start=1):
        layer.get_submodule(f"norm{number}").load_state_dict(norm.state_dict())


@torch.no_grad()
def _copy(to: Tensor | None, of: Tensor) -> None:
    assert to is not None
    to.copy_(of)


def _plain_step(model: TorchTransformer, batches: Sequence[IdBatch]) -> Step:
    optimizer = torch.optim.Adam(
        model.parameters(), lr=LEARNING_RATE, betas=BETAS, eps=EPSILON, fused=False, foreach=False
    )

    def step(number: int) -> float:
        batch = batches[number]
        optimizer.zero_grad()
        logits = model(batch.source, batch.target, batch.source_mask).flatten(0, 1)
        labels = batch.labels.flatten()
        loss = F.cross_entropy(logits, labels, ignore_index=-1, label_smoothing=SMOOTHING)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)
        optimizer.step()
        return float(loss.detach())

    return step


def _first_rows(batch: IdBatch) -> IdBatch:
    source, lengths, target, labels = (tensor[:ROWS] for tensor in batch[:4])
    return IdBatch(source, lengths, target, labels, int((labels >= 0).sum()))
