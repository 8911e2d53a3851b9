"""The one step: cached and batched, it gives what a full pass gives."""

import pytest
import torch

from glassformer.decoding.hypothesis import Query
from glassformer.decoding.step import Stepper
from glassformer.errors import InputError
from tests.unit.decoding.toys import FAMILIES, SPECIALS, Ids, next_log_probabilities, queries, toy


@pytest.mark.parametrize("family", FAMILIES)
def test_every_step_is_a_full_pass(family: str) -> None:
    """M8: also after rows have been reordered, dropped and multiplied."""
    model = toy(family)
    asked = queries([3, 5, 1])
    stepper = Stepper([model], SPECIALS)
    last = stepper.start(asked)
    stepper.keep(torch.tensor([2, 0, 0]))
    last = last[[2, 0, 0]]
    rows: list[tuple[Query, Ids]] = [(asked[2], ()), (asked[0], ()), (asked[0], ())]
    for tokens, order in [((4, 5, 6), [0, 2, 1]), ((7, 8, 9), [0, 1, 1]), ((4, 4, 5), [1, 2])]:
        found = stepper.log_probabilities(last)
        for row, (query, said) in zip(found, rows, strict=True):
            assert torch.allclose(
                row.double(), torch.tensor(next_log_probabilities(model, query, said)).double(), atol=1e-5
            )
        rows = [(query, (*said, token)) for (query, said), token in zip(rows, tokens, strict=True)]
        rows, last = [rows[i] for i in order], torch.tensor(tokens)[order]
        (stepper.keep if len(order) < 3 else stepper.continue_from)(torch.tensor(order))


@pytest.mark.parametrize("family", FAMILIES)
def test_an_ensemble_is_the_mean_of_probabilities(family: str) -> None:
    models = [toy(family, seed) for seed in (1, 2)]
    asked = queries([4, 2])
    steppers = [Stepper([model], SPECIALS) for model in models]
    singles = [stepper.log_probabilities(stepper.start(asked)) for stepper in steppers]
    both = Stepper(models, SPECIALS)

    together = both.log_probabilities(both.start(asked))
    assert torch.allclose(together.exp(), (singles[0].exp() + singles[1].exp()) / 2, atol=1e-6)


def test_an_ensemble_of_one_model_twice_is_that_model() -> None:
    model, asked = toy(), queries([4])
    once, twice = Stepper([model], SPECIALS), Stepper([model, model], SPECIALS)

    assert torch.allclose(
        once.log_probabilities(once.start(asked)), twice.log_probabilities(twice.start(asked)), atol=1e-6
    )


def test_an_ensemble_needs_models_that_are_alike() -> None:
    with pytest.raises(InputError) as error:
        Stepper([toy(), toy(vocab_size=19)], SPECIALS)

    assert str(error.value) == (
        "the models of an ensemble must be alike in family and vocabulary; "
        'given: "encoder-decoder" of 17 ids and "encoder-decoder" of 19 ids'
    )


def test_attention_is_watched_only_when_asked() -> None:
    model, asked = toy(), queries([4, 2])
    blind, watching = Stepper([model], SPECIALS), Stepper([model], SPECIALS, watch=True)
    unseen = blind.log_probabilities(blind.start(asked))
    seen = watching.log_probabilities(watching.start(asked))

    assert blind.attention is None
    assert watching.attention is not None and watching.attention.shape == (2, 4)
    assert torch.allclose(watching.attention.sum(1), torch.ones(2))
    assert watching.attention[1, 2:].abs().max() == 0  # padding is not looked at
    assert torch.equal(unseen, seen)


def test_a_language_model_has_nothing_to_cover() -> None:
    with pytest.raises(InputError) as error:
        Stepper([toy("decoder-only")], SPECIALS, watch=True)

    assert str(error.value) == "a decoder-only model has no source to cover; set coverage = 0"


def test_memory_is_not_copied_when_beams_are_reordered() -> None:
    stepper = Stepper([toy()], SPECIALS)
    last = stepper.start([Query((4, 5))])
    stepper.keep(torch.zeros(3, dtype=torch.long))
    stepper.log_probabilities(last.repeat(3))
    before = stepper._members[0].cache.memory[0].keys.data_ptr()
    stepper.continue_from(torch.tensor([2, 0, 1]))

    assert stepper._members[0].cache.memory[0].keys.data_ptr() == before
