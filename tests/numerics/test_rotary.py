"""Rotary positions turn pairs of features, so that scores know distances only."""

import cmath

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from glassformer.nn import MultiHeadAttention, Sight
from glassformer.nn.positions import rotate, rotation
from glassformer.nn.stack import SelfSight
from tests.support.equality import assert_exact, assert_near
from tests.support.models import shake, tiny_config


def turn(x: Tensor, places: Tensor, base: float = 10_000.0) -> Tensor:
    return rotate(x, rotation(places, x.size(-1), base, x.dtype))


@settings(deadline=None, max_examples=30)
@given(half=st.integers(1, 6), base=st.sampled_from([100.0, 10_000.0, 500_000.0]), seed=st.integers(0, 2**32))
def test_turning_is_multiplication_by_complex_numbers(half: int, base: float, seed: int) -> None:
    torch.manual_seed(seed)
    d_k, places = 2 * half, torch.randint(0, 3000, (2, 5))
    x = torch.randn(2, 3, 5, d_k).double()
    expected = torch.empty_like(x)
    for b in range(2):
        for head in range(3):
            for i in range(5):
                for pair in range(half):
                    angle = int(places[b, i]) / base ** (2 * pair / d_k)
                    number = complex(x[b, head, i, pair], x[b, head, i, pair + half]) * cmath.exp(1j * angle)
                    expected[b, head, i, pair], expected[b, head, i, pair + half] = number.real, number.imag

    assert_exact(turn(x, places, base), expected)


@settings(deadline=None, max_examples=50)
@given(
    query=st.integers(0, 500), key=st.integers(0, 500), shift=st.integers(0, 500), seed=st.integers(0, 2**32)
)
def test_a_score_depends_on_the_distance_alone(query: int, key: int, shift: int, seed: int) -> None:
    torch.manual_seed(seed)
    q, k = torch.randn(2, 1, 1, 1, 8).double()

    def score(add: int) -> Tensor:
        turned_q, turned_k = turn(q, torch.tensor([[query + add]])), turn(k, torch.tensor([[key + add]]))
        return (turned_q * turned_k).sum()

    assert_near(score(0), score(shift), 1e-10)


def test_a_score_does_depend_on_the_distance() -> None:
    q, k = torch.randn(2, 1, 1, 1, 8).double()
    places = torch.arange(10)[None]
    scores = (q * turn(k.expand(1, 1, 10, 8), places)).sum(-1).flatten()

    assert len(scores.unique()) == 10


@pytest.mark.parametrize("causal", [False, True])
def test_an_attention_turns_queries_and_keys_alike(causal: bool) -> None:
    """All positions moved together, nothing changes; one moved alone, everything does."""
    module = shake(MultiHeadAttention(16, 2, n_key_heads=1).double())
    x, places = torch.randn(2, 6, 16).double(), torch.arange(6)[None]

    def out(places: Tensor) -> Tensor:
        return module(x, Sight(causal=causal, rotation=rotation(places, 8, 100.0, x.dtype)))

    moved = places.clone()
    moved[0, 0] = 20
    assert_near(out(places + 77), out(places), 1e-10)
    assert (out(moved) - out(places))[:, 1:].abs().amax(-1).min() > 1e-3
    assert (out(places) - module(x, Sight(causal=causal)))[:, 1:].abs().amax(-1).min() > 1e-3


def test_the_first_position_is_not_turned_and_no_length_changes() -> None:
    x = torch.randn(1, 2, 4, 6).double()
    turned = turn(x, torch.arange(4)[None])

    assert torch.equal(turned[:, :, 0], x[:, :, 0])
    assert_exact(turned.norm(dim=-1), x.norm(dim=-1))


def test_a_stack_turns_with_the_configured_base_and_width() -> None:
    sight = SelfSight(tiny_config(positions="rotary", rotary_base=50.0, d_k=6, d_v=4), causal=True)
    places = torch.tensor([[0, 3, 9]])
    turned = sight(torch.zeros(1, 3, 16).double(), None, places).rotation
    assert turned is not None

    assert_exact(turned.angle()[0, 0, 1], 3 / 50.0 ** (torch.arange(0, 6, 2).double() / 6))
    assert turned.dtype == torch.complex128


def test_float32_rotations_are_rounded_from_float64() -> None:
    places = torch.tensor([[100_000]])
    exact = rotation(places, 8, 10_000.0, torch.float64)

    assert torch.equal(rotation(places, 8, 10_000.0, torch.float32), exact.to(torch.complex64))
