"""What all contestants share: read batches, train when told to, answer with seconds and losses.

The conversation is one line of JSON each way: in ``[0, 1, 2]``, the numbers of the batches to train on; out
``{"seconds": [...], "losses": [...]}``. Runs in the environments of peers too: needs only torch and numpy.
"""

import contextlib
import importlib.metadata
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

PAD = 0
"""The padding id of glassformer's tokenizer; ``<s>`` is 1 and ``</s>`` 2."""

BETAS, EPSILON, LEARNING_RATE, CLIP_NORM, SMOOTHING = (0.9, 0.98), 1e-9, 3e-4, 1.0, 0.1


class Shape(NamedTuple):
    """The model that everyone trains."""

    d_model: int
    d_ff: int
    n_heads: int
    n_layers: int
    """Of the encoder, and as many of the decoder."""
    dropout: float
    """Of embeddings and sub-layers' outputs; there is none inside attention and feed-forward."""
    vocab_size: int


class IdBatch(NamedTuple):
    """One batch as read from the file."""

    source: Tensor
    source_lengths: Tensor
    target: Tensor
    """The decoder's input."""
    labels: Tensor
    """The token after each input; -1 where there is padding."""
    n_targets: int

    @property
    def source_mask(self) -> Tensor | None:
        """True at tokens (B, S); None where no row is padded, which every contestant is told."""
        positions = torch.arange(self.source.size(1))
        mask = positions < self.source_lengths[:, None]
        return None if bool(mask.all()) else mask


Step = Callable[[int], float]
"""Trains on the batch of a number; the loss before the update, in nats per target token."""

Build = Callable[[Shape, str, Sequence[IdBatch]], tuple[nn.Module, Step]]
"""Makes a model and its step for a shape and one of the contestant's settings."""


def attention_kernel(setting: str) -> contextlib.AbstractContextManager[None]:
    """The kernel that PyTorch chooses by default, or "math", its plain one: faster for short sentences."""
    return sdpa_kernel(SDPBackend.MATH) if setting == "math" else contextlib.nullcontext()


def serve(build: Build, packages: Sequence[str] = ()) -> None:
    """Answer until the driver closes the line. Arguments: batches, shape as JSON, setting, threads."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    path, shape, setting, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    model, step = build(Shape(**json.loads(shape)), setting, read_batches(path))
    greeting = {
        "parameters": sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        "threads": torch.get_num_threads(),
        "versions": {name: importlib.metadata.version(name) for name in ("torch", *packages)},
    }
    answers.write(json.dumps(greeting) + "\n")
    for line in sys.stdin:
        answers.write(json.dumps(_train(step, json.loads(line))) + "\n")


def read_batches(path: str) -> list[IdBatch]:
    """The batches of a file that ``write_batches`` wrote."""
    arrays: Mapping[str, Any] = np.load(path)
    return list(_batches(arrays))


def _batches(arrays: Mapping[str, Any]) -> Iterator[IdBatch]:
    for number in range(len(arrays) // 4):
        names = ("source", "source_lengths", "target", "labels")
        source, lengths, target, labels = (torch.from_numpy(arrays[f"{number}.{name}"]) for name in names)
        yield IdBatch(source, lengths, target, labels, int((labels >= 0).sum()))


def _train(step: Step, numbers: Sequence[int]) -> dict[str, list[float]]:
    seconds, processor, losses = [], [], []
    for number in numbers:
        start, busy = time.perf_counter(), time.process_time()
        losses.append(step(number))
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - busy)
    return {"seconds": seconds, "processor_seconds": processor, "losses": losses}
