"""One update of the weights."""

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from glassformer.data import Batch
from glassformer.errors import GlassformerError
from glassformer.training.distributed import Workers
from glassformer.training.optimizer import Optimizers


class Update(NamedTuple):
    """What an update did, over all micro-batches and all processes."""

    loss: float
    """Smoothed cross-entropy, nats per target token."""
    nll: float
    """Negative log-likelihood, nats per target token."""
    gradient_norm: float
    """Before clipping."""
    tokens: int
    """Target tokens."""
    rate: float
    """The learning rate."""


class NotFinite(GlassformerError):
    """The gradient of an update has an infinity or a NaN; the weights are still those before it."""


def update(
    module: nn.Module,
    batches: Sequence[Batch],
    optimizers: Optimizers,
    step: int,
    *,
    clip_norm: float,
    workers: Workers,
    autocast: torch.dtype | None = None,
) -> Update:
    """Learn from the batches of all processes as from one.

    The loss is divided once, by the target tokens of the whole update: how it is split into
    micro-batches and processes changes nothing but rounding.
    """
    (tokens,) = workers.sums(sum(batch.n_targets for batch in batches))
    # DDP and FSDP take the mean over processes; multiplied by their number it is the sum again.
    share = workers.world / max(1, tokens)
    optimizers.zero_grad()
    smoothed, nll = _gradients(module, batches, share, workers, autocast)
    norm = workers.gradient_norm(module.parameters(), clip_norm)
    losses = workers.sums(float(smoothed), float(nll))
    loss, likelihood = (total / max(1, tokens) for total in losses)
    if not torch.isfinite(norm):
        raise NotFinite(
            f"step {step}: the gradient is not finite (norm {float(norm)}, loss {loss:.4g}); "
            "the weights were left as they were. Lower the learning rate, or raise warmup_steps"
        )
    rate = optimizers.step(step)
    return Update(loss, likelihood, float(norm), int(tokens), rate)


def _gradients(
    module: nn.Module,
    batches: Sequence[Batch],
    share: float,
    workers: Workers,
    autocast: torch.dtype | None,
) -> tuple[Tensor, Tensor]:
    """Backward through every micro-batch; the summed losses of this process."""
    sums = torch.zeros(2, dtype=torch.float64)
    for i, batch in enumerate(batches):
        precision = torch.autocast("cpu", autocast) if autocast is not None else contextlib.nullcontext()
        with workers.exchanging(module, last=i == len(batches) - 1):
            with precision:
                smoothed, nll = module(batch)
            (smoothed * share).backward()
        sums += torch.stack([smoothed.detach(), nll.detach()]).double()
    return sums[0], sums[1]
