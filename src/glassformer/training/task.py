"""What each family learns from a batch: the loss over its real targets, and nothing of its padding."""

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from glassformer.data import Batch
from glassformer.nn import (
    DecoderOnly,
    EncoderDecoder,
    EncoderOnly,
    Loss,
    Transformer,
    cross_entropy,
    padding_mask,
    projected_cross_entropy,
)
from glassformer.nn.output import OutputProjection
from glassformer.nn.shapes import Lengths, PaddingMask


class TrainingLoss(nn.Module):
    """A model together with the loss it is trained by: the one module that DDP and FSDP wrap."""

    def __init__(self, model: Transformer, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The smoothed loss and the negative log-likelihood, both summed over the batch's targets."""
        return batch_loss(self.model, batch, self.smoothing)

    if TYPE_CHECKING:
        __call__ = forward


def batch_loss(model: Transformer, batch: Batch, smoothing: float = 0.0) -> Loss:
    """The loss summed over the real targets of a batch."""
    match model:
        case EncoderDecoder():
            mask = source_mask(batch.source_lengths, batch.source.size(1))
            memory = model.encode(batch.source, mask)
            hidden = model.decode(batch.target, model.remember(memory, mask))
        case DecoderOnly():
            hidden = model.decode(batch.target, model.remember())
        case EncoderOnly():
            return _encoder_loss(model, batch, smoothing)
    rows, targets = _real(hidden, batch.labels)
    return _projected(rows, model.output, targets, smoothing)


def _encoder_loss(model: EncoderOnly, batch: Batch, smoothing: float) -> Loss:
    mask = source_mask(batch.source_lengths, batch.source.size(1))
    if model.guess is None or model.output is None:
        return cross_entropy(model.classify(batch.source, mask), batch.labels, smoothing)
    rows, targets = _real(model.encode(batch.source, mask), batch.labels)
    return _projected(model.guess(rows[None])[0], model.output, targets, smoothing)


def _projected(rows: Tensor, output: OutputProjection, targets: Tensor, smoothing: float) -> Loss:
    """The loss of hidden states, in the precision of the weights even where the model runs in less."""
    with torch.autocast(rows.device.type, enabled=False):
        rows = rows.to(output.weight.dtype)
        return projected_cross_entropy(rows, output.weight, output.bias, targets, smoothing)


def _real(hidden: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Hidden states and targets of the positions that have a target; padding is marked by -1."""
    real = labels.flatten() >= 0
    if bool(real.all()):  # nothing to leave out, nothing to copy
        return hidden.flatten(0, 1), labels.flatten()
    rows = real.nonzero().squeeze(1)
    return hidden.flatten(0, 1).index_select(0, rows), labels.flatten().index_select(0, rows)


def source_mask(lengths: Lengths, size: int) -> PaddingMask | None:
    """The mask of a padded source; None where there is no padding, which is faster."""
    return None if bool((lengths == size).all()) else padding_mask(lengths, size)


class Tally(NamedTuple):
    """Sums over a validation set."""

    nll: float
    targets: int
    correct: int
    """Targets that the model puts first, of classifiers and masked language models; else 0."""


@torch.no_grad()
def tally(model: Transformer, batch: Batch) -> Tally:
    """What validation counts in one batch."""
    nll = float(batch_loss(model, batch).nll)
    correct = 0
    if isinstance(model, EncoderOnly) and model.classes is not None:
        logits = model.classify(batch.source, source_mask(batch.source_lengths, batch.source.size(1)))
        correct = int((logits.argmax(-1) == batch.labels).sum())
    return Tally(nll, batch.n_targets, correct)
