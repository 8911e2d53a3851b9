"""In float64 the score of a long output is its re-score to many digits: what float32 shows is rounding."""

from copy import deepcopy

import pytest

from glassformer.config import DecodeConfig
from glassformer.decoding.generation import Decoder
from glassformer.decoding.hypothesis import Query
from glassformer.decoding.scoring import Target, score_targets
from tests.unit.decoding.toys import FAMILIES, SPECIALS, decoder, queries

WAYS = {
    "greedy": DecodeConfig(beam=1, min_length=100, max_extra=100),
    "beam": DecodeConfig(beam=4, min_length=100, max_extra=100),
    "prefix": DecodeConfig(beam=3, min_length=100, max_extra=100),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("way", WAYS)
def test_the_score_of_a_long_output(family: str, way: str) -> None:
    searcher = decoder(family, max_length=160)
    exact = Decoder(tuple(deepcopy(model).double() for model in searcher.models), SPECIALS)
    prefix = (5, 6, 7) if way == "prefix" else ()
    asked = [Query(query.ids, prefix=prefix, index=query.index) for query in queries([3, 17, 9])]
    for query, found in zip(asked, exact.decode(asked, WAYS[way]), strict=True):
        best = found[0]
        target = Target(query.ids, best.ids, finished=best.finished, n_forced=best.n_forced)
        (score,) = score_targets(exact.models, [target], SPECIALS)

        assert best.length >= 80
        assert abs(best.log_probability - score.log_probability) <= 1e-9
