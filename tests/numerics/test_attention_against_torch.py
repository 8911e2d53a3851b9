"""Our attention is ``nn.MultiheadAttention``, weights and all."""

import pytest
import torch
from torch import Tensor

from glassformer.nn import MultiHeadAttention, Sight, causal_mask, combine, explained_attention, padding_mask
from glassformer.nn.shapes import Heads, Keys, Queries, Values, Weights
from tests.support.equality import assert_exact
from tests.support.models import shake
from tests.support.twins import torch_attention

LENGTHS = torch.tensor([7, 4, 1])


class Onlooker:
    """Keeps the weights of the pass that ran, and what the kernel gave in it."""

    weights: Weights
    explained: Heads
    heads: Heads

    def __call__(self, q: Queries, k: Keys, v: Values, sight: Sight, heads: Heads) -> None:
        self.heads = heads
        self.explained, self.weights = explained_attention(q, k, v, sight)


def attention_of(d_model: int = 24, n_heads: int = 4) -> tuple[MultiHeadAttention, Onlooker]:
    attention = shake(MultiHeadAttention(d_model, n_heads).double())
    onlooker = Onlooker()
    attention.observe = onlooker
    return attention, onlooker


def hidden(batch: int, length: int, d_model: int = 24) -> Tensor:
    return torch.randn(batch, length, d_model, dtype=torch.float64)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_self_attention_is_that_of_torch(causal: bool, padded: bool) -> None:
    ours, onlooker = attention_of()
    x = hidden(3, 7)
    padding = padding_mask(LENGTHS, 7) if padded else None
    expected, weights = torch_attention(ours)(
        x,
        x,
        x,
        key_padding_mask=None if padding is None else ~padding[:, 0, 0],
        attn_mask=~causal_mask(7)[0, 0] if causal else None,
        average_attn_weights=False,
    )

    assert_exact(ours(x, Sight(padding, causal)), expected)
    assert_exact(onlooker.weights, weights)
    assert_exact(onlooker.explained, onlooker.heads)


@pytest.mark.parametrize("padded", [False, True])
def test_cross_attention_is_that_of_torch(padded: bool) -> None:
    ours, onlooker = attention_of()
    x, memory = hidden(3, 5), hidden(3, 7)
    padding = padding_mask(LENGTHS, 7) if padded else None
    expected, weights = torch_attention(ours)(
        x,
        memory,
        memory,
        key_padding_mask=None if padding is None else ~padding[:, 0, 0],
        average_attn_weights=False,
    )

    assert_exact(ours(x, Sight(padding), ours.remember(memory)), expected)
    assert_exact(onlooker.weights, weights)
    assert_exact(onlooker.explained, onlooker.heads)


def test_any_mask_is_the_contrary_of_torchs() -> None:
    ours, onlooker = attention_of()
    x = hidden(2, 6)
    mask = (torch.rand(2, 1, 6, 6) < 0.5) | torch.eye(6, dtype=torch.bool)
    every_head = (~mask).expand(2, 4, 6, 6).flatten(0, 1)
    expected, weights = torch_attention(ours)(x, x, x, attn_mask=every_head, average_attn_weights=False)

    assert_exact(ours(x, Sight(mask)), expected)
    assert_exact(onlooker.weights, weights)


def test_gradients_are_those_of_torch() -> None:
    ours, _ = attention_of()
    twin = torch_attention(ours)
    x = hidden(3, 7).requires_grad_()
    mask = combine(padding_mask(LENGTHS, 7), causal_mask(7))
    assert mask is not None
    every_head = (~mask).expand(3, 4, 7, 7).flatten(0, 1)
    gradient = hidden(3, 7)
    inputs = [x, ours.query.weight, ours.key.bias, ours.value.weight, ours.output.weight]
    actual = torch.autograd.grad(ours(x, Sight(mask)), inputs, gradient)
    twin_inputs = [x, twin.in_proj_weight, twin.in_proj_bias, twin.out_proj.weight]
    expected = torch.autograd.grad(
        twin(x, x, x, attn_mask=every_head, need_weights=False)[0], twin_inputs, gradient
    )
    query, _, value = expected[1].chunk(3)

    assert_exact(actual[0], expected[0])
    assert_exact(actual[1], query)
    assert_exact(actual[2], expected[2].chunk(3)[1])
    assert_exact(actual[3], value)
    assert_exact(actual[4], expected[3])


def test_looking_changes_nothing() -> None:
    ours, _ = attention_of()
    x = hidden(3, 7)
    seen = ours(x, Sight(causal=True))
    ours.observe = None

    assert torch.equal(seen, ours(x, Sight(causal=True)))
