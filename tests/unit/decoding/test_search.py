"""Searches: what comes out, whatever is asked."""

import math
from itertools import pairwise

import pytest
import torch

from glassformer.config import DecodeConfig
from glassformer.decoding.generation import Decoder
from glassformer.decoding.hypothesis import Hypothesis, Query
from glassformer.decoding.penalties import LengthPenalty, coverage_penalty
from glassformer.decoding.search import BeamStep
from glassformer.errors import InputError
from tests.unit.decoding.toys import (
    END,
    FAMILIES,
    SPECIALS,
    START,
    decoder,
    ending,
    next_log_probabilities,
    queries,
    toy,
)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_beam_of_one_takes_the_best_token_until_the_end(family: str) -> None:
    """S1, against a loop without cache, batch or beam."""
    searcher = ending(family)
    for query, (found,) in zip(
        asked := queries([3, 5, 2]), searcher.decode(asked, DecodeConfig(beam=1, max_length=8)), strict=True
    ):
        said: list[int] = []
        while len(said) < 8:
            values = next_log_probabilities(searcher.models[0], query, tuple(said))
            for silent in SPECIALS.suppressed:
                values[silent] = -math.inf
            said.append(values.index(max(values)))
            if said[-1] == END:
                break

        assert list(found.ids) == [token for token in said if token != END]
        assert found.finished == (said[-1] == END)


@pytest.mark.parametrize(
    "config", [DecodeConfig(nbest=4), DecodeConfig(beam=6, beam_groups=3, diversity=1, nbest=6)]
)
def test_results_are_sorted_distinct_and_end_once(config: DecodeConfig) -> None:
    """S5."""
    for found in ending().decode(queries([3, 9, 1]), config):
        scores = [each.score for each in found if each.finished]

        assert len(found) == config.nbest
        assert scores == sorted(scores, reverse=True)
        assert len({each.ids for each in found}) == len(found)
        for each in found:
            assert END not in each.ids and START not in each.ids
            assert len(each.token_log_probabilities) == len(each.ids) + each.finished


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("settings", [{"beam": 1}, {"beam": 4}, {"temperature": 1.0}], ids=str)
def test_the_limit_is_kept_and_something_always_comes(family: str, settings: dict[str, object]) -> None:
    """S7: a model that never wants to end."""
    searcher = ending(family, wish=-50.0)
    config = DecodeConfig.model_validate({"max_length": 3} | settings)
    for (found,) in searcher.decode(queries([3, 5]), config):
        assert not found.finished
        assert len(found.ids) == len(found.token_log_probabilities) == found.length == 3


def test_the_limit_is_the_input_and_fifty() -> None:
    searcher = ending(wish=-50.0)
    (source,) = queries([7])

    assert searcher.limit(source, DecodeConfig(max_extra=5)) == 12
    assert searcher.limit(source, DecodeConfig()) == 48  # the model's own limit
    assert searcher.limit(source, DecodeConfig(max_length=3)) == 3
    assert searcher.decode([source], DecodeConfig(max_extra=5))[0][0].length == 12
    assert searcher.decode([source], DecodeConfig())[0][0].length == 48


def test_a_language_model_adds_so_many() -> None:
    searcher = ending("decoder-only", wish=-50.0)
    (prompt,) = queries([40])

    assert searcher.decode([prompt], DecodeConfig(max_extra=5))[0][0].length == 5
    assert searcher.decode([prompt], DecodeConfig(max_extra=50))[0][0].length == 9
    assert searcher.decode([prompt], DecodeConfig(max_extra=0))[0][0].length == 1


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            Query((4,) * 49),
            "a prompt of 49 tokens leaves no room in the 48 of max_length; shorten it",
        ),
        (
            Query((4,), prefix=(5,) * 48),
            "a prefix of 48 tokens leaves no room in the 48 of max_length; shorten it",
        ),
        (
            Query((4,), required=((5,) * 9, (6,))),
            "the required terms have 10 tokens, but the output may have 10, </s> included; "
            "require less, or set a larger max_length",
        ),
        (
            Query((4,), required=((5, 6, 7),), forbidden=((6, 7),)),
            "a required term contains a forbidden one; drop one of the two",
        ),
    ],
)
def test_what_cannot_be_is_refused(query: Query, message: str) -> None:
    family = "decoder-only" if message.startswith("a prompt") else "encoder-decoder"
    with pytest.raises(InputError) as error:
        decoder(family).decode([query], DecodeConfig(max_length=10))

    assert str(error.value) == message


