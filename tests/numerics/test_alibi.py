"""ALiBi is what Press et al. 2022 define."""

import pytest
import torch

from glassformer.nn.positions import AlibiBias, alibi_slopes
from tests.support.equality import assert_exact


def slopes_of_the_authors(n: int) -> list[float]:
    """The recursion of their own code: start = ratio = 2^(-8/n); between powers every other of the next."""
    if n & (n - 1) == 0:
        ratio = 2 ** (-8 / n)
        return [ratio ** (i + 1) for i in range(n)]
    power = 1
    while power * 2 <= n:
        power *= 2
    return slopes_of_the_authors(power) + slopes_of_the_authors(2 * power)[0::2][: n - power]


@pytest.mark.parametrize("n_heads", [1, 2, 3, 4, 6, 7, 8, 12, 16, 20, 64])
def test_slopes_are_those_of_the_authors(n_heads: int) -> None:
    assert alibi_slopes(n_heads) == pytest.approx(slopes_of_the_authors(n_heads), rel=1e-13)


def test_eight_heads_have_the_slopes_of_the_paper() -> None:
    assert alibi_slopes(8) == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]


@pytest.mark.parametrize(("length", "size"), [(5, 5), (1, 5), (3, 7)])
def test_scores_fall_by_slope_times_distance(length: int, size: int) -> None:
    bias = AlibiBias(6)(length, size, torch.zeros(1, dtype=torch.float64))
    slopes = slopes_of_the_authors(6)
    past = size - length
    expected = [
        [[-slope * abs(past + query - key) for key in range(size)] for query in range(length)]
        for slope in slopes
    ]

    assert_exact(bias[0], torch.tensor(expected, dtype=torch.float64))


def test_nothing_is_learned_or_saved() -> None:
    bias = AlibiBias(4)

    assert (list(bias.parameters()), bias.state_dict()) == ([], {})
