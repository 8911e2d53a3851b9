"""Gradients of our own pieces are the slopes of what they compute."""

import pytest
import torch
from torch import Tensor

from glassformer.nn import MultiHeadAttention, Sight, attention, explained_attention
from glassformer.nn.dropout import _AddProduct, keep_mask
from tests.support.models import decoder_only, shake


def test_the_residual_sum_of_dropout_passes_gradcheck() -> None:
    residual, x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True).unbind()
    keep = keep_mask(x, 0.4)

    def total(residual: Tensor, x: Tensor) -> Tensor:
        result: Tensor = _AddProduct.apply(residual, x, keep)  # type: ignore[no-untyped-call]
        return result

    leaves = (residual.detach().requires_grad_(), x.detach().requires_grad_())
    assert torch.autograd.gradcheck(total, leaves)
    assert torch.autograd.gradgradcheck(total, leaves)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("explained", [False, True])
def test_attention_with_masks_and_bias_passes_gradcheck(biased: bool, causal: bool, explained: bool) -> None:
    def made(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, requires_grad=True)

    mask = torch.rand(2, 1, 3, 4) < 0.6
    mask[0, 0, 1] = False  # a query that may look nowhere
    inputs = [made(2, 4, 3, 2), made(2, 2, 4, 2), made(2, 2, 4, 3), *([made(1, 4, 3, 4)] if biased else [])]

    def heads(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None = None) -> Tensor:
        sight = Sight(mask, causal, bias)
        return explained_attention(q, k, v, sight)[0] if explained else attention(q, k, v, sight)

    assert torch.autograd.gradcheck(heads, inputs)


def test_multi_head_attention_passes_gradcheck() -> None:
    module = shake(MultiHeadAttention(4, 2, n_key_heads=1, d_k=2, d_v=3).double())
    x = torch.randn(1, 3, 4, dtype=torch.float64, requires_grad=True)

    assert torch.autograd.gradcheck(lambda y: module(y, Sight(causal=True)), x)


@pytest.mark.parametrize("positions", ["rotary", "relative", "alibi"])
def test_a_whole_stack_passes_gradcheck(positions: str) -> None:
    model = decoder_only(positions=positions, d_model=8, d_ff=6, n_heads=2, n_decoder_layers=1).double()
    x = torch.randn(1, 3, 8, dtype=torch.float64, requires_grad=True)
    places = torch.arange(3)[None]

    assert torch.autograd.gradcheck(lambda y: model.decoder(y, None, places, model.remember()), x)
