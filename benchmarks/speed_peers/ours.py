"""Glassformer, by the very functions its trainer calls."""

from collections.abc import Sequence

import torch
from torch import nn

from benchmarks.speed_peers.worker import (
    BETAS,
    CLIP_NORM,
    EPSILON,
    LEARNING_RATE,
    SMOOTHING,
    IdBatch,
    Shape,
    Step,
    serve,
)
from glassformer.config import ModelConfig, TrainConfig
from glassformer.data import Batch
from glassformer.nn import EncoderDecoder
from glassformer.training.allocator import keep_freed_memory
from glassformer.training.distributed import Workers
from glassformer.training.optimizer import Optimizers
from glassformer.training.step import update
from glassformer.training.task import TrainingLoss

TRAIN = TrainConfig(
    learning_rate=LEARNING_RATE,
    betas=BETAS,
    epsilon=EPSILON,
    schedule="constant",
    warmup_steps=0,
    clip_norm=CLIP_NORM,
    label_smoothing=SMOOTHING,
)


def build_model(shape: Shape) -> EncoderDecoder:
    """Our model of a shape."""
    return EncoderDecoder(
        ModelConfig(
            vocab_size=shape.vocab_size,
            d_model=shape.d_model,
            d_ff=shape.d_ff,
            n_heads=shape.n_heads,
            n_encoder_layers=shape.n_layers,
            n_decoder_layers=shape.n_layers,
            dropout=shape.dropout,
        )
    )


def build_step(model: EncoderDecoder, batches: Sequence[IdBatch]) -> Step:
    """The trainer's update of a model."""
    keep_freed_memory()
    module = TrainingLoss(model, TRAIN.label_smoothing)
    module.train()
    optimizers = Optimizers(model, TRAIN, 100_000, model.config.d_model)
    workers, prepared = Workers(), [_batch(batch) for batch in batches]
    done = 0

    def step(number: int) -> float:
        nonlocal done
        done += 1
        batch = [prepared[number]]
        return update(module, batch, optimizers, done, clip_norm=TRAIN.clip_norm, workers=workers).loss

    return step


def build(shape: Shape, setting: str, batches: Sequence[IdBatch]) -> tuple[nn.Module, Step]:
    """There is one setting."""
    del setting
    model = build_model(shape)
    return model, build_step(model, batches)


def _batch(ids: IdBatch) -> Batch:
    return Batch(
        source=ids.source,
        source_lengths=ids.source_lengths,
        target=ids.target,
        labels=ids.labels,
        n_source=int(ids.source_lengths.sum()),
        n_targets=ids.n_targets,
        rows=torch.arange(len(ids.source)),
    )


if __name__ == "__main__":
    serve(build, ["glassformer"])
