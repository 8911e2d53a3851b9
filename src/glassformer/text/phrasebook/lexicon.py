"""The vocabulary: reads the data files once and answers what suits what."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from glassformer.text.phrasebook.entries import (
    Adjective,
    Name,
    Noun,
    Verb,
    parse_adjective,
    parse_name,
    parse_noun,
    parse_verb,
)

Level = Literal["simple", "full"]
Choices = Sequence[tuple[Noun, ...]]
"""Nouns by class: draw a class, then a noun, so that a long class does not crowd out a short one."""


@dataclass(frozen=True)
class Lexicon:
    """All words of one level."""

    nouns: dict[str, tuple[Noun, ...]]
    """By class."""
    adjectives: tuple[Adjective, ...]
    verbs: dict[str, tuple[Verb, ...]]
    """By section: intransitive, transitive, modal, clause, motion."""
    names: dict[str, tuple[Name, ...]]
    """People, cities and countries, and every fixed expression, by section."""
    groups: dict[str, tuple[str, ...]]
    by_english: dict[str, tuple[Noun, ...]]
    subjects: dict[Verb, Choices]
    objects: dict[Verb, Choices]
    suited: dict[Noun, tuple[Adjective, ...]]

    def classes(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The noun classes that these classes, groups and ``=nouns`` stand for."""
        return tuple(kind for name in names for kind in self.groups.get(name, (name,)))

    def size(self) -> int:
        """The number of distinct lemmas, counted in English."""
        lemmas = {("noun", noun.english) for nouns in self.nouns.values() for noun in nouns}
        lemmas |= {("adjective", adjective.english) for adjective in self.adjectives}
        lemmas |= {
            ("verb", " ".join((verb.english.base, *verb.english_tail)))
            for verbs in self.verbs.values()
            for verb in verbs
        }
        lemmas |= {(kind, " ".join(name.english)) for kind, names in self.names.items() for name in names}
        return len(lemmas)


@cache
def load(level: Level) -> Lexicon:
    """The vocabulary of a level; a verb whose objects all belong to the other level is left out."""
    full = level == "full"
    groups = _groups()
    nouns: dict[str, list[Noun]] = {}
    by_english: dict[str, list[Noun]] = {}
    for heading, line in _lines("nouns.txt"):
        noun = parse_noun(line, heading)
        if full or noun.simple:
            nouns.setdefault(noun.kind, []).append(noun)
            by_english.setdefault(noun.english, []).append(noun)
    adjectives = [parse_adjective(line, heading) for heading, line in _lines("adjectives.txt")]
    verbs: dict[str, list[Verb]] = {}
    for heading, line in _lines("verbs.txt"):
        verbs.setdefault(heading[0], []).append(parse_verb(line))
    names: dict[str, list[Name]] = {}
    for file in ("names.txt", "adverbs.txt"):
        for heading, line in _lines(file):
            names.setdefault(heading[0], []).append(parse_name(line))
    lexicon = Lexicon(
        {kind: tuple(members) for kind, members in nouns.items()},
        tuple(a for a in adjectives if full or a.simple),
        {},
        {kind: tuple(n for n in members if full or n.simple) for kind, members in names.items()},
        groups,
        {word: tuple(members) for word, members in by_english.items()},
        {},
        {},
        {},
    )
    _connect(lexicon, {k: [v for v in vs if full or v.simple] for k, vs in verbs.items()})
    return lexicon


def _connect(lexicon: Lexicon, verbs: dict[str, list[Verb]]) -> None:
    """Fills in who does what to what, and which adjective suits which noun."""
    for section, members in verbs.items():
        kept = []
        for verb in members:
            subjects, objects = _choices(lexicon, verb.subjects), _choices(lexicon, verb.objects)
            if subjects and (objects or not verb.objects):
                lexicon.subjects[verb], lexicon.objects[verb] = subjects, objects
                kept.append(verb)
        lexicon.verbs[section] = tuple(kept)
    suited: dict[Noun, list[Adjective]] = {noun: [] for nouns in lexicon.nouns.values() for noun in nouns}
    for adjective in lexicon.adjectives:
        for nouns in _choices(lexicon, adjective.suits):
            for noun in nouns:
                if adjective not in suited[noun]:
                    suited[noun].append(adjective)
    lexicon.suited.update((noun, tuple(found)) for noun, found in suited.items())


def _choices(lexicon: Lexicon, specification: tuple[str, ...]) -> Choices:
    single: list[Noun] = []
    found: list[tuple[Noun, ...]] = []
    for kind in lexicon.classes(specification):
        if kind.startswith("="):
            single.extend(lexicon.by_english.get(kind[1:].replace("_", " "), ()))
        elif kind in lexicon.nouns:
            found.append(lexicon.nouns[kind])
    return (*found, tuple(single)) if single else tuple(found)


def _groups() -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for _, line in _lines("groups.txt"):
        name, members = line.split(" = ")
        groups[name] = tuple(kind for member in members.split() for kind in groups.get(member, (member,)))
    return groups


def _lines(file: str) -> Iterator[tuple[list[str], str]]:
    """Every entry of a data file with the words of the heading above it."""
    heading: list[str] = []
    text = files("glassformer.text.phrasebook").joinpath("data", file).read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            heading = line.strip("[]").split()
        elif line and not line.startswith("#"):
            yield heading, line
