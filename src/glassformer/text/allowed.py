"""The parts of other programs' tokenizers that we run: a closed list of kinds, settings and patterns.

The ``tokenizers`` library would build whatever a file asks for, a regular expression of a stranger too. What
is built here has been taken apart before: each part is of a known type, each setting of it in a known range,
and each pattern one that we have seen.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from glassformer.text.charsmap import check_charsmap

Table = dict[str, Any]
Check = Callable[[object], bool]

MAX_TOKENS = 2_000_000
MAX_PIECE = 1_000
"""Characters of a piece; the longest of published vocabularies have a few hundred."""

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS = (GPT2, LLAMA3, LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}"), " {2,}", r"\s+", r"\s")


def _boolean(value: object) -> bool:
    return isinstance(value, bool)


def _maybe(value: object) -> bool:
    return value is None or isinstance(value, bool)


def _short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= 8


def _one_of(*words: str) -> Check:
    return lambda value: isinstance(value, str) and value in words


def _pattern(value: object) -> bool:
    if not isinstance(value, dict) or len(value) != 1:
        return False
    (kind, text), *_ = value.items()
    return (kind == "String" and _short(text)) or (kind == "Regex" and text in PATTERNS)


_BEHAVIOR = _one_of("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
NORMALIZERS: dict[str, dict[str, Check]] = {
    "BertNormalizer": {
        "clean_text": _boolean,
        "handle_chinese_chars": _boolean,
        "strip_accents": _maybe,
        "lowercase": _boolean,
    },
    **{name: {} for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")},
    "Strip": {"strip_left": _boolean, "strip_right": _boolean},
    "Prepend": {"prepend": _short},
    "Replace": {"pattern": _pattern, "content": _short},
    "Precompiled": {"precompiled_charsmap": check_charsmap},
}
PRE_TOKENIZERS: dict[str, dict[str, Check]] = {
    **{name: {} for name in ("BertPreTokenizer", "WhitespaceSplit", "Whitespace")},
    "ByteLevel": {"add_prefix_space": _boolean, "trim_offsets": _boolean, "use_regex": _boolean},
    "Metaspace": {
        "replacement": _one_of("▁"),
        "prepend_scheme": _one_of("always", "first", "never"),
        "split": _boolean,
    },
    "Split": {"pattern": _pattern, "behavior": _BEHAVIOR, "invert": _boolean},
    "Digits": {"individual_digits": _boolean},
    "Punctuation": {"behavior": _BEHAVIOR},
}


def clean(table: Mapping[str, Any]) -> Table:
    """What a tokenizer file says, as far as we run it; ``ValueError`` says what is not allowed.

    Special tokens are left out: no text gives a special id.
    """
    model = _model(table.get("model"))
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added(table.get("added_tokens") or [], model),
        "normalizer": _component(table.get("normalizer"), "normalizer", NORMALIZERS),
        "pre_tokenizer": _component(table.get("pre_tokenizer"), "pre_tokenizer", PRE_TOKENIZERS),
        "post_processor": None,
        "decoder": None,
        "model": model,
    }


def check_pieces(pieces: list[str]) -> None:
    """Refuse pieces that are empty, endless, twice there, or contain NUL."""
    for piece in pieces:
        if not isinstance(piece, str) or not 0 < len(piece) <= MAX_PIECE or "\0" in piece:
            shown = repr(piece)[:30]
            raise ValueError(f"the piece {shown} is empty, longer than {MAX_PIECE} or contains NUL")
    if len(set(pieces)) < len(pieces):
        raise ValueError("a piece stands there twice")
    if len(pieces) > MAX_TOKENS:
        raise ValueError(f"{len(pieces)} pieces are more than {MAX_TOKENS}")


def _component(value: object, slot: str, known: Mapping[str, Mapping[str, Check]]) -> Table | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError(f"the {slot} is no object")
    kind = value.get("type")
    if kind == "Sequence":
        parts = value.get(f"{slot}s", value.get("pretokenizers"))
        if not isinstance(parts, list) or len(parts) > 10:
            raise ValueError(f"the {slot} is no short sequence")
        if any(isinstance(part, dict) and part.get("type") == "Sequence" for part in parts):
            raise ValueError(f"the {slot} is a sequence of sequences")
        name = "normalizers" if slot == "normalizer" else "pretokenizers"
        return {"type": "Sequence", name: [_component(part, slot, known) for part in parts]}
    if not isinstance(kind, str) or kind not in known:
        raise ValueError(f"a {slot} of type {str(kind)[:30]!r} is not among those that are run")
    value = _modern(value)
    settings = known[kind]
    for name, check in settings.items():
        if name not in value or not check(value[name]):
            raise ValueError(
                f"{name} of the {slot} {kind} is {str(value.get(name))[:60]!r}, which is not run"
            )
    return {"type": kind, **{name: value[name] for name in settings}}


def _modern(value: Table) -> Table:
    """Older files name settings otherwise, or leave out what was not yet a choice."""
    value = dict(value)
    if value["type"] == "Metaspace" and "prepend_scheme" not in value:
        value["prepend_scheme"] = "always" if value.get("add_prefix_space", True) else "never"
    if value["type"] == "Metaspace":
        value.setdefault("split", True)
    if value["type"] == "ByteLevel":
        value.setdefault("use_regex", True)
        value.setdefault("trim_offsets", True)
        value.setdefault("add_prefix_space", True)
    if value["type"] == "BertNormalizer":
        value.setdefault("strip_accents", None)
    return value


def _model(model: object) -> Table:
    if not isinstance(model, dict):
        raise ValueError("there is no model")
    kind = model.get("type")
    if kind is None:  # files from before the type was written
        kind = "BPE" if "merges" in model else "Unigram" if "unk_id" in model else "WordPiece"
    match kind:
        case "BPE":
            return _bpe(model)
        case "Unigram":
            return _unigram(model)
        case "WordPiece":
            return _wordpiece(model)
        case _:
            raise ValueError(f"a model of type {str(kind)[:30]!r} is not among those that are run")


def _ids(vocabulary: object) -> dict[str, int]:
    if not isinstance(vocabulary, dict) or not vocabulary:
        raise ValueError("there is no vocabulary")
    check_pieces(list(vocabulary))
    ids = list(vocabulary.values())
    if any(type(token) is not int or not 0 <= token < MAX_TOKENS for token in ids):
        raise ValueError(f"an id is no number from 0 to {MAX_TOKENS - 1}")
    if len(set(ids)) < len(ids):
        raise ValueError("two tokens have the same id")
    return vocabulary


def _bpe(model: Table) -> Table:
    ids = _ids(model.get("vocab"))
    merges = model.get("merges")
    if not isinstance(merges, list) or len(merges) > 2 * MAX_TOKENS:
        raise ValueError("there are no merges")
    pairs = [_pair(merge, ids) for merge in merges]
    unknown = model.get("unk_token")
    if unknown is not None and unknown not in ids:
        raise ValueError(f"the unknown token {str(unknown)[:30]!r} is not in the vocabulary")
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(name):
            raise ValueError(f"{name} = {str(model[name])[:30]!r} is not run")
    if model.get("dropout"):
        raise ValueError("dropout of merges is not part of a vocabulary")
    flags = {name: model.get(name) is True for name in ("fuse_unk", "byte_fallback", "ignore_merges")}
    empty = {"dropout": None, "continuing_subword_prefix": None, "end_of_word_suffix": None}
    return {"type": "BPE", **empty, "unk_token": unknown, **flags, "vocab": ids, "merges": pairs}


def _pair(merge: object, ids: Mapping[str, int]) -> list[str]:
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"{str(merge)[:40]!r} is no merge")
    for piece in (*parts, "".join(parts)):
        if piece not in ids:
            raise ValueError(f"the merge {str(merge)[:40]!r} speaks of a piece that the vocabulary lacks")
    return parts


def _unigram(model: Table) -> Table:
    vocabulary = model.get("vocab")
    if not isinstance(vocabulary, list) or not vocabulary:
        raise ValueError("there is no vocabulary")
    for entry in vocabulary:
        if not isinstance(entry, list) or len(entry) != 2 or not _finite(entry[1]):
            raise ValueError(f"{str(entry)[:40]!r} is no piece with a score")
    check_pieces([piece for piece, _ in vocabulary])
    unknown = model.get("unk_id")
    if type(unknown) is not int or not 0 <= unknown < len(vocabulary):
        raise ValueError(f"the id {str(unknown)[:20]} of the unknown token is not in the vocabulary")
    scored = [[piece, float(score)] for piece, score in vocabulary]
    fallback = model.get("byte_fallback") is True
    return {"type": "Unigram", "unk_id": unknown, "vocab": scored, "byte_fallback": fallback}


def _wordpiece(model: Table) -> Table:
    ids = _ids(model.get("vocab"))
    unknown, longest = model.get("unk_token"), model.get("max_input_chars_per_word", 100)
    if not isinstance(unknown, str) or unknown not in ids:
        raise ValueError(f"the unknown token {str(unknown)[:30]!r} is not in the vocabulary")
    if type(longest) is not int or not 1 <= longest <= 1_000:
        raise ValueError(f"max_input_chars_per_word = {str(longest)[:20]} is no number from 1 to 1000")
    prefix = model.get("continuing_subword_prefix", "##")
    if prefix != "##":
        raise ValueError(f"continuing_subword_prefix = {str(prefix)[:20]!r} is not run; only '##' is")
    return {
        "type": "WordPiece",
        "unk_token": unknown,
        "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": longest,
        "vocab": ids,
    }


def _added(tokens: object, model: Table) -> list[Table]:
    """The added tokens that stand for text; special ones are only looked at."""
    if not isinstance(tokens, list) or len(tokens) > 20_000:
        raise ValueError("added_tokens is no list of reasonable length")
    vocabulary = model["vocab"]
    ids = (
        vocabulary if isinstance(vocabulary, dict) else {piece: i for i, (piece, _) in enumerate(vocabulary)}
    )
    taken = {token: piece for piece, token in ids.items()}
    kept = []
    for token in tokens:
        if not isinstance(token, dict):
            raise ValueError("an added token is no object")
        name, place = token.get("content"), token.get("id")
        check_pieces([str(name)])
        if type(place) is not int or not 0 <= place < MAX_TOKENS:
            raise ValueError(f"the added token {str(name)[:30]!r} has no id")
        if taken.setdefault(place, str(name)) != name or ids.get(str(name), place) != place:
            raise ValueError(f"the added token {str(name)[:30]!r} and another one share the id {place}")
        if token.get("special") is not True:
            flags = {key: token.get(key) is True for key in ("single_word", "lstrip", "rstrip", "normalized")}
            kept.append({"id": place, "content": name, **flags, "special": False})
    return kept


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
