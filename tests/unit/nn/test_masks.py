"""Masks say who may look at whom, and positions count tokens only."""

import torch

from glassformer.nn import causal_mask, combine, padding_mask, token_mask
from glassformer.nn.masks import token_positions, without_padding

CPU = torch.device("cpu")


def test_a_position_sees_itself_and_what_is_before() -> None:
    assert causal_mask(3)[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_with_a_past_all_of_it_is_seen() -> None:
    assert causal_mask(2, past=2)[0, 0].tolist() == [[True, True, True, False], [True, True, True, True]]


def test_masks_have_four_dimensions() -> None:
    assert causal_mask(2, 3).shape == (1, 1, 2, 5)
    assert padding_mask(torch.tensor([1, 2]), 4).shape == (2, 1, 1, 4)
    assert token_mask(torch.ones(2, 4, dtype=torch.long), 0).shape == (2, 1, 1, 4)


def test_tokens_may_be_seen_and_padding_may_not() -> None:
    assert padding_mask(torch.tensor([0, 2]), 3)[:, 0, 0].tolist() == [[False] * 3, [True, True, False]]
    assert token_mask(torch.tensor([[9, 5, 9]]), 9)[0, 0, 0].tolist() == [False, True, False]


def test_masks_together_allow_what_each_of_them_allows() -> None:
    padding, causal = padding_mask(torch.tensor([1, 3]), 3), causal_mask(3)
    both = combine(padding, None, causal)
    assert both is not None

    assert both[0, 0].tolist() == [[True, False, False]] * 3
    assert torch.equal(both[1], causal[0])
    assert combine(None, None) is None
    assert combine(None, causal) is causal


def test_combining_leaves_masks_as_they_were() -> None:
    causal = causal_mask(3)
    combine(causal, padding_mask(torch.tensor([1]), 3))

    assert torch.equal(causal, causal_mask(3))


def test_positions_count_tokens_on_whichever_side_padding_stands() -> None:
    left, right = torch.tensor([[0, 0, 5, 6]]), torch.tensor([[5, 6, 0, 0]])

    assert token_positions(token_mask(left, 0), 4, CPU)[0, 2:].tolist() == [0, 1]
    assert token_positions(token_mask(right, 0), 4, CPU)[0, :2].tolist() == [0, 1]
    assert token_positions(token_mask(left, 0), 1, CPU).tolist() == [[1]]
    assert token_positions(None, 3, CPU).tolist() == [[0, 1, 2]]
    assert (token_positions(token_mask(left * 0, 0), 4, CPU) == 0).all()


def test_padding_becomes_zero_and_tokens_stay() -> None:
    x = torch.full((1, 3, 2), float("nan"))
    x[0, 0] = 1

    assert without_padding(x, padding_mask(torch.tensor([1]), 3)).tolist() == [[[1, 1], [0, 0], [0, 0]]]
    assert without_padding(x, None) is x
