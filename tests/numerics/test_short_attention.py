"""The library's attention beside PyTorch's and beside the formula, forwards and backwards."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from glassformer.nn import Sight, attention, causal_mask, combine
from glassformer.nn.attention import explained_attention
from glassformer.nn.short_attention import MOST_KEYS, short_attention
from tests.support.native import needs_native

pytestmark = needs_native
NAN = float("nan")


def heads_of(batch: int, heads: int, length: int, width: int, seed: int) -> Tensor:
    """Heads as a layer has them: views of what one product made."""
    generator = torch.Generator().manual_seed(seed)
    joined = torch.randn(batch, length, 3 * heads * width, generator=generator)
    part = joined[..., heads * width : 2 * heads * width]
    return part.view(batch, length, heads, width).transpose(1, 2).detach().requires_grad_()


def padding(batch: int, keys: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(batch, 1, 1, keys, generator=generator) < 0.7


@settings(max_examples=120, deadline=None)
@given(
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 40),
    st.integers(1, 40) | st.sampled_from([64, 100, MOST_KEYS]),
    st.sampled_from([16, 32, 48, 64, 80]),
    st.sampled_from([16, 32, 112]),
    st.sampled_from(["all", "padded", "shared", "causal", "causal and padded"]),
)
def test_any_shape_is_the_formula_and_its_gradients(
    batch: int, n_heads: int, queries: int, keys: int, d_k: int, d_v: int, kind: str
) -> None:
    causal = kind.startswith("causal")
    keys = queries if causal else keys
    q, k = heads_of(batch, n_heads, queries, d_k, 1), heads_of(batch, n_heads, keys, d_k, 2)
    v = heads_of(batch, n_heads, keys, d_v, 3)
    mask = padding(1 if kind == "shared" else batch, keys, 4) if kind not in ("all", "causal") else None
    slope = heads_of(batch, n_heads, queries, d_v, 5).detach()

    actual = short_attention(q, k, v, mask, causal=causal)
    assert actual is not None
    found = torch.autograd.grad(actual, [q, k, v], slope)

    exact = [x.detach().double().requires_grad_() for x in (q, k, v)]
    whole = combine(mask, causal_mask(queries) if causal else None)
    expected, _ = explained_attention(exact[0], exact[1], exact[2], Sight(whole))
    wanted = torch.autograd.grad(expected, exact, slope.double())
    for ours, theirs in zip((actual, *found), (expected, *wanted), strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-4, atol=2e-5)


def test_the_model_takes_it_and_pytorchs_kernel_agrees() -> None:
    q, k, v = (heads_of(3, 4, 15, 32, seed) for seed in range(3))

    ours = attention(q, k, v, Sight(causal=True))

    assert type(ours.grad_fn).__name__ == "_ShortAttentionBackward"
    torch.testing.assert_close(ours, F.scaled_dot_product_attention(q, k, v, is_causal=True))
    assert ours.transpose(1, 2).is_contiguous(), "what follows joins heads without copying"


def test_threads_and_neighbours_do_not_change_a_bit() -> None:
    q, k, v = (heads_of(9, 2, 17, 32, seed) for seed in range(3))
    mask = padding(9, 17, 7)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = short_attention(q, k, v, mask, causal=False)
        torch.set_num_threads(3)
        together = short_attention(q, k, v, mask, causal=False)
        single = short_attention(q[4:5], k[4:5], v[4:5], mask[4:5], causal=False)
    finally:
        torch.set_num_threads(before)

    assert alone is not None
    assert together is not None
    assert single is not None
    assert torch.equal(alone, together)
    assert torch.equal(alone[4:5], single)


def test_nobody_to_look_at_gives_zero_and_finite_gradients() -> None:
    q, k, v = (heads_of(2, 2, 5, 16, seed) for seed in range(3))
    mask = torch.ones(2, 1, 1, 5, dtype=torch.bool)
    mask[1] = False

    out = short_attention(q, k, v, mask, causal=False)
    assert out is not None
    gradients = torch.autograd.grad(out.sum(), [q, k, v])

    assert (out[1] == 0).all()
    assert all(gradient.isfinite().all() and (gradient[1] == 0).all() for gradient in gradients)


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("value", [NAN, float("inf")])
def test_what_is_not_finite_is_not_hidden(which: int, value: float) -> None:
    inputs = [heads_of(1, 1, 6, 16, seed).detach() for seed in range(3)]
    inputs[which][0, 0, 2, 3] = value
    q, k, v = (x.requires_grad_() for x in inputs)

    out = short_attention(q, k, v, None, causal=False)

    assert out is not None
    assert not out.isfinite().all()


def test_large_scores_do_not_overflow() -> None:
    q, k, v = (heads_of(2, 2, 20, 16, seed).detach() for seed in range(3))
    q = (q * 100).requires_grad_()

    ours = short_attention(q, k, v, None, causal=False)

    assert ours is not None
    torch.testing.assert_close(ours, F.scaled_dot_product_attention(q, k, v), rtol=1e-4, atol=1e-4)


def test_it_declines_what_it_was_not_made_for() -> None:
    def declines(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> bool:
        return short_attention(q, k, v, mask, causal=False) is None

    q, k, v = (heads_of(2, 4, 6, 16, seed) for seed in range(3))
    long = heads_of(2, 4, MOST_KEYS + 1, 16, 1)

    assert not declines(q, k, v)
    assert declines(q, long, long)
    assert declines(q, k[:, :2], v[:, :2]), "grouped heads"
    assert declines(*(heads_of(2, 4, 6, 12, seed) for seed in range(3))), "no whole vectors"
    assert declines(q.double(), k.double(), v.double())
    assert declines(q, k, v, torch.ones(2, 1, 6, 6, dtype=torch.bool)), "a mask for each query"
    assert declines(q, k, v, torch.ones(2, 1, 1, 1, dtype=torch.bool)), "a mask that is shorter than the keys"
    assert declines(q, k, v, torch.ones(2, 1, 1, 6)), "a mask of numbers"
    assert declines(q, k[:1], v[:1]), "keys that texts share"
    assert short_attention(q[:, :, :3], k, v, None, causal=True) is None, "earlier keys"
    assert declines(q.detach(), k.detach(), v.detach()), "nothing to learn"
    with torch.no_grad():
        assert declines(q, k, v)
