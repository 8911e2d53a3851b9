"""Relative positions fall into T5's buckets."""

import itertools
import math

import numpy as np
import pytest
import torch

from glassformer.nn.positions import RelativeBias, relative_buckets
from glassformer.nn.stack import CrossStack, Stack
from tests.support.equality import assert_exact
from tests.support.models import decoder_only, encoder_decoder, encoder_only


def bucket(offset: int, n_buckets: int, max_distance: int, causal: bool) -> int:
    """T5's rule in plain Python: its logarithm alone in float32, as T5 has it."""
    if causal:
        start, distance = 0, max(0, -offset)
    else:
        n_buckets //= 2
        start, distance = (n_buckets if offset > 0 else 0), abs(offset)
    exact = n_buckets // 2
    if distance < exact:
        return start + distance
    ratio = np.log(np.float32(distance) / np.float32(exact)) / np.float32(math.log(max_distance / exact))
    far = exact + math.floor(float(ratio * np.float32(n_buckets - exact)))
    return start + min(far, n_buckets - 1)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("n_buckets", "max_distance"), [(32, 128), (8, 12), (4, 20), (64, 256), (33, 100)])
def test_every_offset_falls_into_the_bucket_of_t5(causal: bool, n_buckets: int, max_distance: int) -> None:
    offsets = list(range(-300, 301))
    actual = relative_buckets(torch.tensor(offsets), n_buckets, max_distance, causal=causal)

    assert actual.tolist() == [bucket(offset, n_buckets, max_distance, causal) for offset in offsets]


@pytest.mark.parametrize("causal", [False, True])
def test_buckets_are_all_used_and_grow_with_distance(causal: bool) -> None:
    buckets = relative_buckets(-torch.arange(0, 301), 32, 128, causal=causal)

    assert (buckets.diff() >= 0).all()
    assert buckets.unique().tolist() == list(range(32 if causal else 16))


def test_a_key_that_comes_later_has_a_bucket_of_its_own_or_none() -> None:
    later, earlier = torch.tensor([1, 5, 100]), torch.tensor([-1, -5, -100])
    both_ways = relative_buckets(later, 32, 128, causal=False) - relative_buckets(
        earlier, 32, 128, causal=False
    )

    assert both_ways.tolist() == [16, 16, 16]
    assert relative_buckets(later, 32, 128, causal=True).tolist() == [0, 0, 0]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("length", "size"), [(6, 6), (2, 9)])
def test_the_bias_is_looked_up_by_key_minus_query(causal: bool, length: int, size: int) -> None:
    ours = RelativeBias(3, 8, 12, causal=causal).double()
    torch.nn.init.normal_(ours.weight)
    bias = ours(length, size, torch.zeros(1, dtype=torch.float64))
    expected = torch.empty(1, 3, length, size, dtype=torch.float64)
    for query in range(length):
        for key in range(size):
            offset = key - (size - length + query)
            expected[0, :, query, key] = ours.weight[bucket(offset, 8, 12, causal)]

    assert_exact(bias, expected)


def test_encoders_look_both_ways_and_decoders_back() -> None:
    translator, language_model, encoder = (
        encoder_decoder(positions="relative"),
        decoder_only(positions="relative"),
        encoder_only(positions="relative"),
    )
    stacks: dict[bool, list[Stack | CrossStack]] = {
        False: [translator.encoder, encoder.encoder],
        True: [translator.decoder, language_model.decoder],
    }
    for causal, parts in stacks.items():
        for part in parts:
            bias = part.sight(torch.zeros(1, 5, 16), None, torch.arange(5)[None]).bias
            table = part.sight.bias
            assert isinstance(table, RelativeBias)
            assert bias is not None
            for query, key in itertools.product(range(5), range(5)):
                expected = table.weight[bucket(key - query, 8, 12, causal)]
                assert torch.equal(bias[0, :, query, key], expected)


def test_each_stack_has_one_table_for_all_its_layers() -> None:
    model = encoder_decoder(positions="relative", n_encoder_layers=3)
    tables = [name for name, _ in model.named_parameters() if "sight" in name]

    assert tables == ["encoder.sight.bias.weight", "decoder.sight.bias.weight"]
