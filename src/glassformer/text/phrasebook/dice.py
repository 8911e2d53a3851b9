"""The one source of chance: a seeded generator with the vocabulary of a level."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from glassformer.text.phrasebook.entries import Noun
from glassformer.text.phrasebook.lexicon import Choices, Lexicon

T = TypeVar("T")


class Dice:
    """Draws words and numbers the links between them; the same seed always gives the same draws."""

    def __init__(self, rng: Random, lexicon: Lexicon, simple: bool) -> None:
        self.rng = rng
        self.lexicon = lexicon
        self.simple = simple
        self._links = 0

    def link(self) -> int:
        """A fresh link, for one piece of meaning."""
        self._links += 1
        return self._links

    def chance(self, probability: float) -> bool:
        """True so often."""
        return self.rng.random() < probability

    def pick(self, choices: Sequence[T]) -> T:
        """One of these, all alike."""
        return choices[int(self.rng.random() * len(choices))]

    def weighted(self, **weights: float) -> str:
        """One of these names, by weight."""
        return self.rng.choices(list(weights), list(weights.values()))[0]

    def noun(self, choices: Choices) -> Noun:
        """A noun of one of these classes."""
        return self.pick(self.pick(choices))

    def noun_of(self, *classes: str) -> Noun:
        """A noun of one of these classes or groups, as far as this level has them."""
        known = self.lexicon.nouns
        return self.noun([known[kind] for kind in self.lexicon.classes(classes) if kind in known])
