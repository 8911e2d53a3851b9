"""Queries, keys and values of many rows come from one product, of few rows from three: the same numbers."""

import sys

import pytest
import torch

from glassformer.nn.attention import MultiHeadAttention
from tests.support.equality import assert_exact


@pytest.mark.parametrize("bias", [True, False])
def test_one_product_gives_what_three_give(bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    home = sys.modules[MultiHeadAttention.__module__]  # the package gives its name to a function
    module = MultiHeadAttention(12, 4, n_key_heads=2, d_k=5, d_v=3, bias=bias).double()
    x = torch.randn(2, 7, 12).double()
    monkeypatch.setattr(home, "JOINED_ROWS", 1)
    joined = module(x)
    monkeypatch.setattr(home, "JOINED_ROWS", 10**9)

    assert_exact(module(x), joined)
