"""Draws distinct sentence pairs without end, and writes them as a corpus."""

import sys
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from random import Random

from glassformer.errors import ConfigError, DataError
from glassformer.text.phrasebook import patterns_action as action
from glassformer.text.phrasebook import patterns_being as being
from glassformer.text.phrasebook import patterns_joined as joined
from glassformer.text.phrasebook import patterns_related as related
from glassformer.text.phrasebook import patterns_world as world
from glassformer.text.phrasebook.dice import Dice
from glassformer.text.phrasebook.lexicon import Level, load
from glassformer.text.phrasebook.words import Both, Phrase, phrase

_PATIENCE = 2_000
"""So many repetitions in a row mean that the grammar has no more to say."""

Pattern = Callable[[Dice], Both]

_SIMPLE: dict[Pattern, float] = {
    action.says: 36,
    action.asks: 10,
    action.asks_what: 2,
    action.asks_who: 4,
    action.wants: 8,
    action.goes: 6,
    action.commands: 5,
    being.is_so: 16,
    being.is_somewhere: 10,
    being.is_with: 4,
    action.greets: 0.2,
}
_FULL: dict[Pattern, float] = {
    action.says: 30,
    action.asks: 8,
    action.asks_where: 3,
    action.asks_what: 2,
    action.asks_who: 3,
    action.asks_how_many: 2,
    action.commands: 5,
    action.wants: 6,
    action.sees_them: 5,
    action.gives: 4,
    action.goes: 4,
    action.nothing: 2,
    action.would_like: 1.5,
    action.has_already: 2,
    action.greets: 0.2,
    being.is_so: 10,
    being.compares: 3,
    being.is_somewhere: 4,
    being.is_with: 2,
    being.there_is: 4,
    being.has_a_job: 2,
    world.is_years_old: 1.5,
    being.this_is: 2,
    world.lives: 3,
    world.costs: 1,
    world.what_color: 0.7,
    world.is_called: 0.5,
    world.hurts: 0.7,
    joined.joined: 3,
    joined.same_subject: 2,
    joined.two_objects: 2,
    related.who_does: 2,
    related.that_somebody: 2,
    related.says_that: 3,
    joined.because: 2,
    joined.too_tired: 1,
    joined.does_it: 3,
    joined.if_it_rains: 1.5,
    joined.while_doing: 1,
    world.some_of: 1.5,
    world.weather: 1.5,
    world.clock: 0.5,
}


def generate(n: int, seed: int, level: Level = "full") -> Iterator[Phrase]:
    """``n`` sentence pairs, the same for the same seed on every machine.

    English sentences are distinct as long as the grammar has new ones; after that they come again. Only their
    hashes are kept, so that a million pairs need little memory.
    """
    if level not in ("simple", "full"):
        raise ConfigError(f"phrasebook: level = '{level}' is unknown; choose 'simple' or 'full'")
    patterns = _SIMPLE if level == "simple" else _FULL
    dice = Dice(Random(seed), load(level), level == "simple")  # noqa: S311 - chance, not secrecy
    kinds, weights = list(patterns), list(patterns.values())
    seen: set[bytes] = set()
    for _ in range(n):
        for _ in range(_PATIENCE):
            found = phrase(dice.rng.choices(kinds, weights)[0](dice))
            key = blake2b(found.english.encode(), digest_size=8).digest()
            if key not in seen:
                break
        else:
            seen.clear()
        seen.add(key)
        yield found


def write_corpus(
    folder: Path, n_train: int, n_valid: int, n_test: int, seed: int, level: Level = "full"
) -> None:
    """Writes train, valid and test as ``.en``, ``.fr`` and ``.align`` (Pharaoh's i-j) into the folder.

    No sentence of valid or test, English or French, occurs in another part, not even contracted otherwise.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stream = generate(sys.maxsize, seed, level)
    held_out: set[str] = set()
    for name, count in (("test", n_test), ("valid", n_valid), ("train", n_train)):
        part = _new(stream, count, held_out, folder / name)
        written = _write(folder, name, part, keep=name != "train")
        held_out |= written


def _new(stream: Iterator[Phrase], count: int, held_out: set[str], where: Path) -> Iterator[Phrase]:
    """So many pairs of which neither side is held out."""
    refused = 0
    for _ in range(count):
        while (found := next(stream)).english in held_out or found.french in held_out:
            refused += 1
            if refused > _PATIENCE + count:
                raise DataError(
                    f"{where}: the grammar has no {count} sentences besides the others; ask for fewer"
                )
        yield found


def _write(folder: Path, name: str, pairs: Iterator[Phrase], keep: bool) -> set[str]:
    """Writes one part, and gives back its sentences if they are to be kept."""
    kept: set[str] = set()
    with (
        (folder / f"{name}.en").open("w", encoding="utf-8", newline="\n") as english,
        (folder / f"{name}.fr").open("w", encoding="utf-8", newline="\n") as french,
        (folder / f"{name}.align").open("w", encoding="utf-8", newline="\n") as align,
    ):
        for pair in pairs:
            english.write(pair.english + "\n")
            french.write(pair.french + "\n")
            align.write(" ".join(f"{i}-{j}" for i, j in pair.alignment) + "\n")
            if keep:
                kept |= {pair.english, pair.french}
    return kept
