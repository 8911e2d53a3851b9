"""Texts to queries: cut, encoded, framed as the model was trained to see them, and checked."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from glassformer.decoding.hypothesis import Query
from glassformer.decoding.splitting import Segment, split_sentences
from glassformer.decoding.wording import place
from glassformer.errors import InputError
from glassformer.text import Tokenizer

Terms = Sequence[str] | Mapping[str, str]
"""Texts that every output has to contain, or those it has to contain where the source contains their key."""

Key = tuple[int, int]
"""The places of a text among texts and of a sentence in it."""

Language = str | Sequence[str | None] | None
"""The target language: one for all texts, or one for each; None is the model's own."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a call asks of every output, besides the settings."""

    prefix: str | Sequence[str] = ""
    """Beginning of the output; one for all texts, or one for each."""
    required: Terms = ()
    forbidden: Sequence[str] = ()
    language: Language = None


@dataclass(frozen=True, slots=True)
class Framing:
    """How sources become ids: ``>>fr<< ids </s>``, the tag only where a language is asked for."""

    tokenizer: Tokenizer
    max_length: int
    language: str | None = None
    """The target language where a call names none."""

    def cut(self, texts: Sequence[str], wishes: Wishes, *, split: bool) -> list[list[Segment]]:
        """The sentences of each text, or each text as one."""
        if not split:
            return [[Segment(text, "")] for text in texts]
        if wishes.prefix:
            raise InputError("a prefix belongs to one sentence; set split = false")
        return [split_sentences(text) for text in texts]

    def queries(
        self, cut: Sequence[Sequence[Segment]], wishes: Wishes, *, split: bool = False
    ) -> dict[Key, Query]:
        """A query for each sentence that is not blank; ``split`` says that they were texts before."""
        keys = [(i, j) for i, segments in enumerate(cut) for j in range(len(segments))]
        sentences = [cut[i][j].text for i, j in keys]
        what = "a sentence" if split else "a source"
        names = [f"{place(i, len(cut))}{what}" for i, _ in keys]
        tags = self._tags(wishes.language, len(cut))
        sources = self._sources(sentences, [tags[i] for i, _ in keys], names)
        prefixes = self._prefixes(wishes.prefix, len(cut))
        forbidden = self._phrases(wishes.forbidden)
        return {
            key: Query(
                source, prefixes[key[0]], self._phrases(_terms(wishes.required, text)), forbidden, index=key
            )
            for key, text, source in zip(keys, sentences, sources, strict=True)
            if source
        }

    def sources(self, texts: Sequence[str], language: Language = None) -> list[tuple[int, ...]]:
        """The source ids of each text, none at all for a blank one."""
        names = [f"{place(i, len(texts))}a source" for i in range(len(texts))]
        return self._sources(texts, self._tags(language, len(texts)), names)

    def _sources(
        self, texts: Sequence[str], tags: Sequence[Sequence[int]], names: Sequence[str]
    ) -> list[tuple[int, ...]]:
        """The same with the tag of each; messages call them by their names."""
        before, after = self.tokenizer.source_before, self.tokenizer.source_after
        return [
            self._fitting((*tag, *before, *ids, *after), name) if ids else ()
            for ids, tag, name in zip(self.tokenizer.encode_source(texts), tags, names, strict=True)
        ]

    def targets(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The target ids of each text."""
        encoded = self.tokenizer.encode_target(texts)
        for i, ids in enumerate(encoded):
            self._fitting((*ids, self.tokenizer.eos_id), f"{place(i, len(texts))}a target")
        return [tuple(ids) for ids in encoded]

    def _tags(self, language: Language, n: int) -> list[list[int]]:
        """What asks for the target language of each of ``n`` texts."""
        if language is None or isinstance(language, str):
            return [self._tag(language or self.language)] * n
        if len(language) != n:
            raise InputError(f"{len(language)} languages for {n} texts; give one for each, or one for all")
        known = {each: self._tag(each or self.language) for each in set(language)}
        return [known[each] for each in language]

    def _tag(self, language: str | None) -> list[int]:
        """What asks for the target language; a model of one language needs not be told which."""
        known = self.tokenizer.languages
        if language is None and len(known) > 1:
            raise InputError(f"this model has several target languages; name one of {', '.join(known)}")
        wanted = [language] if language is not None else known
        return [self.tokenizer.language_id(each) for each in wanted]

    def _fitting(self, ids: tuple[int, ...], what: str) -> tuple[int, ...]:
        if len(ids) > self.max_length:
            raise InputError(
                f"{what} of {len(ids)} tokens is longer than max_length = {self.max_length}; "
                f"{'shorten' if what.endswith('sentence') else 'split'} it, or train with a larger max_length"
            )
        return ids

    def _prefixes(self, prefix: str | Sequence[str], n: int) -> list[tuple[int, ...]]:
        texts = [prefix] * n if isinstance(prefix, str) else list(prefix)
        if len(texts) != n:
            raise InputError(f"{len(texts)} prefixes for {n} texts; give one for each, or one for all")
        return [(*self.tokenizer.target_before, *ids) for ids in self.tokenizer.encode_target(texts)]

    def _phrases(self, texts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        if isinstance(texts, str):
            raise InputError("required and forbidden texts are lists; put a single one in a list")
        return tuple(tuple(ids) for ids in self.tokenizer.encode_target(list(texts)) if ids)


def _terms(required: Terms, text: str) -> Sequence[str]:
    return list(_translated(required, text)) if isinstance(required, Mapping) else required


def _translated(glossary: Mapping[str, str], text: str) -> Iterator[str]:
    """The terms whose key stands in the text as words of its own."""
    for source, target in glossary.items():
        if re.search(rf"(?<!\w){re.escape(source)}(?!\w)", text):
            yield target