def test_required_terms_and_groups_do_not_mix() -> None:
    config = DecodeConfig(beam_groups=2, diversity=1.0, nbest=2)
    with pytest.raises(InputError) as error:
        decoder().decode([Query((4,), required=((5,),))], config)

    assert str(error.value) == "required terms divide the beam themselves; set beam_groups = 1, not 2"


def test_a_beam_wider_than_the_vocabulary_is_clamped() -> None:
    """B36."""
    asked = queries([3, 6])

    assert all(found for found in ending().decode(asked, DecodeConfig(beam=100, max_length=3)))


def test_no_queries_no_answers() -> None:
    assert decoder().decode([], DecodeConfig()) == []


def test_where_everything_is_forbidden_what_there_is_must_do() -> None:
    never = tuple((token,) for token in range(17) if token not in (4, 5))
    for config in (DecodeConfig(beam=1), DecodeConfig(), DecodeConfig(temperature=1.0)):
        config = config.model_copy(update={"no_repeat_ngram": 1, "max_length": 9})
        ((found, *_),) = decoder().decode([Query((4, 5), forbidden=never)], config)

        assert set(found.ids) == {4, 5}
        assert not found.finished


def test_length_penalties_are_those_of_the_papers() -> None:
    gnmt, average = LengthPenalty(DecodeConfig()), LengthPenalty(DecodeConfig(length_penalty="average"))

    assert gnmt(7) == pytest.approx((12 / 6) ** 0.6)
    assert average(7) == pytest.approx(7**0.6)
    assert gnmt.largest(3, 9) == gnmt(9)
    assert LengthPenalty(DecodeConfig(alpha=-1)).largest(3, 9) == LengthPenalty(DecodeConfig(alpha=-1))(3)


def test_length_counts_the_end_but_neither_start_nor_prefix() -> None:
    """On a model of 3 tokens: HF#23127, #26624, sockeye#483."""
    model = toy(vocab_size=3)
    searcher = Decoder((model,), SPECIALS)  # only </s> may be said
    for prefix in ((), (1,), (0, 1, 0)):
        ((found,),) = searcher.decode([Query((1,), prefix=prefix)], DecodeConfig(beam=2, alpha=2.0))

        assert (found.ids, found.length, found.n_forced) == (prefix, 1, len(prefix))
        assert found.score == found.log_probability == found.token_log_probabilities[-1]


def test_coverage_is_a_price_for_what_was_not_looked_at() -> None:
    """Equation 14 of Wu et al.: beta times the sum of logarithms of what each source token got, at most 1."""
    asked = queries([4, 7, 2])
    plain = ending().decode(asked, DecodeConfig(beam=3, alpha=0.0, max_length=5))
    priced = ending().decode(asked, DecodeConfig(beam=3, alpha=0.0, max_length=5, coverage=0.2))

    assert coverage_penalty(torch.tensor([1.5, 0.5, 0.1]), 2.0) == pytest.approx(2 * math.log(0.05))
    for (a,), (b,) in zip(plain, priced, strict=True):
        assert a.score == pytest.approx(a.log_probability)
        assert b.score < b.log_probability
    alone = [
        ending().decode([query], DecodeConfig(beam=3, alpha=0.0, max_length=5, coverage=0.2))[0]
        for query in asked
    ]
    assert [found[0].ids for found in alone] == [found[0].ids for found in priced]
    assert [found[0].score for found in alone] == pytest.approx(
        [found[0].score for found in priced], abs=1e-4
    )


