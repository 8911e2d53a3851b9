"""Scores of given outputs: by token, by word and as a whole."""

import math

import pytest

from glassformer.decoding.scoring import (
    Target,
    TargetScore,
    perplexity,
    score_targets,
    word_log_probabilities,
)
from tests.unit.decoding.toys import END, FAMILIES, SPECIALS, next_log_probabilities, queries, toy


@pytest.mark.parametrize("family", FAMILIES)
def test_each_token_has_the_log_probability_of_its_step(family: str) -> None:
    model = toy(family)
    asked, outputs = queries([3, 7, 1]), [(4, 5, 6), (), (7, 8, 9, 10)]
    targets = [Target(query.ids, ids) for query, ids in zip(asked, outputs, strict=True)]
    for query, ids, score in zip(asked, outputs, score_targets([model], targets, SPECIALS), strict=True):
        expected = [
            next_log_probabilities(model, query, ids[:at])[token] for at, token in enumerate((*ids, END))
        ]

        assert score.token_log_probabilities == pytest.approx(expected, abs=1e-5)
        assert score.log_probability == pytest.approx(sum(expected), abs=1e-5)


def test_order_batches_and_neighbours_do_not_matter() -> None:
    model = toy()
    targets = [Target(query.ids, query.ids[: i % 4]) for i, query in enumerate(queries([9, 2, 5, 1, 7, 3]))]
    together = score_targets([model], targets, SPECIALS)
    one_by_one = score_targets([model], targets, SPECIALS, batch_tokens=1)

    assert [score.log_probability for score in together] == pytest.approx(
        [score.log_probability for score in one_by_one], abs=1e-5
    )


def test_an_unfinished_output_has_no_end_and_a_prefix_does_not_count() -> None:
    model = toy()
    whole, cut, given = score_targets(
        [model],
        [Target((4, 5), (6, 7)), Target((4, 5), (6, 7), finished=False), Target((4, 5), (6, 7), n_forced=1)],
        SPECIALS,
    )

    assert cut.token_log_probabilities == pytest.approx(whole.token_log_probabilities[:2])
    assert given.log_probability == pytest.approx(sum(whole.token_log_probabilities[1:]))


def test_an_ensemble_is_scored_as_it_decodes() -> None:
    models = [toy(seed=1), toy(seed=2)]
    target = Target((4, 5), (6,))
    (both,) = score_targets(models, [target], SPECIALS)
    singles = [score_targets([model], [target], SPECIALS)[0].token_log_probabilities for model in models]

    assert [math.exp(value) for value in both.token_log_probabilities] == pytest.approx(
        [(math.exp(a) + math.exp(b)) / 2 for a, b in zip(*singles, strict=True)]
    )


def test_perplexity_is_over_tokens_not_over_sentences() -> None:
    scores = [TargetScore((math.log(0.5),) * 3), TargetScore((math.log(0.125),))]

    assert perplexity(scores) == pytest.approx(2 ** (6 / 4))
    assert scores[0].perplexity == pytest.approx(2)
    assert perplexity([]) == math.inf
    assert TargetScore((-1e5,)).perplexity == math.inf


def test_words_are_sums_of_their_tokens() -> None:
    assert word_log_probabilities([-1.0, -2.0, -4.0, -8.0], [0, 0, 1, None]) == [-3.0, -4.0]
    assert word_log_probabilities([], []) == []
