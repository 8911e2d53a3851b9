"""Queries that come and go between steps are decoded as if each were alone."""

import random
from collections.abc import Sequence

import pytest

from glassformer.config import DecodeConfig
from glassformer.decoding.asked import Asked
from glassformer.decoding.continuous import RunningBatch
from glassformer.decoding.generation import Decoder
from glassformer.decoding.hypothesis import Hypothesis, Query
from glassformer.decoding.shortlist import Shortlist
from glassformer.errors import InputError
from tests.support.models import POSITIONS
from tests.unit.decoding.toys import FAMILIES, SPECIALS, decoder, ending, queries, toy

WAYS = [
    DecodeConfig(beam=1, max_extra=8),
    DecodeConfig(beam=4, nbest=3, max_extra=6),
    DecodeConfig(beam=2, alpha=1.0, length_penalty="average", no_repeat_ngram=2, max_extra=7),
    DecodeConfig(temperature=0.9, top_k=5, nbest=2, seed=3, max_extra=9),
    DecodeConfig(beam=4, beam_groups=2, diversity=0.5, nbest=2, max_extra=5),
]


def together(
    batch: RunningBatch, asked: Sequence[Asked], choose: random.Random, drop: frozenset[int] = frozenset()
) -> list[list[Hypothesis] | None]:
    """The results of queries that join at random times; some are taken out again at random times."""
    waiting = list(range(len(asked)))
    results: list[list[Hypothesis] | None] = [None] * len(asked)
    slots: dict[int, int] = {}
    while waiting or slots:
        joining = waiting[: choose.randint(0 if slots else 1, 3)]
        del waiting[: len(joining)]
        slots |= dict(zip(batch.add([asked[i] for i in joining]), joining, strict=True))
        for slot in [slot for slot, i in slots.items() if i in drop and choose.random() < 0.4]:
            batch.remove(slot)
            del slots[slot]
        for slot in batch.step():
            results[slots.pop(slot)] = batch.results(slot)
            batch.remove(slot)
    return results


def alone(decoder: Decoder, asked: Asked) -> list[Hypothesis]:
    return decoder.decode([asked.query], asked.config)[0]


def assert_same(found: list[Hypothesis] | None, expected: list[Hypothesis]) -> None:
    assert found is not None
    assert [each.ids for each in found] == [each.ids for each in expected]
    for a, b in zip(found, expected, strict=True):
        assert a.finished == b.finished
        assert a.score == pytest.approx(b.score, abs=1e-4)
        assert a.token_log_probabilities == pytest.approx(b.token_log_probabilities, abs=1e-4)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_joining_and_leaving_changes_no_result(family: str, positions: str) -> None:
    model = decoder(family, seed=1, positions=positions, max_length=24)
    choose = random.Random(5)
    asked = [Asked(query, choose.choice(WAYS)) for query in queries(choose.choices(range(1, 14), k=24))]
    dropped = frozenset({3, 4, 11, 17, 20})
    batch = RunningBatch(model)

    results = together(batch, asked, choose, dropped)

    for i, (found, each) in enumerate(zip(results, asked, strict=True)):
        if i not in dropped or found is not None:
            assert_same(found, alone(model, each))
    assert batch.n_rows == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_queries_that_end_by_themselves_make_room(family: str) -> None:
    model = ending(family, seed=2, wish=2.0)
    asked = [Asked(query, WAYS[i % 3]) for i, query in enumerate(queries([5, 2, 9, 3, 3, 12, 1, 7, 4]))]

    results = together(RunningBatch(model), asked, random.Random(1))

    for found, each in zip(results, asked, strict=True):
        assert_same(found, alone(model, each))


def test_an_ensemble_is_averaged_as_ever() -> None:
    model = Decoder((toy(seed=1), toy(seed=2)), SPECIALS)
    asked = [Asked(query, WAYS[1]) for query in queries([4, 9, 2])]

    for found, each in zip(together(RunningBatch(model), asked, random.Random(2)), asked, strict=True):
        assert_same(found, alone(model, each))


def test_a_prefix_and_required_terms_are_kept() -> None:
    model = decoder(seed=3)
    plain = queries([6, 3, 8])
    asked = [
        Asked(Query(plain[0].ids, prefix=(5, 6)), WAYS[0]),
        Asked(Query(plain[1].ids, required=((7, 8),)), DecodeConfig(beam=4, max_extra=10)),
        Asked(Query(plain[2].ids, forbidden=((3,), (4, 5))), WAYS[1]),
    ]

    for found, each in zip(together(RunningBatch(model), asked, random.Random(3)), asked, strict=True):
        assert_same(found, alone(model, each))


@pytest.mark.parametrize("config", WAYS[:2])
def test_what_is_certain_is_never_taken_back(config: DecodeConfig) -> None:
    model = decoder(seed=4)
    batch = RunningBatch(model)
    slots = batch.add([Asked(query, config) for query in queries([5, 8])])
    seen: dict[int, tuple[int, ...]] = dict.fromkeys(slots, ())
    left = set(slots)
    while left:
        left -= set(batch.step())
        for slot in slots:
            now = batch.certain(slot).ids
            assert now[: len(seen[slot])] == seen[slot]
            seen[slot] = now

    for slot in slots:
        best = batch.results(slot)[0].ids
        assert best[: len(seen[slot])] == seen[slot]


def test_a_refused_query_leaves_the_batch_as_it_was() -> None:
    model = decoder(max_length=16)
    batch = RunningBatch(model)
    first = Asked(queries([4])[0], WAYS[0])
    (slot,) = batch.add([first])
    too_much = Query((5, 6), prefix=tuple([3] * 16))

    with pytest.raises(InputError, match="leaves no room"):
        batch.add([Asked(queries([3])[0], WAYS[0]), Asked(too_much, WAYS[0])])

    while slot not in batch.step():
        pass
    assert_same(batch.results(slot), alone(model, first))
    assert batch.n_rows == 0


def test_a_shortlist_is_kept_by_each_query() -> None:
    model = toy(seed=6)
    pairs = [(source, 2 + (source * step) % 15) for source in range(17) for step in (1, 2, 3)]
    shortlist = Shortlist.build(pairs, 17, per_source=2, frequent=3)
    listed = Decoder((model,), SPECIALS, shortlist)
    asked = [Asked(query, WAYS[i % 4]) for i, query in enumerate(queries([3, 8, 5, 2, 6]))]

    for found, each in zip(together(RunningBatch(listed), asked, random.Random(4)), asked, strict=True):
        assert_same(found, alone(listed, each))
