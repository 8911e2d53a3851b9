"""A text on its way to ids: normalised, cut into words, merged piece by piece."""

import re
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

from glassformer.explorer.answers import Problem
from glassformer.explorer.limits import Limits
from glassformer.explorer.requests import TokenizeRequest, check_text
from glassformer.probe.tokens import ShownToken, shown_tokens
from glassformer.text import Tokenizer
from glassformer.text.vocabulary import byte_alphabet

MOST_WORDS = 200
MOST_MERGES = 60
_BYTE = re.compile("<0x[0-9A-F]{2}>")


def tokenized(tokenizer: Tokenizer, request: TokenizeRequest, family: str, limits: Limits) -> dict[str, Any]:
    """Tokens with their places, and how each word came to its pieces."""
    check_text(request.text, limits, "text")
    own = tokenizer.source if request.side == "source" else tokenizer
    ids = own.encode(request.text)
    if len(ids) > 4 * limits.tokens:
        raise Problem(422, f"a text of {len(ids)} tokens is more than the {4 * limits.tokens} shown here")
    before, after = _frame(tokenizer, request.side, family)
    shown = shown_tokens(own, [*before, *ids, *after])
    text = own.decode([*before, *ids, *after])
    utf16 = list(accumulate((1 + (ord(char) > 0xFFFF) for char in text), initial=0))
    return {
        "text": request.text,
        "normalised": text,
        "tokens": [_token(token, utf16) for token in shown],
        "words": [_word(own, group, utf16) for group in _words(shown)[:MOST_WORDS]],
        "count": len(shown),
        "unknown_ratio": own.unknown_ratio(ids),
        "kind": own.kind,
    }


def _frame(tokenizer: Tokenizer, side: str, family: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The special ids that the model gets around a text of a side."""
    if family == "decoder-only":
        return (tokenizer.text_start_id,), ()
    if family == "encoder-only":
        return (tokenizer.bos_id,), (tokenizer.eos_id,)
    if side == "source":
        return tokenizer.source_before, tokenizer.source_after
    return (tokenizer.bos_id, *tokenizer.target_before), (tokenizer.eos_id,)


def _token(token: ShownToken, utf16: list[int]) -> dict[str, Any]:
    return {
        "index": token.index,
        "id": token.id,
        "piece": token.piece,
        "text": token.text,
        "start": utf16[token.start],
        "end": utf16[token.end],
        "word": token.word,
        "special": token.special,
        "bytes": token.bytes,
    }


def _words(shown: tuple[ShownToken, ...]) -> list[list[ShownToken]]:
    groups: dict[int, list[ShownToken]] = {}
    for token in shown:
        if token.word is not None:
            groups.setdefault(token.word, []).append(token)
    return list(groups.values())


def _word(tokenizer: Tokenizer, tokens: list[ShownToken], utf16: list[int]) -> dict[str, Any]:
    symbols, merges = merge_steps(tokenizer, [token.id for token in tokens])
    return {
        "index": tokens[0].word,
        "text": "".join(token.piece for token in tokens).replace("▁", ""),
        "start": utf16[tokens[0].start],
        "end": utf16[tokens[-1].end],
        "first": tokens[0].index,
        "last": tokens[-1].index,
        "symbols": symbols,
        "merges": merges,
    }


def merge_steps(tokenizer: Tokenizer, ids: list[int]) -> tuple[list[str], list[dict[str, Any]]]:
    """The characters that a word's pieces were merged from, and each merge in the order it was made.

    No merge crosses the border of a piece that stayed one, so each piece is merged for itself.
    """
    vocabulary = tokenizer.vocabulary
    if not vocabulary.merges:
        return tokenizer.pieces(ids), []
    ranks = _ranks(vocabulary.merges)
    symbols: list[tuple[int, str]] = []  # number of the piece, text
    for number, token in enumerate(ids):
        piece = vocabulary.pieces[token]
        whole = token in tokenizer.control_ids or _BYTE.fullmatch(piece) is not None
        parts = [piece] if whole else list(piece)
        symbols += [(number, part) for part in parts]
    start = [_shown(tokenizer, text) for _, text in symbols]
    told: list[dict[str, Any]] = []
    while len(told) < MOST_MERGES:
        pairs = (
            (ranks[left, right], place)
            for place, ((one, left), (two, right)) in enumerate(pairwise(symbols))
            if one == two and (left, right) in ranks
        )
        best = min(pairs, default=None)
        if best is None:
            break
        rank, at = best
        (number, left), (_, right) = symbols[at : at + 2]
        symbols[at : at + 2] = [(number, left + right)]
        told.append(
            {
                "left": _shown(tokenizer, left),
                "right": _shown(tokenizer, right),
                "merged": _shown(tokenizer, left + right),
                "rank": rank,
                "at": at,
                "symbols": [_shown(tokenizer, text) for _, text in symbols],
            }
        )
    return start, told


@lru_cache(maxsize=4)
def _ranks(merges: tuple[tuple[str, str], ...]) -> dict[tuple[str, str], int]:
    return {pair: rank for rank, pair in reversed(list(enumerate(merges)))}


def _shown(tokenizer: Tokenizer, piece: str) -> str:
    """A symbol for people; those of a byte tokenizer are bytes in disguise."""
    if tokenizer.kind == "byte":
        data = bytes(byte_alphabet()[char] for char in piece if char in byte_alphabet())
        try:
            piece = data.decode()
        except UnicodeDecodeError:
            piece = "".join(f"<0x{byte:02X}>" for byte in data)
    return piece.replace(" ", "▁")
