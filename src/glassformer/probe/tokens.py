"""Tokens for people: what each is called, where it stands in the text, to which word it belongs."""

from collections.abc import Sequence
from dataclasses import dataclass

from glassformer.decoding.wording import word_numbers, words_of
from glassformer.text import Tokenizer


@dataclass(frozen=True, slots=True)
class ShownToken:
    """A token in its place."""

    index: int
    id: int
    piece: str
    """``▁`` begins a word."""
    text: str
    """The characters it stands for, without the space before a word."""
    start: int
    """Where they begin in the decoded text."""
    end: int
    word: int | None
    """The number of its word; None for a special token."""
    special: bool
    bytes: bool
    """Whether it spells part of a character that the vocabulary lacks."""


def shown_tokens(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[ShownToken, ...]:
    """Each of some ids, special ones among them."""
    control = tokenizer.control_ids
    known = [min(token, tokenizer.size - 1) for token in ids]  # a model may have room for more ids
    pieces, text, places = tokenizer.pieces(known), tokenizer.decode(known), tokenizer.offsets(known)
    plain = [piece for piece, token in zip(pieces, known, strict=True) if token not in control]
    numbers = iter(word_numbers(plain))
    found = []
    for index, (token, piece, (start, stop)) in enumerate(zip(known, pieces, places, strict=True)):
        special = token in control
        cut = text[start:stop]
        begin = min(start + len(cut) - len(cut.lstrip(" ")), stop)
        found.append(
            ShownToken(
                index,
                ids[index],
                piece,
                text[begin:stop],
                begin,
                stop,
                None if special else next(numbers),
                special,
                tokenizer.unknown_ratio([token]) > 0,
            )
        )
    return tuple(found)


def words(tokens: Sequence[ShownToken]) -> list[str]:
    """The words that tokens make up."""
    return words_of([token.piece for token in tokens if not token.special])


def word_spans(tokens: Sequence[ShownToken]) -> list[tuple[int, int]]:
    """Where each word stands in the text."""
    spans: dict[int, tuple[int, int]] = {}
    for token in tokens:
        if token.word is not None:
            start = spans[token.word][0] if token.word in spans else token.start
            spans[token.word] = (start, token.end)
    return list(spans.values())
