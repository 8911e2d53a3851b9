"""Beam search of the engine against searches that cut nothing short: no early end, and every output."""

import pytest

from glassformer.config import DecodeConfig
from glassformer.decoding.generation import Decoder
from tests.engine.native import native_of, needs_library
from tests.unit.decoding.toys import (
    FAMILIES,
    FOUR,
    decoder,
    ending,
    enumerate_best,
    queries,
    slow_beam,
    toy,
)

pytestmark = needs_library

PENALTIES = pytest.mark.parametrize(
    "penalty",
    [{"alpha": 0.0}, {"alpha": 0.6}, {"alpha": 2.0}, {"alpha": 1.0, "length_penalty": "average"}],
    ids=str,
)


@PENALTIES
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("wish", [0.0, 3.0])
def test_ending_early_and_dropping_the_hopeless_change_nothing(
    penalty: dict[str, float | str], family: str, wish: float
) -> None:
    """A hypothesis is dropped, and a search ended, only where nothing better could have come."""
    limit = 7
    pytorch = ending(family, seed=2, wish=wish) if wish else decoder(family, seed=2)
    config = DecodeConfig.model_validate({"beam": 3, "nbest": 2, "max_length": limit, **penalty})
    asked = queries([3, 1, 6])
    for query, found in zip(asked, native_of(pytorch).decode(asked, config), strict=True):
        expected = slow_beam(pytorch.models[0], query, config, limit)
        finished = [each for each in found if each.finished]

        assert [each.ids for each in finished] == [ids for ids, _ in expected]
        assert all(abs(a.score - score) <= 1e-5 for a, (_, score) in zip(finished, expected, strict=True))


@PENALTIES
def test_a_wide_beam_finds_the_best_of_all_outputs(penalty: dict[str, float | str]) -> None:
    limit = 4
    model = toy(seed=3, vocab_size=4)
    config = DecodeConfig.model_validate({"beam": 3**limit, "max_length": limit, **penalty})
    (query,) = queries([3])
    query = type(query)(tuple(id_ % 4 for id_ in query.ids))
    ((found,),) = native_of(Decoder((model,), FOUR)).decode([query], config)
    (ids, score), *_ = enumerate_best(model, query, config, FOUR, limit)

    assert found.ids == ids
    assert abs(found.score - score) <= 1e-5
