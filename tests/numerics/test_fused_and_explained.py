"""The fused kernel and equation 1 as written are one function, wherever a query may look."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from glassformer.nn import Sight, attention, explained_attention
from glassformer.nn.attention import attention_scores
from tests.support import paper
from tests.support.cases import Case, allowed, cases
from tests.support.equality import assert_exact


@settings(deadline=None, max_examples=200)
@given(case=cases())
def test_fused_is_explained(case: Case) -> None:
    heads, weights = explained_attention(*case)

    assert_exact(attention(*case), heads)
    assert weights.shape == (*case.q.shape[:3], case.k.size(2))


@settings(deadline=None, max_examples=100)
@given(case=cases(), seed=st.integers(0, 2**32))
def test_gradients_of_fused_and_explained_are_equal_and_finite(case: Case, seed: int) -> None:
    inputs = [case.q, case.k, case.v, *([] if case.sight.bias is None else [case.sight.bias])]
    for tensor in inputs:
        tensor.requires_grad_()
    torch.manual_seed(seed)
    fused, (explained, _) = attention(*case), explained_attention(*case)
    gradient = torch.randn_like(fused)
    actual = torch.autograd.grad(fused, inputs, gradient)
    expected = torch.autograd.grad(explained, inputs, gradient)

    for a, b in zip(actual, expected, strict=True):
        assert a.isfinite().all()
        assert_exact(a, b)


@settings(deadline=None, max_examples=100)
@given(case=cases())
def test_weights_of_a_query_sum_to_1_or_to_0_and_stay_where_it_may_look(case: Case) -> None:
    heads, weights = explained_attention(*case)
    may_look = allowed(case)[:, None].expand_as(weights)
    somewhere = may_look.any(-1)

    assert_exact(weights.sum(-1), somewhere.double())
    assert (weights[~may_look] == 0).all()
    assert (weights[may_look] > 0).all()
    assert (attention(*case)[~somewhere] == 0).all()
    assert (heads[~somewhere] == 0).all()


@settings(deadline=None, max_examples=40)
@given(case=cases())
def test_explained_is_equation_1_query_by_query(case: Case) -> None:
    q, k, v, sight = case
    if sight.bias is not None:  # the paper has none
        sight = sight._replace(bias=None)
    heads = explained_attention(q, k, v, sight)[0]
    may_look = allowed(case).tolist()
    per_group = q.size(1) // k.size(1)
    for b in range(q.size(0)):
        for h in range(q.size(1)):
            keys, values = list(k[b, h // per_group].numpy()), list(v[b, h // per_group].numpy())
            for i in range(q.size(2)):
                expected = paper.attend(q[b, h, i].numpy(), keys, values, may_look[b][i])
                assert_exact(heads[b, h, i], torch.from_numpy(expected))


@settings(deadline=None, max_examples=40)
@given(case=cases())
def test_grouped_heads_are_heads_that_repeat_their_keys_and_values(case: Case) -> None:
    q, k, v, sight = case
    repeats = q.size(1) // k.size(1)
    every = Case(q, k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1), sight)

    assert_exact(attention(*case), attention(*every))
    assert_exact(explained_attention(*case)[1], explained_attention(*every)[1])


def test_scores_are_divided_by_the_root_of_d_k_and_then_biased() -> None:
    q, k = torch.randn(1, 2, 3, 9).double(), torch.randn(1, 2, 4, 9).double()
    bias = torch.randn(1, 2, 3, 4).double()
    scores = attention_scores(q, k, Sight(bias=bias))

    assert_exact(scores[0, 1, 2, 3], (q[0, 1, 2] * k[0, 1, 3]).sum() / 3 + bias[0, 1, 2, 3])


def error(actual: Tensor, expected: Tensor) -> float:
    return float((actual.double() - expected).abs().max())


@pytest.mark.parametrize("backend", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
@settings(deadline=None, max_examples=200)
@given(case=cases(equal_widths=True))
def test_every_kernel_is_as_exact_as_float32_can_be(backend: SDPBackend, case: Case) -> None:
    """Promise P20: no kernel errs more than twice as much as equation 1 in float32."""
    truth = explained_attention(*case)[0]
    single = case.to(torch.float32)
    plain = error(explained_attention(*single)[0], truth)
    with sdpa_kernel(backend):
        fused = error(attention(*single), truth)

    assert fused <= 2 * plain + 1e-6
