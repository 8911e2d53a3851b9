"""SentencePiece models (.spm, .model), read by a few lines of our own: a protocol buffer of known fields.

The field numbers are those of sentencepiece_model.proto. The library's own reader in C++ has crashed on
damaged files; this one can only raise.
"""

import base64
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from glassformer.errors import CheckpointError
from glassformer.text.allowed import MAX_PIECE, Table

LIMIT = 64_000_000
_PIECES = 500_000  # twice the largest vocabulary that is in use
_UNDERLINE = "▁"
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)


@dataclass(frozen=True)
class SentencePieceModel:
    """Pieces with their scores and types, and how text is normalised before they are looked for."""

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    types: tuple[int, ...]
    is_bpe: bool
    charsmap: bytes
    add_dummy_prefix: bool
    collapse_spaces: bool

    @property
    def unknown(self) -> int:
        """The id of the unknown piece."""
        return self.types.index(UNKNOWN)

    @property
    def byte_fallback(self) -> bool:
        """Whether what the vocabulary lacks is spelt in bytes."""
        return BYTE in self.types


def parse(data: bytes, where: str) -> SentencePieceModel:
    """The model in the content of a file."""
    try:
        return _parse(data)
    except (ValueError, IndexError, struct.error) as error:
        raise CheckpointError(f"{where}: this SentencePiece model is damaged ({error})") from None


def library_table(model: SentencePieceModel, pieces: tuple[str, ...] | None = None) -> Table:
    """The same tokenizer for the ``tokenizers`` library, its ids those of the file."""
    names = model.pieces if pieces is None else pieces
    charsmap = base64.b64encode(model.charsmap).decode()
    normalizers: list[Table] = []
    if model.charsmap:
        normalizers.append({"type": "Precompiled", "precompiled_charsmap": charsmap})
    added = [_user_token(i, names[i]) for i, kind in enumerate(model.types) if kind == USER]
    scheme = "always" if model.add_dummy_prefix else "never"
    if model.is_bpe:
        collapse = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
        strip = {"type": "Strip", "strip_left": True, "strip_right": True}
        normalizers += [collapse, strip] if model.collapse_spaces else []
        before: Table = {
            "type": "Metaspace",
            "replacement": _UNDERLINE,
            "prepend_scheme": scheme,
            "split": False,
        }
        kind = _bpe(model, names)
    else:
        split = {"type": "Metaspace", "replacement": _UNDERLINE, "prepend_scheme": scheme, "split": True}
        before = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, split]}
        scored = [[piece, score] for piece, score in zip(names, model.scores, strict=True)]
        kind = {
            "type": "Unigram",
            "unk_id": model.unknown,
            "vocab": scored,
            "byte_fallback": model.byte_fallback,
        }
    normalizer = {"type": "Sequence", "normalizers": normalizers} if normalizers else None
    return {"added_tokens": added, "normalizer": normalizer, "pre_tokenizer": before, "model": kind}


def _user_token(i: int, piece: str) -> Table:
    return {"id": i, "content": piece, "special": False, "normalized": False}


def _bpe(model: SentencePieceModel, names: tuple[str, ...]) -> Table:
    """Merges are every pair of pieces that make up a piece, best score first."""
    ids = {piece: i for i, piece in enumerate(names)}
    found = []
    for i, piece in enumerate(names):
        if model.types[i] != NORMAL:
            continue
        pairs = ((piece[:cut], piece[cut:]) for cut in range(1, len(piece)))
        known = [(left, right) for left, right in pairs if left in ids and right in ids]
        found += [(-model.scores[i], ids[left], ids[right], left, right) for left, right in known]
    merges = [[left, right] for *_, left, right in sorted(found)]
    return {
        "type": "BPE",
        "unk_token": names[model.unknown],
        "fuse_unk": True,
        "byte_fallback": model.byte_fallback,
        "vocab": ids,
        "merges": merges,
    }


def _parse(data: bytes) -> SentencePieceModel:
    pieces: list[tuple[str, float, int]] = []
    training: dict[int, int | float | bytes] = {}
    normalising: dict[int, int | float | bytes] = {}
    for number, value in _fields(data):
        match number:
            case 1:
                pieces.append(_piece(_message(value)))
                if len(pieces) > _PIECES:
                    raise ValueError(f"more than {_PIECES} pieces")
            case 2:
                training |= dict(_fields(_message(value)))
            case 3:
                normalising |= dict(_fields(_message(value)))
    model_type = training.get(3, 1)
    if model_type not in (1, 2):
        raise ValueError(f"a model of type {model_type!r} is neither unigram nor BPE")
    names, scores, types = ([entry[i] for entry in pieces] for i in range(3))
    if len(set(names)) < len(names):
        raise ValueError("a piece stands there twice")
    if types.count(UNKNOWN) != 1:
        raise ValueError("it has no single unknown piece")
    return SentencePieceModel(
        tuple(map(str, names)),
        tuple(map(float, scores)),
        tuple(map(int, types)),
        model_type == 2,
        _message(normalising.get(2, b"")),
        bool(normalising.get(3, True)),
        bool(normalising.get(4, True)),
    )


def _piece(data: bytes) -> tuple[str, float, int]:
    text, score, kind = "", 0.0, NORMAL
    for number, value in _fields(data):
        if number == 1:
            text = _message(value).decode("utf-8")
        elif number == 2 and isinstance(value, float):
            score = value
        elif number == 3 and isinstance(value, int):
            kind = value
    if not 0 < len(text) <= MAX_PIECE or "\0" in text:
        raise ValueError(f"a piece is empty, longer than {MAX_PIECE} or contains NUL")
    if not math.isfinite(score) or not NORMAL <= kind <= BYTE:
        raise ValueError(f"piece {text[:20]!r} has no score or no type")
    return text, score, kind


def _message(value: int | float | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a field has another type than it should")
    return value


def _fields(data: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """The fields of a message: number and value."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        match key & 7:
            case 0:
                value: int | float | bytes
                value, at = _varint(data, at)
            case 1:
                value, at = struct.unpack_from("<d", data, at)[0], at + 8
            case 2:
                length, at = _varint(data, at)
                if length > len(data) - at:
                    raise ValueError("a field is longer than the file")
                value, at = data[at : at + length], at + length
            case 5:
                value, at = struct.unpack_from("<f", data, at)[0], at + 4
            case kind:
                raise ValueError(f"a field of kind {kind}")
        yield key >> 3, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
    raise ValueError("a number is too long")
