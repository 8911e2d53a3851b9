"""One update: how it is split changes nothing, and a NaN changes nothing either."""

import copy
import math

import pytest
import torch
from torch import Tensor

from glassformer.config import ModelConfig, TrainConfig
from glassformer.data import Batch
from glassformer.nn import EncoderDecoder
from glassformer.training import Workers, update
from glassformer.training.optimizer import Optimizers
from glassformer.training.step import NotFinite
from glassformer.training.task import TrainingLoss, batch_loss

CONFIG = ModelConfig(
    vocab_size=23, d_model=16, d_ff=24, n_heads=2, n_encoder_layers=2, n_decoder_layers=2, dropout=0.0
)
TRAIN = TrainConfig(schedule="constant", warmup_steps=0, clip_norm=0.0)


def pairs(n: int, seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    """Sentences of unequal length."""
    generator = torch.Generator().manual_seed(seed)

    def sentence() -> Tensor:
        length = int(torch.randint(1, 12, (), generator=generator))
        return torch.randint(5, 23, (length,), generator=generator)

    return [(sentence(), sentence()) for _ in range(n)]


def batch_of(chosen: list[tuple[Tensor, Tensor]]) -> Batch:
    def padded(rows: list[Tensor], value: int) -> Tensor:
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=value)

    source = [torch.cat([s, torch.tensor([2])]) for s, _ in chosen]
    labels = [torch.cat([t, torch.tensor([2])]) for _, t in chosen]
    target = [torch.cat([torch.tensor([1]), t]) for _, t in chosen]
    return Batch(
        source=padded(source, 0),
        source_lengths=torch.tensor([len(s) for s in source]),
        target=padded(target, 0),
        labels=padded(labels, -1),
        n_source=sum(map(len, source)),
        n_targets=sum(map(len, labels)),
        rows=torch.arange(len(chosen)),
    )


def gradients(model: EncoderDecoder, batches: list[Batch]) -> dict[str, Tensor]:
    model = copy.deepcopy(model)
    optimizers = Optimizers(model, TRAIN, 10, CONFIG.d_model)
    module = TrainingLoss(model, 0.1)
    update(module, batches, optimizers, 1, clip_norm=0.0, workers=Workers())
    return {
        name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None
    }


SPLITS = {"2×32": [32, 32], "8×8": [8] * 8, "50+14": [50, 14], "64×1": [1] * 64}


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
def test_gradients_are_equal_however_the_update_is_split(
    split: str, dtype: torch.dtype, bound: float
) -> None:
    everything = pairs(64)
    model = EncoderDecoder(CONFIG)
    exact = gradients(copy.deepcopy(model).double(), [batch_of(everything)])
    chosen = iter(everything)
    parts = [batch_of([next(chosen) for _ in range(size)]) for size in SPLITS[split]]
    found = gradients(model.to(dtype), parts)

    largest = max(float(gradient.abs().max()) for gradient in exact.values())
    for name, gradient in exact.items():
        assert float((found[name].double() - gradient).abs().max()) / largest <= bound, name


def test_a_batch_s_loss_counts_real_targets_only() -> None:
    model = EncoderDecoder(CONFIG).double()
    everything = pairs(7)
    together = batch_loss(model, batch_of(everything), 0.1)
    alone = [batch_loss(model, batch_of([pair]), 0.1) for pair in everything]

    torch.testing.assert_close(together.smoothed, torch.stack([loss.smoothed for loss in alone]).sum())
    torch.testing.assert_close(together.nll, torch.stack([loss.nll for loss in alone]).sum())


def test_a_nan_stops_before_the_weights_change() -> None:
    model = EncoderDecoder(CONFIG)
    optimizers = Optimizers(model, TRAIN, 10, CONFIG.d_model)
    before = copy.deepcopy(model.state_dict())
    parameter = model.encoder.blocks[0].attention.query.weight
    parameter.register_hook(lambda gradient: gradient * math.nan)

    with pytest.raises(NotFinite, match=r"^step 7: the gradient is not finite \(norm nan, loss "):
        update(
            TrainingLoss(model, 0.1), [batch_of(pairs(4))], optimizers, 7, clip_norm=1.0, workers=Workers()
        )

    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_clipping_shortens_the_gradient_and_tells_its_first_length() -> None:
    model = EncoderDecoder(CONFIG)
    optimizers = Optimizers(model, TRAIN, 10, CONFIG.d_model)
    done = update(
        TrainingLoss(model, 0.1), [batch_of(pairs(4))], optimizers, 1, clip_norm=0.01, workers=Workers()
    )
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()

    assert done.gradient_norm > 0.01
    assert float(norm) == pytest.approx(0.01, rel=1e-3)


def test_figures_are_per_target_token() -> None:
    model = EncoderDecoder(CONFIG).eval()
    batch = batch_of(pairs(5))
    with torch.no_grad():
        expected = batch_loss(model, batch, 0.1)
    optimizers = Optimizers(model, TRAIN, 10, CONFIG.d_model)
    done = update(TrainingLoss(model, 0.1), [batch], optimizers, 1, clip_norm=1.0, workers=Workers())

    assert done.tokens == batch.n_targets
    assert done.loss == pytest.approx(float(expected.smoothed) / batch.n_targets, rel=1e-6)
    assert done.nll == pytest.approx(float(expected.nll) / batch.n_targets, rel=1e-6)
