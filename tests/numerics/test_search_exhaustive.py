"""Beam search against every output there is, and against a textbook's beam search."""

from itertools import pairwise

import pytest

from glassformer.config import DecodeConfig
from glassformer.decoding.generation import Decoder
from glassformer.decoding.hypothesis import Query
from tests.unit.decoding.toys import (
    FAMILIES,
    FOUR,
    Ids,
    ending,
    enumerate_best,
    log_probability,
    queries,
    slow_beam,
    toy,
)

LIMIT = 4
EVERYTHING = 4**LIMIT
PENALTIES = [
    {"alpha": 0.0},
    {"alpha": 0.6},
    {"alpha": 1.0, "length_penalty": "average"},
    {"alpha": -0.5},
    {"alpha": 2.0},
]


def four_words(family: str, seed: int) -> tuple[Decoder, list[Query]]:
    """A model of four words, one of which is </s>."""
    model = toy(family, seed, vocab_size=4)
    return Decoder((model,), FOUR), [Query((2, 3, 1)), Query((3,)), Query((2, 2, 3, 2, 1))]


def ranked(found: list[tuple[Ids, float]]) -> tuple[list[Ids], list[float]]:
    return [ids for ids, _ in found], [score for _, score in found]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("settings", PENALTIES, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_the_widest_beam_finds_all_there_is_in_order(
    family: str, settings: dict[str, object], seed: int
) -> None:
    """S2: V = 4, L = 4; the n-best list is the whole enumeration."""
    searcher, asked = four_words(family, seed)
    config = DecodeConfig.model_validate({"beam": EVERYTHING, "nbest": 40, "max_length": LIMIT} | settings)

    for query, found in zip(asked, searcher.decode(asked, config), strict=True):
        expected, scores = ranked(enumerate_best(searcher.models[0], query, config, FOUR, LIMIT))

        assert [each.ids for each in found] == expected
        assert [each.score for each in found] == pytest.approx(scores, abs=1e-5)
        assert all(each.finished for each in found)


@pytest.mark.parametrize("settings", PENALTIES, ids=str)
def test_stopping_early_loses_nothing(settings: dict[str, object]) -> None:
    searcher, asked = four_words("encoder-decoder", 5)
    config = DecodeConfig.model_validate({"beam": EVERYTHING, "max_length": LIMIT} | settings)

    for query, (best,) in zip(asked, searcher.decode(asked, config), strict=True):
        assert best.ids == enumerate_best(searcher.models[0], query, config, FOUR, LIMIT)[0][0]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("settings", [*PENALTIES, {"beam": 2}, {"beam": 7, "nbest": 5}], ids=str)
def test_a_beam_is_that_of_the_textbook(family: str, settings: dict[str, object]) -> None:
    """No cache, no batch, no early end in the twin: whatever these change would show."""
    searcher = ending(family, seed=3)  # ends come up at many lengths
    asked = queries([4, 2, 9])
    config = DecodeConfig.model_validate({"beam": 4, "nbest": 2, "max_length": 6} | settings)

    for query, found in zip(asked, searcher.decode(asked, config), strict=True):
        expected, scores = ranked(slow_beam(searcher.models[0], query, config, 6))

        assert [each.ids for each in found if each.finished] == expected
        assert [each.score for each in found if each.finished] == pytest.approx(scores, abs=1e-4)


def test_constraints_leave_the_best_of_what_they_allow() -> None:
    searcher, _ = four_words("encoder-decoder", 7)
    query = Query((2, 3, 1))
    every = enumerate_best(searcher.models[0], query, DecodeConfig(), FOUR, LIMIT)
    wide = {"beam": EVERYTHING, "nbest": 40, "max_length": LIMIT}
    cases: list[tuple[dict[str, object], Query, list[Ids]]] = [
        ({"min_length": 3}, query, [ids for ids, _ in every if len(ids) >= 2]),
        ({"no_repeat_ngram": 1}, query, [ids for ids, _ in every if len(set(ids)) == len(ids)]),
        (
            {"no_repeat_ngram": 2},
            query,
            [ids for ids, _ in every if len({*pairwise(ids)}) == max(len(ids) - 1, 0)],
        ),
        ({}, Query((2, 3, 1), forbidden=((2,),)), [ids for ids, _ in every if 2 not in ids]),
        ({}, Query((2, 3, 1), forbidden=((0, 3),)), [ids for ids, _ in every if not has(ids, (0, 3))]),
        ({}, Query((2, 3, 1), required=((3,), (0,))), [ids for ids, _ in every if {0, 3} <= set(ids)]),
        ({}, Query((2, 3, 1), required=((3, 0),)), [ids for ids, _ in every if has(ids, (3, 0))]),
    ]
    for settings, asked, expected in cases:
        (found,) = searcher.decode([asked], DecodeConfig.model_validate(wide | settings))

        assert [each.ids for each in found if each.finished] == expected


def test_a_prefix_leaves_the_best_that_begin_with_it() -> None:
    searcher, _ = four_words("encoder-decoder", 8)
    query = Query((2, 3, 1), prefix=(3, 0))
    config = DecodeConfig(beam=EVERYTHING, nbest=13, max_length=3)
    expected, scores = ranked(enumerate_best(searcher.models[0], query, config, FOUR, 3))
    (found,) = searcher.decode([query], config)

    assert [each.ids for each in found] == expected
    assert [each.score for each in found] == pytest.approx(scores, abs=1e-5)
    assert {each.n_forced for each in found} == {2}
    assert [each.log_probability for each in found] == pytest.approx(
        [log_probability(searcher.models[0], query, ids, FOUR) for ids in expected], abs=1e-5
    )


def test_wider_beams_do_no_worse_here() -> None:
    """S6: no theorem, but so on these models; the widest is the optimum, which is one."""
    for seed in range(4):
        searcher, asked = four_words("encoder-decoder", seed)
        best = [
            [each[0].score for each in searcher.decode(asked, DecodeConfig(beam=beam, max_length=LIMIT))]
            for beam in (4, 16, 64, 256)
        ]
        for narrow, wide in pairwise(best):
            assert all(b >= a - 1e-5 for a, b in zip(narrow, wide, strict=True))


def has(ids: Ids, part: Ids) -> bool:
    return any(ids[at : at + len(part)] == part for at in range(len(ids)))
