"""Optimizers: the paper's Adam in float64 loops, Muon's split, and states that survive a round trip."""

from typing import Literal

import pytest
import torch

from glassformer.config import ModelConfig, TrainConfig
from glassformer.errors import CheckpointError
from glassformer.nn import Transformer, build_model
from glassformer.training.optimizer import Optimizers, is_hidden_matrix
from glassformer.training.schedule import learning_rate

TINY = ModelConfig(vocab_size=11, d_model=8, d_ff=12, n_heads=2, n_encoder_layers=1, n_decoder_layers=1)
Kind = Literal["adam", "adamw", "sgd", "muon"]
KINDS: list[Kind] = ["adam", "adamw", "sgd", "muon"]


def with_gradients(model: Transformer, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)


def test_adam_is_the_paper_s_formula() -> None:
    """Kingma & Ba's update in plain float64, a hundred steps, the rate changing all the time."""
    config = TrainConfig(warmup_steps=20)
    model = build_model(TINY)
    weight = dict(model.named_parameters())["encoder.blocks.0.attention.query.weight"]
    expected = weight.detach().double().clone()
    first, second = torch.zeros_like(expected), torch.zeros_like(expected)
    optimizers = Optimizers(model, config, 100, TINY.d_model)
    for step in range(1, 101):
        with_gradients(model, step)
        assert weight.grad is not None
        gradient = weight.grad.double()
        first = 0.9 * first + 0.1 * gradient
        second = 0.98 * second + 0.02 * gradient**2
        rate = learning_rate(config, step, 100, TINY.d_model)
        expected -= rate * (first / (1 - 0.9**step)) / ((second / (1 - 0.98**step)).sqrt() + 1e-9)
        assert optimizers.step(step) == pytest.approx(rate)

    torch.testing.assert_close(weight.detach().double(), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_state_continues_bit_by_bit(kind: Kind) -> None:
    config = TrainConfig(optimizer=kind, warmup_steps=3, weight_decay=0.01)
    torch.manual_seed(1)
    one = build_model(TINY)
    optimizers = Optimizers(one, config, 10, TINY.d_model)
    for step in range(1, 4):
        with_gradients(one, step)
        optimizers.step(step)
    torch.manual_seed(2)
    two = build_model(TINY)
    two.load_state_dict(one.state_dict())
    resumed = Optimizers(two, config, 10, TINY.d_model)
    resumed.load_tensors(optimizers.tensors())
    for model, each in ((one, optimizers), (two, resumed)):
        for step in range(4, 7):
            with_gradients(model, step)
            each.step(step)

    for name, parameter in one.named_parameters():
        assert torch.equal(parameter, dict(two.named_parameters())[name]), name


def test_muon_is_for_matrices_inside_blocks_only() -> None:
    model = build_model(TINY)
    hidden = {name for name, parameter in model.named_parameters() if is_hidden_matrix(name, parameter)}

    assert "decoder.blocks.0.attention.query.weight" in hidden
    assert "encoder.blocks.0.feed_forward.contract.weight" in hidden
    assert not any("embedding" in name or "norm" in name or "bias" in name for name in hidden)


def test_decay_is_for_matrices_only() -> None:
    """With gradients of zero, what shrinks is what decays."""
    config = TrainConfig(optimizer="adamw", weight_decay=0.5, schedule="constant", warmup_steps=0)
    model = build_model(TINY)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    Optimizers(model, config, 10, TINY.d_model).step(1)

    for name, parameter in model.named_parameters():
        changed = not torch.equal(parameter, before[name])
        assert changed == (parameter.dim() >= 2 and bool(before[name].any())), name


def test_a_state_of_another_model_is_refused() -> None:
    optimizers = Optimizers(build_model(TINY), TrainConfig(), 10, TINY.d_model)

    with pytest.raises(CheckpointError) as error:
        optimizers.load_tensors({"exp_avg.nowhere.weight": torch.zeros(1)})

    assert str(error.value) == "optimizer state for unknown parameters: exp_avg.nowhere.weight"
