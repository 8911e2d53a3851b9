"""Text to ids and back.

``decode(encode(text))`` is ``normalise(text)``, for every kind and all of Unicode: what a vocabulary lacks is
spelt in bytes. No text gives a special id.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import repeat
from pathlib import Path

from glassformer.config import TokenizerConfig
from glassformer.errors import ConfigError, InputError, suggest
from glassformer.text import tokenizer_file
from glassformer.text.corpus import Corpus, Pairs
from glassformer.text.dropout import Merges, generator, merge
from glassformer.text.lines import lone_surrogate
from glassformer.text.normalizer import build_normalizer, is_plain
from glassformer.text.spelling import Speller
from glassformer.text.stream import TextStream, check_ids
from glassformer.text.training import train_vocabulary
from glassformer.text.vocabulary import (
    BOS,
    EOS,
    MASK,
    PAD,
    UNK,
    Kind,
    Vocabulary,
    build,
    language_tag,
    surfaces,
)


class Tokenizer:
    """One vocabulary, and with ``joint = false`` a second one for the source side.

    A tokenizer is that of the target side; ``source`` is the other one, and the tokenizer itself where both
    sides share a vocabulary. Special tokens and language tags have the same ids on both sides.
    """

    pad_id, bos_id, eos_id, unk_id, mask_id = PAD, BOS, EOS, UNK, MASK
    source_before: tuple[int, ...] = ()
    """What stands before the ids of a source, after a language tag."""
    source_after: tuple[int, ...] = (EOS,)
    """What stands behind them."""
    target_before: tuple[int, ...] = ()
    """What every output has to begin with."""
    text_start_id: int = EOS
    """What a text begins after, for a language model."""

    def __init__(self, vocabulary: Vocabulary, source: "Tokenizer | None" = None) -> None:
        self.vocabulary = vocabulary
        self.source = self if source is None else source
        self._normalizer = build_normalizer(lowercase=vocabulary.lowercase)
        self._library = build(vocabulary)
        self._library.normalizer = None  # what it is given has been normalised
        self._surfaces = surfaces(vocabulary)
        self._pieces: dict[int, str] = {}
        self._ids = {piece: place for place, piece in enumerate(vocabulary.pieces)}
        self._speller = Speller(vocabulary, self._ids)

    @classmethod
    def train(cls, corpus: Corpus | Iterable[str], config: TokenizerConfig | None = None) -> "Tokenizer":
        """A tokenizer learned from a corpus, or from texts that can be iterated twice.

        A small corpus may give fewer ids than ``vocab_size`` asks for: ``size`` tells how many there are.
        """
        config = TokenizerConfig() if config is None else config
        if config.joint:
            return cls(train_vocabulary(corpus.texts if isinstance(corpus, Corpus) else corpus, config))
        if not isinstance(corpus, Pairs):
            raise ConfigError("tokenizer: joint = false needs pairs, which have two sides; set joint = true")
        source = cls(train_vocabulary(corpus.sources, config))
        return cls(train_vocabulary(corpus.targets, config), source)

    @classmethod
    def load(cls, path: Path | str) -> "Tokenizer":
        """The tokenizer of a file that ``save`` wrote."""
        return cls._parsed(tokenizer_file.read(Path(path)), str(path))

    @classmethod
    def from_json(cls, text: str) -> "Tokenizer":
        """The tokenizer of a text that ``to_json`` gave."""
        return cls._parsed(text, "tokenizer")

    @classmethod
    def _parsed(cls, content: str | bytes, where: str) -> "Tokenizer":
        table = tokenizer_file.parse(content, where)
        if "imported" in table:
            from glassformer.text.imported import from_table

            return from_table(table, where)
        target, source = tokenizer_file.vocabularies(table, where)
        return cls(target, None if source is None else cls(source))

    def save(self, path: Path | str) -> None:
        """Write ``tokenizer.json``; the same tokenizer always gives the same bytes."""
        tokenizer_file.write(Path(path), self.to_json())

    def to_json(self) -> str:
        """What ``save`` writes: the library's own format, or an object of two such where sides differ."""
        return tokenizer_file.to_json(self.vocabulary, None if self.joint else self.source.vocabulary)

    @property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        return self.source is self

    @property
    def size(self) -> int:
        """How many ids there are; they are 0 … size - 1."""
        return len(self._surfaces)

    @property
    def raw_pieces(self) -> tuple[str, ...]:
        """Every piece as the file has it, by id."""
        return self.vocabulary.pieces

    @property
    def n_control(self) -> int:
        """How many ids at the beginning stand for no text."""
        return self.vocabulary.n_control

    @property
    def control_ids(self) -> Collection[int]:
        """Every id that stands for no text."""
        return range(self.n_control)

    @property
    def kind(self) -> Kind:
        """How pieces are chosen."""
        return self.vocabulary.kind

    @property
    def languages(self) -> tuple[str, ...]:
        """The target languages that have a tag."""
        return self.vocabulary.languages

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the file: ids stored under another one mean something else."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def normalise(self, text: str) -> str:
        """The text as ids can say it; see ``normalizer`` for what that changes."""
        if is_plain(text) and not self.vocabulary.lowercase:
            return text
        refuse_half_characters(text)
        return self._normalizer.normalize_str(text)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without special ones; none for a blank text."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str], *, dropout: float = 0.0, seed: int = 0) -> list[list[int]]:
        """The ids of each text. With ``dropout`` they vary with the seed, each text for itself."""
        normalised = [self.normalise(text) for text in texts]
        if dropout:
            return [self._encode_with_dropout(text, dropout, seed) for text in normalised]
        if self.kind == "wordpiece":
            return self._encode_word_pieces(normalised)
        return [found.ids for found in self._library.encode_batch_fast(normalised, add_special_tokens=False)]

    def encode_source(self, texts: Sequence[str], *, dropout: float = 0.0, seed: int = 0) -> list[list[int]]:
        """The ids of texts to translate."""
        return self.source.encode_batch(texts, dropout=dropout, seed=seed)

    def encode_target(self, texts: Sequence[str], *, dropout: float = 0.0, seed: int = 0) -> list[list[int]]:
        """The ids of translations."""
        return self.encode_batch(texts, dropout=dropout, seed=seed)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; special ones have none, and bytes that make no character become U+FFFD."""
        check_ids(ids, self.size)
        joined = b"".join([self._surfaces[token] for token in ids])
        return joined.removeprefix(b" ").decode(errors="replace")

    def stream(self, after: Sequence[int] = ()) -> TextStream:
        """A decoder that is fed ids one by one; ``after`` are ids whose text is already there."""
        check_ids(after, self.size)
        stream = TextStream(self._surfaces, drop_space=True)
        for token in after:
            stream.feed(token)
        return stream

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Each id for people to read: ``▁`` begins a word, ``<0xE2>`` is a byte, ``</s>`` is special."""
        check_ids(ids, self.size)
        shown = self._pieces
        return [shown[token] if token in shown else self._shown(token) for token in ids]

    def offsets(self, ids: Sequence[int]) -> list[tuple[int, int]]:
        """Where each id stands in ``decode(ids)``; bytes of one character share its place.

        A word's place includes the space before it. Special ids have an empty place.
        """
        check_ids(ids, self.size)
        found = []
        stream, at = self.stream(), 0
        for token in ids:
            stop = at + len(stream.feed(token))
            silent = not self._surfaces[token]
            found.append((at, at if silent else stop + stream.waiting))
            at = stop
        return found

    def token_to_id(self, piece: str) -> int | None:
        """The id of a piece as the file has it, special ones included."""
        return self._ids.get(piece)

    def language_id(self, language: str) -> int:
        """The id of the tag that asks for a target language."""
        if language not in self.languages:
            known = ", ".join(self.languages) or "none"
            raise InputError(
                f"language {language!r} has no tag in this tokenizer{suggest(language, self.languages)}; "
                f"it knows {known}"
            )
        return self._ids[language_tag(language)]

    def unknown_ratio(self, ids: Sequence[int]) -> float:
        """The share of ids that are only bytes of a character: high for a script the tokenizer never met."""
        check_ids(ids, self.size)
        text = [token for token in ids if token == UNK or token >= self.vocabulary.n_control]
        return sum(token in self._fragments for token in text) / len(text) if text else 0.0

    def _encode_with_dropout(self, text: str, dropout: float, seed: int) -> list[int]:
        if self.kind not in ("bpe", "byte"):
            raise ConfigError(f'dropout leaves out merges, but a tokenizer of kind "{self.kind}" has none')
        random = generator(seed, text)
        words = self._library.pre_tokenizer.pre_tokenize_str(text)
        spelt = (self._speller.characters(word) for word, _ in words)
        return [token for ids in spelt for token in merge(ids, self._merges, dropout, random)]

    def _encode_word_pieces(self, texts: Sequence[str]) -> list[list[int]]:
        encoded = self._library.encode_batch(texts, add_special_tokens=False)
        return [
            [token for spelt in map(self._spelt, found.ids, found.offsets, repeat(text)) for token in spelt]
            if UNK in found.ids
            else found.ids
            for text, found in zip(texts, encoded, strict=True)
        ]

    def _spelt(self, token: int, place: tuple[int, int], text: str) -> list[int]:
        """A word that the library gave up, spelt; anything else as it is."""
        if token != UNK:
            return [token]
        start, stop = place
        return self._speller.word(text[start:stop] if start else " " + text[:stop])

    @cached_property
    def _merges(self) -> Merges:
        ids = self._ids
        pairs = enumerate(self.vocabulary.merges)
        return {(ids[left], ids[right]): (rank, ids[left + right]) for rank, (left, right) in pairs}

    @cached_property
    def _fragments(self) -> frozenset[int]:
        """The ids that spell a character the vocabulary lacks."""
        begin, end = self.vocabulary.n_control, self.vocabulary.n_control + self.vocabulary.n_bytes
        broken = (place for place, surface in enumerate(self._surfaces) if _characters(surface) is None)
        return frozenset({UNK, *range(begin, end), *broken})

    def _shown(self, token: int) -> str:
        if token < self.vocabulary.n_control:
            piece = self.vocabulary.pieces[token]
        elif (characters := _characters(self._surfaces[token])) is None:
            piece = "".join(f"<0x{byte:02X}>" for byte in self._surfaces[token])
        else:
            piece = characters.replace(" ", "▁")
        self._pieces[token] = piece
        return piece


def _characters(surface: bytes) -> str | None:
    """The text of some bytes, unless they begin or end within a character."""
    try:
        return surface.decode()
    except UnicodeDecodeError:
        return None


def refuse_half_characters(text: str) -> None:
    """Refuse a text that is no sequence of characters: no encoding could write it."""
    place = lone_surrogate(text)
    if place is not None:
        half = f"U+{ord(text[place]):04X} at character {place + 1}"
        raise InputError(f"the text has half a character (the lone surrogate {half}); send whole ones")
