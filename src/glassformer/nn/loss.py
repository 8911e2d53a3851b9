"""Label-smoothed cross-entropy (section 5.4), summed over target tokens.

``cross_entropy`` is the plain form. ``projected_cross_entropy`` takes hidden states and the output
matrix instead of logits: it works through the rows in chunks, computes the gradients on the way and never
keeps the logits of all rows, of which a vocabulary of 37,000 makes gigabytes.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from glassformer.nn.native import native_for
from glassformer.nn.products import product
from glassformer.nn.shapes import Rows, Targets

CHUNK_ROWS = 256
"""Rows whose logits are in memory at once: enough for a fast product, few enough for the cache."""


class Loss(NamedTuple):
    """Sums over target tokens; whoever knows the tokens of the whole update divides, once."""

    smoothed: Tensor
    """What training lowers: cross-entropy against the smoothed targets."""
    nll: Tensor
    """Negative log-likelihood of the targets; divided by tokens, its exponential is the perplexity."""


def cross_entropy(logits: Tensor, targets: Targets, smoothing: float = 0.0) -> Loss:
    """The loss of each row of logits, summed.

    The smoothed target puts 1 - ε on the right token and ε / V on each of the V tokens, padding and the
    right one included, as ``torch.nn.functional.cross_entropy`` does.
    """
    log_partition = logits.logsumexp(-1)
    nll = (log_partition - logits.gather(-1, targets[..., None]).squeeze(-1)).sum()
    uniform = (log_partition - logits.mean(-1)).sum()
    return Loss((1 - smoothing) * nll + smoothing * uniform, nll.detach())


def projected_cross_entropy(
    hidden: Rows, weight: Tensor, bias: Tensor | None, targets: Targets, smoothing: float = 0.0
) -> Loss:
    """``cross_entropy`` of ``hidden @ weight.T + bias`` without holding all logits."""
    apply = _ProjectedCrossEntropy.apply
    smoothed, nll = apply(hidden, weight, bias, targets, smoothing)  # type: ignore[no-untyped-call]
    return Loss(smoothed, nll)


class _ProjectedCrossEntropy(torch.autograd.Function):
    """The gradient of a summed loss does not depend on what follows but by a factor: compute it at once."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        needs_hidden, needs_weight, needs_bias = ctx.needs_input_grad[:3]
        grad_hidden = torch.empty_like(hidden) if needs_hidden else None
        grad_weight = torch.zeros_like(weight) if needs_weight else None
        grad_bias = torch.zeros_like(bias) if bias is not None and needs_bias else None
        smoothed, nll = hidden.new_zeros(()), hidden.new_zeros(())
        for start in range(0, len(hidden), CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            logits = product(hidden[rows], weight.T, bias=bias)
            loss, slope = _loss_and_slope(logits, targets[rows], smoothing)
            smoothed += loss.smoothed
            nll += loss.nll
            if grad_hidden is not None:
                product(slope, weight, out=grad_hidden[rows])
            if grad_weight is not None:
                product(slope.T, hidden[rows], out=grad_weight, add=True)
            if grad_bias is not None:
                grad_bias += slope.sum(0)
        ctx.save_for_backward(grad_hidden, grad_weight, grad_bias)
        ctx.mark_non_differentiable(nll)
        return smoothed, nll

    @staticmethod
    @once_differentiable  # a second derivative would be silently wrong
    def backward(ctx: Any, factor: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        scaled = (None if saved is None else saved * factor for saved in ctx.saved_tensors)
        return (*scaled, None, None)


def _loss_and_slope(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Loss, Tensor]:
    """The loss of rows of logits, and its gradient by them: softmax less the smoothed target.

    The exponentials are computed once and serve both. Overwrites the logits.
    """
    native = native_for(logits)
    if native is None or targets.dtype != torch.int64:
        return _plain_loss_and_slope(logits, targets, smoothing)
    logits, targets = logits.contiguous(), targets.contiguous()
    nll, uniform = logits.new_empty(2, len(logits)).unbind()
    places = nll.data_ptr(), uniform.data_ptr()
    native.call(
        "gf_smoothed_loss",
        *(logits.data_ptr(), *logits.shape, targets.data_ptr(), smoothing, *places),
        *native.team(),
    )
    return Loss((1 - smoothing) * nll.sum() + smoothing * uniform.sum(), nll.sum()), logits


def _plain_loss_and_slope(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Loss, Tensor]:
    """The same by PyTorch."""
    targets = targets[:, None]
    at_target, mean = logits.gather(-1, targets), logits.mean(-1, keepdim=True)
    highest = logits.amax(-1, keepdim=True)
    exponentials = logits.sub_(highest).exp_()
    partition = exponentials.sum(-1, keepdim=True)
    log_partition = partition.log() + highest
    nll = (log_partition - at_target).sum()
    smoothed = (1 - smoothing) * nll + smoothing * (log_partition - mean).sum()
    slope = exponentials.div_(partition).sub_(smoothing / logits.size(-1))
    slope.scatter_add_(-1, targets, slope.new_full(targets.shape, smoothing - 1))
    return Loss(smoothed, nll), slope
