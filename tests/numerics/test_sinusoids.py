"""Sinusoidal positions are the paper's formula at any length and in any precision."""

import numpy as np
import pytest
import torch

from glassformer.nn.positions import SinusoidalPositions, sinusoids
from tests.support import paper
from tests.support.equality import assert_exact
from tests.support.models import encoder_only, random_ids

PLACES = [*range(20), 255, 256, 257, 300, 1023, 1024, 5000]


@pytest.mark.parametrize("d_model", [2, 6, 64, 512])
def test_sinusoids_are_the_papers_formula(d_model: int) -> None:
    expected = np.stack([paper.position(place, d_model) for place in PLACES])

    assert_exact(sinusoids(torch.tensor(PLACES), d_model), torch.from_numpy(expected))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("converted", [False, True])
def test_a_model_sees_the_formula_rounded_once_to_its_precision(dtype: torch.dtype, converted: bool) -> None:
    positions = SinusoidalPositions(6)
    if converted:
        positions = positions.to(dtype)  # as model.double() does
    like = torch.zeros(1, len(PLACES), 6, dtype=dtype)
    expected = sinusoids(torch.tensor([PLACES]), 6).to(dtype)

    assert torch.equal(positions(torch.tensor([PLACES]), like), expected)


def test_the_table_grows_and_keeps_what_it_had() -> None:
    positions, like = SinusoidalPositions(6), torch.zeros(1, 1, 6)
    early = positions(torch.tensor([[200]]), like)
    late = positions(torch.tensor([[700]]), like)

    assert torch.equal(positions(torch.tensor([[200]]), like), early)
    assert torch.equal(late, sinusoids(torch.tensor([[700]]), 6).float())
    assert len(positions.table) == 1024


def test_a_table_that_grew_while_only_reading_can_be_trained_with() -> None:
    model = encoder_only(max_length=300).train()
    ids = random_ids(1, 300)
    with torch.inference_mode():
        model(ids)
    model(ids).sum().backward()

    assert model.embedding.weight.grad is not None


def test_positions_are_no_weights() -> None:
    assert SinusoidalPositions(6).state_dict() == {}


def test_a_shift_is_a_linear_map_of_the_position() -> None:
    """Section 3.5: 'for any fixed offset k, PE(pos + k) can be represented as a linear function'."""
    here, there = sinusoids(torch.arange(40), 8), sinusoids(torch.arange(40) + 5, 8)
    solution = torch.linalg.lstsq(here, there).solution

    torch.testing.assert_close(here @ solution, there, rtol=0, atol=1e-10)
