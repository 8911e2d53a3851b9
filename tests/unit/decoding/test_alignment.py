"""Alignments from attention."""

import numpy as np
import pytest
import torch

from glassformer.decoding.alignment import (
    Link,
    Reading,
    agreement,
    alignment_error_rate,
    links,
    pharaoh,
    read_pharaoh,
    same_tokens,
    token_weights,
    word_weights,
)
from glassformer.decoding.attending import choose_layer, cross_attention
from glassformer.decoding.observe import head_means
from glassformer.decoding.targets import Target
from glassformer.errors import InputError
from glassformer.nn import EncoderDecoder, explained_attention
from tests.unit.decoding.toys import SPECIALS, toy


def model() -> EncoderDecoder:
    found = toy()
    assert isinstance(found, EncoderDecoder)
    return found


def test_weights_are_those_of_the_pass_and_know_no_padding() -> None:
    found = model()
    targets = [Target((4, 5, 6), (7, 8)), Target((9, 10, 11, 12, 2), (3,))]
    together = cross_attention(found, targets, SPECIALS)
    alone = [cross_attention(found, [target], SPECIALS)[0] for target in targets]

    for a, b, target in zip(together, alone, targets, strict=True):
        assert a.shape == (2, len(target.ids) + 1, len(target.input))
        assert np.allclose(a.sum(-1), 1)
        assert np.allclose(a, b, atol=1e-6)


def test_the_mean_is_over_heads() -> None:
    found = model()
    attention = found.decoder.blocks[0].cross_attention
    shown = []
    attention.observe = lambda q, k, v, sight, _: shown.append(explained_attention(q, k, v, sight)[1])
    with torch.no_grad(), head_means([attention]) as seen:
        found(torch.tensor([[4, 5]]), torch.tensor([[1, 6]]))

    assert torch.equal(seen[0], shown[0].mean(1))  # who looked before goes on looking
    assert attention.observe is not None


def test_slots_are_given_back() -> None:
    found = model()
    cross_attention(found, [Target((4,), (5,))], SPECIALS)

    assert all(block.cross_attention.observe is None for block in found.decoder.blocks)


def test_links_are_the_most_looked_at() -> None:
    weights = np.array([[0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])

    assert [(s, t) for s, t, _ in links(weights)] == [(1, 0), (2, 1)]
    assert [(s, t) for s, t, _ in links(weights, [0, 1])] == [(1, 0), (1, 1)]
    assert links(weights, []) == [] and links(np.zeros((0, 3))) == []


def test_words_gather_their_tokens() -> None:
    weights = np.array([[0.2, 0.2, 0.5, 0.1], [0.1, 0.1, 0.7, 0.1], [0.0, 1.0, 0.0, 0.0]])

    found = word_weights(weights, [0, 0, 1, -1], [0, 0, 1])
    assert np.allclose(found, [[0.3, 0.6], [1.0, 0.0]])


def test_pharaoh_there_and_back() -> None:
    found = [Link(2, 1, 0.5), Link(0, 0, 0.9), Link(2, 3, 0.1)]

    assert pharaoh(found) == "0-0 2-1 2-3"
    assert read_pharaoh("0-0 2-1 2-3") == {(0, 0), (2, 1), (2, 3)}
    assert read_pharaoh("") == frozenset()


@pytest.mark.parametrize("line", ["0", "0-", "-1", "a-b", "0-0,1-1"])
def test_what_is_no_alignment_is_refused(line: str) -> None:
    with pytest.raises(InputError) as error:
        read_pharaoh(line)

    assert str(error.value) == f"{line!r} is no alignment; write pairs of places such as 0-0 1-2"


def test_the_error_rate_is_that_of_och_and_ney() -> None:
    sure, possible = [frozenset({(0, 0), (1, 1)})], [frozenset({(2, 2)})]

    assert alignment_error_rate([frozenset({(0, 0), (1, 1), (2, 2)})], sure, possible) == 0
    assert alignment_error_rate([frozenset({(0, 0), (1, 2)})], sure, possible) == pytest.approx(0.5)
    assert alignment_error_rate([], [], []) == 0


def test_agreement_is_between_both_directions() -> None:
    assert agreement(np.eye(3)) == 1
    assert agreement(np.array([[0.9, 0.1], [0.8, 0.2]])) == pytest.approx(0.5)
    assert agreement(np.zeros((0, 2))) == 0


def test_same_tokens_stand_once_on_each_side() -> None:
    assert same_tokens(Target((4, 5, 5, 6, 2), (6, 5, 4))) == {(0, 2), (3, 0)}


def test_the_layer_is_the_one_that_fits_best() -> None:
    found = model()
    targets = [Target((4, 5, 6, 7), (8, 9, 10)), Target((7, 5), (3, 4, 5))]
    attention = cross_attention(found, targets, SPECIALS)
    for reading in (Reading(0), Reading(1), Reading(0, fed=True), Reading(1, fed=True)):
        gold = [frozenset((s, t) for s, t, _ in links(token_weights(each, reading))) for each in attention]
        best = choose_layer(found, targets, SPECIALS, gold)

        assert [
            frozenset((s, t) for s, t, _ in links(token_weights(each, best))) for each in attention
        ] == gold
    assert choose_layer(found, targets, SPECIALS) in (Reading(0), Reading(1))
