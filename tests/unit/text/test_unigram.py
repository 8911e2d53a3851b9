"""The unigram trainer, against sums over every segmentation."""

import math
from collections.abc import Iterator

import numpy as np

from glassformer.text.unigram import _lattice, train_unigram

WORDS = {"abab": 6, "abc": 4, "ca": 3, "b": 2}
PIECES = ["a", "b", "c", "ab", "abab", "bc", "ba"]
PROBABILITY = np.array([0.2, 0.2, 0.1, 0.2, 0.1, 0.1, 0.1])


def segmentations(word: str) -> Iterator[list[int]]:
    if not word:
        yield []
    for number, piece in enumerate(PIECES):
        if word.startswith(piece):
            for rest in segmentations(word.removeprefix(piece)):
                yield [number, *rest]


def chance(segmentation: list[int]) -> float:
    return math.prod(float(PROBABILITY[number]) for number in segmentation)


def test_expected_counts_are_sums_over_all_segmentations() -> None:
    expected = [0.0] * len(PIECES)
    for word, count in WORDS.items():
        ways = list(segmentations(word))
        total = sum(map(chance, ways))
        for way in ways:
            for number in way:
                expected[number] += count * chance(way) / total
    lattice = _lattice(list(WORDS), PIECES, whole=True)

    found = lattice.expected(PROBABILITY, np.array(list(WORDS.values()), dtype=float))

    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_best_spelling_is_the_best_segmentation() -> None:
    lattice = _lattice(PIECES, PIECES, whole=False)
    best = [
        max(math.log(chance(way)) for way in segmentations(piece) if len(way) > 1 or len(piece) == 1)
        for piece in PIECES
    ]

    np.testing.assert_allclose(lattice.best(PROBABILITY), best, rtol=1e-12)


def test_a_removed_piece_leaves_no_edge() -> None:
    kept = np.array([piece != "ab" for piece in PIECES])
    lattice = _lattice(list(WORDS), PIECES, whole=True).only(kept)

    assert PIECES.index("ab") not in lattice.piece


def test_what_is_learned_is_a_distribution_over_pieces() -> None:
    words = {" the": 50, " cat": 20, " then": 10, " mat": 9, "s": 4, " x" * 40: 1}
    scores = train_unigram(words, [" ", *"theca", "n", "m", "s", "x"], size=14, min_frequency=2)

    assert len(scores) <= 14
    assert {*" thecanmsx"} <= set(scores)
    assert next(iter(scores)) == " the"
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    assert sum(map(math.exp, scores.values())) < 1.001
