"""Terms that an output has to contain are contained in it."""

import random

import pytest

from glassformer.config import DecodeConfig
from glassformer.decoding.hypothesis import Query
from glassformer.decoding.required import Progress
from glassformer.errors import InputError
from tests.unit.decoding.toys import SPECIALS, Ids, assert_rescored, decoder, ending, queries


def contains(ids: Ids, term: Ids) -> bool:
    return any(ids[at : at + len(term)] == term for at in range(len(ids)))


@pytest.mark.parametrize("beam", [1, 2, 5, 12])
def test_every_term_is_met(beam: int) -> None:
    draw = random.Random(beam)
    asked = [
        Query(
            query.ids,
            required=tuple(
                tuple(draw.sample(range(3, 17), draw.randint(1, 3))) for _ in range(draw.randint(1, 3))
            ),
            index=query.index,
        )
        for query in queries(draw.randint(1, 9) for _ in range(12))
    ]
    for query, found in zip(asked, ending(wish=3.0).decode(asked, DecodeConfig(beam=beam)), strict=True):
        for each in found:
            assert all(contains(each.ids, term) for term in query.required)


def test_neighbours_without_terms_are_left_alone() -> None:
    asked = queries([5, 3, 8])
    config = DecodeConfig(beam=4, nbest=2, max_length=9)
    mixed = [asked[0], Query(asked[1].ids, required=((7, 8),)), asked[2]]
    together, alone = decoder().decode(mixed, config), decoder().decode(asked, config)

    assert [together[0], together[2]] == [alone[0], alone[2]]
    assert all(contains(each.ids, (7, 8)) for each in together[1] if each.finished)


def test_terms_cost_what_the_model_says() -> None:
    searcher = decoder()
    query = Query((4, 5, 6), required=((7, 8), (9,)))
    (found,) = searcher.decode([query], DecodeConfig(beam=4, nbest=2, max_length=9))

    assert_rescored(searcher.models[0], query, found)


def test_a_term_that_is_said_anyway_costs_nothing() -> None:
    searcher = decoder()
    query = Query((4, 5, 6))
    config = DecodeConfig(beam=8, min_length=5, max_length=6)
    ((free,),) = searcher.decode([query], config)
    term = free.ids[:2]
    ((bound,),) = searcher.decode([Query(query.ids, required=(term,))], config)

    assert contains(bound.ids, term)


def test_a_prefix_may_contain_a_term() -> None:
    ((found,),) = decoder().decode(
        [Query((4,), prefix=(7, 8), required=((8, 9),))], DecodeConfig(max_length=9)
    )

    assert found.ids[:2] == (7, 8)
    assert contains(found.ids, (8, 9))


def test_terms_are_not_drawn() -> None:
    with pytest.raises(InputError) as error:
        decoder().decode([Query((4,), required=((5,),))], DecodeConfig(temperature=1.0))

    assert str(error.value) == "required terms are searched for, not drawn; leave temperature unset"


@pytest.mark.parametrize(
    ("terms", "said", "unmet", "begun"),
    [
        (((5,),), (5,), (), ()),
        (((5, 6),), (5,), ((5, 6),), (5,)),
        (((5, 6),), (5, 7), ((5, 6),), ()),
        (((5, 5, 6),), (5, 5, 5), ((5, 5, 6),), (5, 5)),  # broken off and begun again at once
        (((5, 5, 6),), (5, 5, 5, 6), (), ()),
        (((5,), (5, 6)), (5, 6), (), ()),  # one term inside another
        (((7, 5, 8), (5,)), (7, 5), ((7, 5, 8),), (7, 5)),
        (((7, 5, 8), (5, 6)), (7, 5, 6), ((7, 5, 8),), ()),
    ],
)
def test_progress_follows_what_is_said(
    terms: tuple[Ids, ...], said: Ids, unmet: tuple[Ids, ...], begun: Ids
) -> None:
    progress = Progress(terms)
    for token in said:
        progress = progress.after(token)

    assert (progress.unmet, progress.begun) == (unmet, begun)


def test_wanted_are_beginnings_and_continuations() -> None:
    progress = Progress(((5, 6, 7), (6, 8), (9,))).after(5).after(6)

    assert progress.wanted() == {7, 8, 5, 6, 9}
    assert progress.missing == 4


def test_suppressed_tokens_are_no_terms() -> None:
    """A term that may never be said leaves the search unfinished, not endless."""
    ((found,),) = decoder().decode([Query((4,), required=((SPECIALS.pad,),))], DecodeConfig(max_length=5))

    assert not found.finished
