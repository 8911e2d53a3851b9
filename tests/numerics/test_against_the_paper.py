"""Every part is the paper's formula, evaluated position by position in plain Python."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from glassformer.nn import MultiHeadAttention, Sight, causal_mask
from glassformer.nn.feedforward import FeedForward
from glassformer.nn.norm import build_norm
from tests.support import paper
from tests.support.equality import assert_exact
from tests.support.models import encoder_decoder, random_ids, shake, tiny_config


def rows(x: Tensor) -> list[paper.Array]:
    return list(np.asarray(x.detach()))


def as_tensor(x: list[paper.Array]) -> Tensor:
    return torch.from_numpy(np.stack(x))


@settings(deadline=None, max_examples=25)
@given(
    n_heads=st.sampled_from([1, 2, 6]),
    shared=st.sampled_from([1, 2]),
    d_k=st.integers(1, 5),
    d_v=st.integers(1, 5),
    bias=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_multi_head_attention_with_free_widths_is_section_3_2(
    n_heads: int, shared: int, d_k: int, d_v: int, bias: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    groups = n_heads // shared if n_heads % shared == 0 else n_heads
    ours = shake(
        MultiHeadAttention(7, n_heads, n_key_heads=groups, d_k=d_k, d_v=d_v, bias=bias).double(),
    )
    x, memory = torch.randn(1, 4, 7).double(), torch.randn(1, 5, 7).double()
    mask = torch.rand(1, 1, 4, 5) < 0.6
    expected = paper.multi_head(
        rows(x[0]), rows(memory[0]), paper.numbers(ours), mask[0, 0].tolist(), n_heads, groups
    )

    assert_exact(ours(x, Sight(mask), ours.remember(memory))[0], as_tensor(expected))


def test_causal_self_attention_is_section_3_2() -> None:
    ours = shake(MultiHeadAttention(12, 3, n_key_heads=1, d_k=2, d_v=5).double())
    x = torch.randn(1, 6, 12).double()
    expected = paper.multi_head(
        rows(x[0]), rows(x[0]), paper.numbers(ours), causal_mask(6)[0, 0].tolist(), 3, 1
    )

    assert_exact(ours(x, Sight(causal=True))[0], as_tensor(expected))


def test_feed_forward_is_equation_2() -> None:
    ours = shake(FeedForward(6, 11).double())
    x = torch.randn(1, 5, 6).double()
    expected = [paper.feed_forward(row, paper.numbers(ours)) for row in rows(x[0])]

    assert_exact(ours(x)[0], as_tensor(expected))


def test_layer_norm_is_mean_0_and_variance_1() -> None:
    ours = shake(build_norm(tiny_config(norm_epsilon=1e-2)).double())
    x = torch.randn(5, 16).double()
    expected = [paper.layer_norm(row, paper.numbers(ours), 1e-2) for row in rows(x)]

    assert_exact(ours(x), as_tensor(expected))


@pytest.mark.parametrize("layers", [(1, 1), (3, 2)])
def test_the_whole_model_is_figure_1(layers: tuple[int, int]) -> None:
    model = encoder_decoder(n_encoder_layers=layers[0], n_decoder_layers=layers[1]).double()
    source, target = random_ids(1, 7), random_ids(1, 5)
    expected = paper.transformer(source[0].tolist(), target[0].tolist(), paper.numbers(model), n_heads=4)

    assert_exact(model(source, target)[0], torch.from_numpy(expected))
