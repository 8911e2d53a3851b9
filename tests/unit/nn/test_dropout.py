"""Dropout drops as often as it says, keeps the mean, and is off when it should be."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.nn.dropout import Dropout, keep_mask
from tests.support.equality import assert_exact
from tests.support.models import FAMILIES, random_ids, read_ids, tiny_model

N = 400_003  # not a multiple of four: the last lane is cut


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.3, 0.5, 0.9])
def test_the_share_dropped_is_the_rate_within_four_sigma(rate: float) -> None:
    dropped = int((keep_mask(torch.ones(N), rate) == 0).sum())

    assert abs(dropped - N * rate) < 4 * math.sqrt(N * rate * (1 - rate)) + N * 2**-17


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_what_is_kept_is_scaled_so_that_the_mean_stays(rate: float) -> None:
    dropped = Dropout(rate)(torch.ones(N, dtype=torch.float64))
    sigma = math.sqrt(rate / (1 - rate) / N)

    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / (1 - rate)])
    assert abs(float(dropped.mean()) - 1) < 4 * sigma + 2**-16


@pytest.mark.parametrize("rate", [1 - 2**-17, 1 - 2**-40])
def test_a_rate_of_nearly_one_drops_nearly_everything(rate: float) -> None:
    assert int((keep_mask(torch.ones(N), rate) != 0).sum()) < 40


def blocks_with_each_count(kept: Tensor, size: int = 16) -> Tensor:
    """How many blocks of neighbours have 0, 1, 2 … features left."""
    counts = (kept[: kept.numel() // size * size].view(-1, size) != 0).sum(1)
    return torch.bincount(counts, minlength=size + 1).double()


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_features_are_dropped_independently_as_torch_drops_them(rate: float) -> None:
    """Chi-square: the counts per block are binomial, for ours and for F.dropout alike."""
    blocks, size = N // 16, 16
    expected = torch.tensor(
        [blocks * math.comb(size, k) * (1 - rate) ** k * rate ** (size - k) for k in range(size + 1)]
    )
    common = expected > 5
    limit = int(common.sum()) + 5 * math.sqrt(2 * int(common.sum()))  # five sigma of a chi-square
    for kept in (keep_mask(torch.ones(N), rate), F.dropout(torch.ones(N), rate)):
        counts = blocks_with_each_count(kept)
        distance = ((counts - expected) ** 2 / expected)[common].sum()

        assert float(distance) < limit


def test_neighbours_in_a_lane_are_not_related() -> None:
    dropped = (keep_mask(torch.ones(400_000), 0.3) == 0).double() - 0.3
    for shift in (1, 2, 3, 4, 8):
        correlation = float((dropped[shift:] * dropped[:-shift]).mean()) / 0.21

        assert abs(correlation) < 5 / math.sqrt(400_000)


def test_a_seed_fixes_what_is_dropped() -> None:
    masks = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        masks.append(keep_mask(torch.ones(1000), 0.5))

    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_with_a_residual_it_is_the_sum_of_the_two(dtype: torch.dtype) -> None:
    dropout = Dropout(0.3)
    x, residual = torch.randn(2, 7, 5).to(dtype), torch.randn(2, 7, 5).to(dtype)
    torch.manual_seed(1)
    together = dropout(x, residual=residual)
    torch.manual_seed(1)
    apart = residual + dropout(x)

    rounding = 0.02 if dtype == torch.bfloat16 else 1e-6  # of the sum and of its two terms
    torch.testing.assert_close(together, apart, rtol=rounding, atol=rounding)


def test_gradients_pass_where_features_were_kept() -> None:
    dropout = Dropout(0.5)
    x, residual = torch.randn(2, 50, dtype=torch.float64, requires_grad=True).unbind()
    x.retain_grad()
    residual.retain_grad()
    torch.manual_seed(1)
    dropout(x, residual=residual).sum().backward()
    torch.manual_seed(1)
    assert x.grad is not None
    assert residual.grad is not None

    assert_exact(x.grad, keep_mask(x, 0.5))
    assert torch.equal(residual.grad, torch.ones(50, dtype=torch.float64))


@pytest.mark.parametrize("dropout", [Dropout(0.0), Dropout(0.9).eval()])
def test_at_rate_0_or_in_use_nothing_happens(dropout: Dropout) -> None:
    x, residual = torch.randn(2, 5)

    assert dropout(x) is x
    assert torch.equal(dropout(x, residual=residual), residual + x)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("where", ["dropout", "attention_dropout", "activation_dropout", "layer_drop"])
def test_training_draws_and_use_does_not(family: str, where: str) -> None:
    """Train, then use, then train: the rate comes back."""
    rates = {"dropout": 0.0, where: 0.5}
    model = tiny_model(family=family, n_encoder_layers=4, n_decoder_layers=4, **rates)
    ids = random_ids(2, 6)

    def passes() -> tuple[Tensor, Tensor]:
        results = []
        for seed in (1, 2):
            torch.manual_seed(seed)
            results.append(read_ids(model, ids))
        return results[0], results[1]

    for _ in range(2):
        model.eval()
        assert torch.equal(*passes())
        model.train()
        assert not torch.equal(*passes())


def test_every_switch_of_dropout_reaches_its_place() -> None:
    model = tiny_model(dropout=0.1, attention_dropout=0.2, activation_dropout=0.3, layer_drop=0.4)
    rates = {name.split(".")[-2]: m.rate for name, m in model.named_modules() if isinstance(m, Dropout)}

    assert rates == {
        "source_front": 0.1,
        "target_front": 0.1,
        "attention_residual": 0.1,
        "cross_attention_residual": 0.1,
        "feed_forward_residual": 0.1,
        "feed_forward": 0.3,
    }
    assert {m.dropout for n, m in model.named_modules() if n.endswith(".attention")} == {0.2}
    assert {m.dropout for n, m in model.named_modules() if n.endswith(".cross_attention")} == {0.2}
