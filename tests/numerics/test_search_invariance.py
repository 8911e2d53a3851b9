"""What a sentence gets depends on that sentence alone, and what decoding says of it is what scoring says."""

import random

import pytest
import torch

from glassformer.config import DecodeConfig
from glassformer.decoding.generation import Decoder
from glassformer.decoding.hypothesis import Hypothesis, Query
from glassformer.decoding.scoring import Target, score_targets
from glassformer.decoding.step import Stepper
from tests.support.models import POSITIONS
from tests.unit.decoding.toys import FAMILIES, SPECIALS, assert_rescored, decoder, ending, queries, toy

WAYS = {
    "greedy": DecodeConfig(beam=1, max_length=8),
    "beam": DecodeConfig(beam=5, nbest=3, max_length=8),
    "average": DecodeConfig(beam=4, alpha=1.0, length_penalty="average", max_length=8),
    "no penalty": DecodeConfig(beam=4, alpha=0.0, max_length=8),
    "groups": DecodeConfig(beam=4, beam_groups=2, nbest=2, diversity=0.7, max_length=8),
    "less repetition": DecodeConfig(repetition_penalty=1.3, no_repeat_ngram=2, max_length=8),
    "sampling": DecodeConfig(temperature=0.9, top_p=0.9, nbest=2, seed=3, max_length=8),
}
SENTENCES = 32


def talkative(family: str) -> Decoder:
    """A random model whose outputs end at many lengths."""
    return ending(family, seed=1, wish=0.5)


def sentences() -> list[Query]:
    lengths = random.Random(0)
    return queries(lengths.randint(1, 20) for _ in range(SENTENCES))


def batched(searcher: Decoder, asked: list[Query], config: DecodeConfig, size: int) -> list[list[Hypothesis]]:
    """In batches of this many, whatever their lengths: padding as bad as it gets."""
    results: list[list[Hypothesis]] = []
    for at in range(0, len(asked), size):
        run = searcher.begin(asked[at : at + size], config)
        while not run.done:
            run.step()
        results += run.results()
    return results


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("way", WAYS)
def test_the_batch_does_not_change_the_answer(family: str, way: str) -> None:
    """P9, S4, S11: batches of 1, 2, 7 and 32, in any order; near-ties are counted and listed."""
    searcher, asked, config = talkative(family), sentences(), WAYS[way]
    alone = batched(searcher, asked, config, 1)
    order = random.Random(1).sample(range(SENTENCES), SENTENCES)
    ties = []
    for size in (2, 7, SENTENCES):
        shuffled = batched(searcher, [asked[i] for i in order], config, size)
        for i, found in zip(order, shuffled, strict=True):
            if [each.ids for each in found] != [each.ids for each in alone[i]]:
                ties.append((size, i, found, alone[i]))
            else:
                for a, b in zip(found, alone[i], strict=True):
                    assert abs(a.score - b.score) <= 1e-4
    print(f"{family}, {way}: {len(ties)} near-ties {[tie[:2] for tie in ties]}")

    assert len(ties) <= 2


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("way", WAYS)
def test_a_score_is_what_scoring_gives(family: str, way: str) -> None:
    """P10, S3: all hypotheses of all sentences, to 1e-5."""
    searcher, asked = talkative(family), sentences()

    for query, found in zip(asked, searcher.decode(asked, WAYS[way]), strict=True):
        assert_rescored(searcher.models[0], query, found)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("way", ["greedy", "beam", "sampling"])
def test_a_score_after_a_prefix_is_what_scoring_gives(family: str, way: str) -> None:
    searcher = talkative(family)
    asked = [
        Query(query.ids, prefix=tuple(range(4, 4 + i % 5)), index=query.index)
        for i, query in enumerate(sentences())
    ]
    for query, found in zip(asked, searcher.decode(asked, WAYS[way]), strict=True):
        assert_rescored(searcher.models[0], query, found)
        assert all(each.ids[: len(query.prefix)] == query.prefix for each in found)
        assert all(each.n_forced == len(query.prefix) for each in found)


@pytest.mark.parametrize("positions", POSITIONS)
def test_prompts_of_unequal_length_are_as_if_alone(positions: str) -> None:
    searcher = decoder("decoder-only", positions=positions)
    asked = queries([1, 9, 4, 2])
    config = DecodeConfig(beam=3, max_length=6)

    together = batched(searcher, asked, config, 4)
    alone = batched(searcher, asked, config, 1)
    assert [[each.ids for each in found] for found in together] == [
        [each.ids for each in found] for found in alone
    ]


def test_a_short_prompt_keeps_all_its_room_beside_a_long_one() -> None:
    """Padding must not use up the positions that a short prompt may still need."""
    searcher = decoder("decoder-only", max_length=16)
    asked = queries([2, 12])
    config = DecodeConfig(beam=1, max_extra=50, min_length=50)
    short, long = searcher.decode(asked, config)

    assert (short[0].length, long[0].length) == (15, 5)
    alone = [searcher.decode([query], config)[0] for query in asked]
    assert [each[0].ids for each in (short, long)] == [each[0].ids for each in alone]
    assert [each[0].score for each in (short, long)] == pytest.approx(
        [each[0].score for each in alone], abs=1e-5
    )


def test_padding_changes_no_logits() -> None:
    model = toy()
    short, long = queries([3, 20])
    alone, together = Stepper([model], SPECIALS), Stepper([model], SPECIALS)
    a, b = alone.start([short]), together.start([short, long])
    for token in (5, 6, 7):
        difference = alone.log_probabilities(a) - together.log_probabilities(b)[:1]
        a, b = torch.tensor([token]), torch.tensor([token, token])

        assert difference.abs().max() <= 1e-5


def test_the_trainer_gets_its_model_back_as_it_was() -> None:
    searcher = decoder(dropout=0.5)
    model = searcher.models[0]
    expected = searcher.decode(queries([3]), DecodeConfig(max_length=5))
    model.train()
    torch.manual_seed(0)
    asked = queries([3])

    assert searcher.decode(asked, DecodeConfig(max_length=5)) == searcher.decode(
        asked, DecodeConfig(max_length=5)
    )
    assert score_targets([model], [Target((4, 5), (6,))], SPECIALS) == score_targets(
        [model], [Target((4, 5), (6,))], SPECIALS
    )
    assert model.training and expected
