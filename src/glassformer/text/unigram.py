"""The unigram language model of pieces (Kudo 2018), trained by expectation maximisation.

Every substring of a word that occurs often enough is a piece at first. Two rounds of EM estimate how probable
the pieces are; then those whose loss costs the corpus the least likelihood go, a quarter at a time, until the
wanted number is left. All words are computed at once, position by position: sums have one order, one result.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

MAX_PIECE_LENGTH = 16
_MAX_WORDS = 100_000  # the most frequent ones; rarer words hardly move a probability
_MAX_WORD_LENGTH = 24  # longer words are cut, so that a product of probabilities does not vanish
_SEEDS_PER_PIECE = 10
_KEPT_PER_ROUND = 0.75
_EM_ROUNDS = 2
_LEAST = 1e-9  # the probability of a character that better pieces made superfluous

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def train_unigram(
    words: Mapping[str, int], alphabet: Sequence[str], *, size: int, min_frequency: int
) -> dict[str, float]:
    """Log-probabilities of at most ``size`` pieces, best first; every character of the alphabet is one."""
    counted = _trainable(words, set(alphabet))
    seeds = _seeds(counted, limit=size * _SEEDS_PER_PIECE, min_frequency=min_frequency)
    pieces = sorted(alphabet) + seeds
    kept = np.ones(len(pieces), dtype=bool)
    required = np.arange(len(pieces)) < len(alphabet)
    corpus = _lattice(list(counted), pieces, whole=True)
    spelling = _lattice(pieces, pieces, whole=False)
    counts = np.array(list(counted.values()), dtype=np.float64)
    probability = np.full(len(pieces), 1 / len(pieces))
    while True:
        for _ in range(_EM_ROUNDS):
            expected = np.where(kept, corpus.expected(probability, counts), 0.0)
            probability = np.where(kept, np.maximum(expected / max(expected.sum(), 1.0), _LEAST), 0.0)
        if kept.sum() <= size:
            break
        loss = expected * (np.log(np.maximum(probability, _LEAST)) - spelling.best(probability))
        loss[required] = np.inf
        loss[~kept] = -np.inf
        n_left = max(size, int(kept.sum() * _KEPT_PER_ROUND))
        kept = np.zeros(len(pieces), dtype=bool)
        kept[np.argsort(-loss, kind="stable")[:n_left]] = True
        probability = np.where(kept, probability, 0.0)
        corpus, spelling = corpus.only(kept), spelling.only(kept)
    useful = kept & (required | (expected >= 0.5))
    scores = [
        (round(float(np.log(probability[place])), 6), pieces[place]) for place in np.flatnonzero(useful)
    ]
    return {piece: score for score, piece in sorted(scores, key=lambda item: (-item[0], item[1]))}


def _trainable(words: Mapping[str, int], alphabet: set[str]) -> dict[str, int]:
    """The words to train on, cut where a character is unknown and where they are too long."""
    counted: Counter[str] = Counter()
    for word, count in words.items():
        known = "".join(char if char in alphabet else "\0" for char in word)
        for part in known.split("\0"):
            for start in range(0, len(part), _MAX_WORD_LENGTH):
                counted[part[start : start + _MAX_WORD_LENGTH]] += count
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[:_MAX_WORDS])


def _seeds(counted: Mapping[str, int], *, limit: int, min_frequency: int) -> list[str]:
    """Substrings that occur often enough, those that cover most text first."""
    found: Counter[str] = Counter()
    for word, count in counted.items():
        for start, stop in _spans(len(word), least=2):
            found[word[start:stop]] += count
    often = [(count * len(piece), piece) for piece, count in found.items() if count >= min_frequency]
    often.sort(key=lambda item: (-item[0], item[1]))
    return [piece for _, piece in often[:limit]]


def _spans(length: int, *, least: int) -> Iterable[tuple[int, int]]:
    for start in range(length):
        for stop in range(start + least, min(start + MAX_PIECE_LENGTH, length) + 1):
            yield start, stop


@dataclass(frozen=True)
class _Lattice:
    """Every way to write words as pieces: an edge for each piece at each place, sorted by where it ends."""

    word: Ints
    start: Ints  # number of the node before the piece, counted over all words
    stop: Ints
    piece: Ints
    place: Ints  # how far into its word the piece ends
    first: Ints  # the node each word begins with
    last: Ints

    def only(self, kept: NDArray[np.bool_]) -> "_Lattice":
        """The lattice without the pieces that went."""
        stays = kept[self.piece]
        return replace(
            self,
            word=self.word[stays],
            start=self.start[stays],
            stop=self.stop[stays],
            piece=self.piece[stays],
            place=self.place[stays],
        )

    def expected(self, probability: Floats, counts: Floats) -> Floats:
        """How often each piece is used, over all ways to write all words."""
        forward = np.zeros(int(self.last[-1]) + 1)
        backward = np.zeros_like(forward)
        forward[self.first] = 1.0
        backward[self.last] = 1.0
        chance = probability[self.piece]
        steps = self._steps()
        for step in steps:
            np.add.at(forward, self.stop[step], forward[self.start[step]] * chance[step])
        # Backwards, an edge waits for all that comes after it: the order of starts, not that of ends.
        order = np.argsort(-(self.start - self.first[self.word]), kind="stable")
        begins = (self.start - self.first[self.word])[order]
        for step in np.split(order, np.flatnonzero(np.diff(begins)) + 1):
            np.add.at(backward, self.start[step], backward[self.stop[step]] * chance[step])
        total = np.maximum(forward[self.last], np.finfo(np.float64).tiny)
        share = forward[self.start] * chance * backward[self.stop] / total[self.word]
        used: Floats = np.bincount(self.piece, share * counts[self.word], len(probability)).astype(np.float64)
        return used

    def best(self, probability: Floats) -> Floats:
        """The log-probability of the best way to write each word."""
        forward = np.full(int(self.last[-1]) + 1, -np.inf)
        forward[self.first] = 0.0
        score = np.log(np.maximum(probability[self.piece], _LEAST))
        for step in self._steps():
            np.maximum.at(forward, self.stop[step], forward[self.start[step]] + score[step])
        return forward[self.last]

    def _steps(self) -> list[Ints]:
        cuts = np.flatnonzero(np.diff(self.place)) + 1
        return np.split(np.arange(len(self.place)), cuts)


def _lattice(words: Sequence[str], pieces: Sequence[str], *, whole: bool) -> _Lattice:
    """The lattice of these words; without ``whole`` no word is one piece, unless it is one character."""
    number = {piece: place for place, piece in enumerate(pieces)}
    lengths = np.array([len(word) for word in words])
    last = np.cumsum(lengths + 1) - 1
    first = last - lengths
    edges = array("q")  # numbers alone, since there are millions of them
    for place, word in enumerate(words):
        for start, stop in _spans(len(word), least=1):
            found = number.get(word[start:stop])
            if found is not None and (whole or stop - start < len(word) or len(word) == 1):
                edges.extend((place, start, stop, found))
    table = np.frombuffer(edges, dtype=np.int64).reshape(-1, 4)
    which, begin, end, piece = table[np.argsort(table[:, 2], kind="stable")].T
    return _Lattice(which, first[which] + begin, first[which] + end, piece, end, first, last)
