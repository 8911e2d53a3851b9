"""Activations, gates and the other norm by their formulas."""

import math
from collections.abc import Callable

import pytest
import torch

from glassformer.nn.feedforward import Activation, FeedForward, activate
from glassformer.nn.norm import build_norm
from tests.support.equality import assert_exact
from tests.support.models import shake, tiny_config

FORMULAS: dict[Activation, Callable[[float], float]] = {
    "relu": lambda x: max(0.0, x),
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "gelu-tanh": lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + math.exp(-x)),
}


@pytest.mark.parametrize("activation", FORMULAS)
def test_an_activation_is_its_formula(activation: Activation) -> None:
    x = torch.linspace(-6, 6, 241, dtype=torch.float64)
    expected = [FORMULAS[activation](value) for value in x.tolist()]

    assert_exact(activate(x, activation), torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("activation", FORMULAS)
def test_a_gate_multiplies_the_activation_by_a_second_map(activation: Activation) -> None:
    ours = shake(FeedForward(4, 6, activation, gated=True).double())
    assert ours.gate is not None
    x = torch.randn(1, 3, 4).double()
    gate = x @ ours.gate.weight.T + ours.gate.bias
    expand = x @ ours.expand.weight.T + ours.expand.bias
    gate = torch.tensor(
        [[[FORMULAS[activation](v) for v in row] for row in gate[0].tolist()]], dtype=torch.float64
    )

    assert_exact(ours(x), (gate * expand) @ ours.contract.weight.T + ours.contract.bias)


def test_without_bias_there_is_none() -> None:
    ours = FeedForward(4, 6, gated=True, bias=False)

    assert [name for name, _ in ours.named_parameters()] == [
        "expand.weight",
        "gate.weight",
        "contract.weight",
    ]


def test_rms_norm_divides_by_the_root_mean_square_only() -> None:
    ours = shake(build_norm(tiny_config(norm_kind="rms", norm_epsilon=1e-2)).double())
    x = torch.randn(5, 16).double() + 3
    expected = []
    for row in x.tolist():
        root = math.sqrt(sum(value**2 for value in row) / len(row) + 1e-2)
        expected.append([value / root for value in row])

    assert_exact(ours(x), torch.tensor(expected, dtype=torch.float64) * ours.weight)
    assert [name for name, _ in ours.named_parameters()] == ["weight"]


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_the_norm_has_the_configured_epsilon(kind: str) -> None:
    assert build_norm(tiny_config(norm_kind=kind, norm_epsilon=0.125)).eps == 0.125
