"""Samples follow the softmax, after the cuts that were asked for."""

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.config import DecodeConfig
from glassformer.decoding.hypothesis import Query
from glassformer.decoding.sampling import distribution, draw
from tests.unit.decoding.toys import SPECIALS, decoder, next_log_probabilities, queries

ROWS = torch.randn(50, 40, generator=torch.Generator().manual_seed(1)).mul(2).log_softmax(-1)


def chance_of_more(counts: NDArray[np.int64], expected: NDArray[np.float64]) -> float:
    """The p-value of Pearson's chi-square test."""
    statistic = float(((counts - expected) ** 2 / expected).sum())
    if len(counts) == 1:
        return 1.0
    half = torch.tensor([(len(counts) - 1) / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


def chances(**settings: object) -> Tensor:
    return distribution(ROWS, DecodeConfig.model_validate({"temperature": 1.0} | settings))


def test_without_cuts_it_is_the_softmax() -> None:
    assert torch.allclose(chances(), ROWS.double().softmax(-1))
    assert torch.allclose(chances(temperature=0.5), (ROWS.double() / 0.5).softmax(-1))


def test_temperature_zero_is_greedy_and_its_neighbourhood_nearly() -> None:
    best = ROWS.argmax(-1)

    assert torch.equal(chances(temperature=0).argmax(-1), best)
    assert chances(temperature=0).max(-1).values.min() == 1
    assert torch.equal(chances(temperature=1e-3).argmax(-1), best)


@pytest.mark.parametrize("k", [1, 5, 40, 1000])
def test_top_k_keeps_exactly_k(k: int) -> None:
    found = chances(top_k=k)

    assert ((found > 0).sum(-1) == min(k, 40)).all()
    assert torch.equal(found.argmax(-1), ROWS.argmax(-1))


def test_top_k_keeps_exactly_k_of_equals() -> None:
    found = distribution(torch.zeros(1, 8), DecodeConfig(temperature=1.0, top_k=3))

    assert (found > 0).sum() == 3


@pytest.mark.parametrize("p", [1e-8, 0.1, 0.5, 0.9, 0.999])
def test_top_p_keeps_enough_and_no_more(p: float) -> None:
    """S9: mass at least p, minimal, at least one token; the one that crosses p belongs to it."""
    full, found = ROWS.double().softmax(-1), chances(top_p=p)
    for row, kept in zip(full, found > 0, strict=True):
        mass = float(row[kept].sum())

        assert kept.any()
        assert mass >= p - 1e-12
        assert mass - float(row[kept].min()) < p
        assert row[kept].min() >= row[~kept].max()


def test_top_p_of_one_cuts_nothing() -> None:
    assert (chances(top_p=1.0) > 0).all()


def test_min_p_is_relative_to_the_best() -> None:
    full, found = ROWS.double().softmax(-1), chances(min_p=0.2)

    assert torch.equal(found > 0, full >= 0.2 * full.max(-1, keepdim=True).values)


def test_temperature_comes_first_then_top_k_then_top_p() -> None:
    x = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    hot = distribution(x, DecodeConfig(temperature=2.0, top_p=0.7))  # softened: three are needed, not two
    of_two = distribution(x, DecodeConfig(temperature=1.0, top_k=2, top_p=0.6))  # 0.625 of what top-k left

    assert (hot > 0).tolist() == [[True, True, True, False]]
    assert (of_two > 0).tolist() == [[True, False, False, False]]


def test_numbers_fall_where_probabilities_lie() -> None:
    row = torch.tensor([[0.0, 0.25, 0.0, 0.75, 0.0]], dtype=torch.float64)
    numbers = torch.tensor([0.0, 0.249999, 0.25, 0.999999, 1.0], dtype=torch.float64)

    assert draw(row.expand(5, -1), numbers).tolist() == [1, 1, 3, 3, 3]


@pytest.mark.parametrize(
    "settings", [{}, {"temperature": 0.6}, {"top_k": 5}, {"top_p": 0.8}, {"min_p": 0.1}], ids=str
)
def test_frequencies_are_the_probabilities(settings: dict[str, object]) -> None:
    """S10: the first tokens of many samples of one query, by chi-square."""
    searcher = decoder()
    config = DecodeConfig.model_validate({"temperature": 1.0, "max_length": 1, "nbest": 4000} | settings)
    query = Query((4, 5, 6))
    (samples,) = searcher.decode([query], config)
    firsts = [each.ids[0] if each.ids else SPECIALS.end for each in samples]
    values = torch.tensor([next_log_probabilities(searcher.models[0], query, ())])
    values[:, list(SPECIALS.suppressed)] = -math.inf
    expected = distribution(values, config)[0].numpy()
    counts = np.bincount(firsts, minlength=len(expected))
    possible = expected > 0

    assert counts[~possible].sum() == 0
    assert chance_of_more(counts[possible], 4000 * expected[possible]) > 1e-4


def test_a_seed_gives_the_same_sample_in_any_company() -> None:
    asked = queries([3, 9, 5, 2])
    config = DecodeConfig(temperature=1.0, seed=7, max_length=8, nbest=2)
    together = decoder().decode(asked, config)

    assert [decoder().decode([query], config)[0][0].ids for query in asked] == [
        found[0].ids for found in together
    ]
    backwards = decoder().decode(asked[::-1], config)[::-1]
    assert [[each.ids for each in found] for found in backwards] == [
        [each.ids for each in found] for found in together
    ]


def test_other_seeds_queries_and_samples_give_other_outputs() -> None:
    (query,) = queries([3])
    config = DecodeConfig(temperature=2.0, max_length=12, nbest=6)
    (samples,) = decoder().decode([query], config)
    (others,) = decoder().decode([query], config.model_copy(update={"seed": 1}))
    (elsewhere,) = decoder().decode([Query(query.ids, index=(5,))], config)

    assert len({each.ids for each in samples}) == 6
    assert not {each.ids for each in samples} & {each.ids for each in (*others, *elsewhere)}


def test_temperature_zero_is_a_beam_of_one() -> None:
    asked = queries([3, 9, 5])
    drawn = decoder().decode(asked, DecodeConfig(temperature=0.0, max_length=8))
    searched = decoder().decode(asked, DecodeConfig(beam=1, max_length=8))

    assert [found[0].ids for found in drawn] == [found[0].ids for found in searched]