def test_groups_say_different_things() -> None:
    asked = queries([5, 3, 8])
    config = DecodeConfig(beam=4, beam_groups=4, diversity=50.0, nbest=4, max_length=6)
    for found in decoder().decode(asked, config):
        firsts = [each.ids[0] if each.ids else END for each in found]

        assert len(set(firsts)) == 4


def test_the_first_group_is_a_beam_of_its_own() -> None:
    asked = queries([5, 3, 8])
    grouped = ending().decode(
        asked, DecodeConfig(beam=6, beam_groups=2, diversity=0.5, nbest=2, max_length=6)
    )
    plain = ending().decode(asked, DecodeConfig(beam=3, max_length=6))

    for both, (one,) in zip(grouped, plain, strict=True):
        assert one.ids in [each.ids for each in both]


def test_repetition_costs() -> None:
    asked = queries([5, 3, 8, 4])
    free = decoder().decode(asked, DecodeConfig(beam=1, max_length=12))
    dear = decoder().decode(asked, DecodeConfig(beam=1, max_length=12, repetition_penalty=3.0))

    assert sum(len(set(found[0].ids)) for found in dear) > sum(len(set(found[0].ids)) for found in free)


@pytest.mark.parametrize("settings", [{"beam": 4, "nbest": 3}, {"temperature": 1.0}], ids=str)
def test_no_sequence_occurs_twice(settings: dict[str, object]) -> None:
    config = DecodeConfig.model_validate(
        {"no_repeat_ngram": 2, "max_length": 20, "min_length": 15} | settings
    )
    for found in decoder().decode(queries([4, 2]), config):
        for each in found:
            pairs = list(pairwise(each.ids))

            assert len(pairs) == len(set(pairs))


@pytest.mark.parametrize("settings", [{"beam": 1}, {"beam": 4}, {"temperature": 1.0}], ids=str)
def test_lengths_stay_within_bounds(settings: dict[str, object]) -> None:
    config = DecodeConfig.model_validate({"min_length": 4, "max_length": 6} | settings)
    for query_length in (1, 5):
        query = Query((4,) * query_length, prefix=(5, 6))
        ((found,),) = ending(wish=8.0).decode([query], config)

        assert 4 <= found.length <= 6
        assert found.ids[:2] == (5, 6)


def test_an_observer_sees_every_step_and_changes_nothing() -> None:
    steps: list[BeamStep] = []
    asked = queries([3, 5])
    config = DecodeConfig(beam=3, nbest=2, max_length=6)
    watched = ending().decode(asked, config, steps.append)

    assert watched == ending().decode(asked, config)
    assert [step.step for step in steps] == list(range(1, len(steps) + 1))
    assert sorted(steps[0].inputs) == [0, 1]
    for query, found in enumerate(watched):  # each result can be read off the log, backwards
        for each in found:
            assert _in_log(steps, query, each)


def _in_log(steps: list[BeamStep], query: int, found: Hypothesis) -> bool:
    """Whether following parents back from an end spells the hypothesis."""
    last = steps[len(found.ids)]
    row = last.inputs.index(query)
    for k in last.candidates.ends[row].nonzero()[:, 0].tolist():
        spelt, parent = [], int(last.candidates.parent[row, k])
        for step in reversed(steps[: len(found.ids)]):
            candidates, i = step.candidates, step.inputs.index(query)
            place = int(candidates.kept[i, parent])
            spelt.append(int(candidates.token[i, place]))
            parent = int(candidates.parent[i, place])
        if tuple(reversed(spelt)) == found.ids:
            return True
    return not found.finished


def test_what_is_certain_only_grows_into_the_result() -> None:
    for settings in ({"beam": 1}, {"beam": 4}, {"temperature": 0.8}):
        config = DecodeConfig.model_validate({"max_length": 8} | settings)
        run = ending().begin([Query((4, 5, 6))], config)
        known: tuple[int, ...] = ()
        while not run.done:
            run.step()
            now = run.certain(0)
            assert now.ids[: len(known)] == known or len(now.ids) < len(known)
            known = max(known, now.ids, key=len)
            assert len(now.log_probabilities) >= len(now.ids)
        best = run.results()[0][0]

        assert best.ids[: len(known)] == known
