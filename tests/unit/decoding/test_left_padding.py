"""Padding before prompts of unequal length takes up no position, and no limit."""

import pytest
import torch

from glassformer.config import DecodeConfig
from glassformer.errors import InputError
from glassformer.nn import padding_mask
from tests.support.models import decoder_only, random_ids
from tests.unit.decoding.toys import decoder, queries


def test_padding_is_no_part_of_the_length() -> None:
    model = decoder_only(max_length=8)
    ids = random_ids(1, 8)
    padded = torch.cat([random_ids(1, 20), ids], dim=1)
    mask = padding_mask(torch.tensor([8]), 28).flip(-1)

    assert torch.allclose(model(padded, mask)[:, 20:], model(ids), atol=1e-5)


def test_tokens_beyond_the_length_are_refused() -> None:
    model = decoder_only(max_length=8)
    mask = padding_mask(torch.tensor([9]), 12).flip(-1)

    with pytest.raises(InputError) as error:
        model(random_ids(1, 12), mask)

    assert str(error.value) == (
        "a text of 9 tokens is longer than max_length = 8; split it, or train with a larger max_length"
    )


def test_a_short_prompt_shares_a_batch_with_a_long_one() -> None:
    """Together they need more slots than the model has positions, alone neither does."""
    searcher = decoder("decoder-only", max_length=16)
    asked = queries([2, 12, 1, 9])
    config = DecodeConfig(beam=2, max_extra=50, min_length=50)
    run = searcher.begin(asked, config)
    while not run.done:
        run.step()

    assert [found[0].length for found in run.results()] == [15, 5, 16, 8]
    for found, query in zip(run.results(), asked, strict=True):
        (alone,) = searcher.decode([query], config)
        assert [each.ids for each in found] == [each.ids for each in alone]
