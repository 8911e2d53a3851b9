"""``tokenizer.json``: a vocabulary on disk, in the format of the ``tokenizers`` library.

Everything we need to know of a tokenizer can be read off that format, so nothing is added to it. With
separate vocabularies the file is an object of two such tokenizers, ``source`` and ``target``.

A file is only taken as a list of pieces. The rest of it must be what we ourselves would write around those
pieces: no regular expression and no setting of a stranger is ever run.
"""

import json
from pathlib import Path
from typing import Any, get_args

from glassformer.errors import CheckpointError
from glassformer.text.atomic import replacing
from glassformer.text.vocabulary import (
    SPECIALS,
    Kind,
    Vocabulary,
    build,
    byte_pieces,
    control_pieces,
    pipeline,
)

MAX_BYTES = 100_000_000
"""The largest file that is read; the largest vocabularies in use take a tenth of it."""

_AROUND = ("normalizer", "pre_tokenizer", "decoder")
_MODEL_TYPES = {"bpe": "BPE", "byte": "BPE", "char": "BPE", "unigram": "Unigram", "wordpiece": "WordPiece"}


def to_json(target: Vocabulary, source: Vocabulary | None) -> str:
    """The text of the file."""
    table = _table(target)
    if source is not None:
        table = {"source": _table(source), "target": table}
    return json.dumps(table, ensure_ascii=False, indent=2) + "\n"


def write(path: Path, text: str) -> None:
    """Write the file, whole or not at all."""
    try:
        with replacing(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None


def read(path: Path) -> bytes:
    """The content of a file of reasonable size."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: there is no such file") from None
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise CheckpointError(f"{path}: a tokenizer of more than {MAX_BYTES} bytes is refused")
    return content


def parse(content: str | bytes, where: str) -> dict[str, Any]:
    """The object that the content of a file holds."""
    try:
        table = json.loads(content, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{where}: this is not the JSON of a tokenizer ({error})") from None
    if not isinstance(table, dict):
        raise CheckpointError(f"{where}: this is not the JSON of a tokenizer (no object)")
    return table


def vocabularies(table: dict[str, Any], where: str) -> tuple[Vocabulary, Vocabulary | None]:
    """The vocabularies of the target and, where it has its own, the source side."""
    if set(table) == {"source", "target"}:
        source = _vocabulary(table["source"], f"{where} [source]")
        return _vocabulary(table["target"], f"{where} [target]"), source
    return _vocabulary(table, where), None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{json.dumps(twice)} stands there twice")
    return table


def _table(vocabulary: Vocabulary) -> dict[str, Any]:
    table: dict[str, Any] = json.loads(build(vocabulary).to_str())
    return table


def _vocabulary(table: Any, where: str) -> Vocabulary:
    kind, lowercase = _recognise(table, where)
    try:
        vocabulary = _pieces_of(table, kind, lowercase)
        same = _table(vocabulary) == table
    except Exception as error:  # the library has no narrower class for a model it cannot build
        raise CheckpointError(f"{where}: this vocabulary is damaged ({error})") from None
    if not same:
        raise CheckpointError(
            f"{where}: this file was changed, or written by another program; load the one that training wrote"
        )
    return vocabulary


def _recognise(table: Any, where: str) -> tuple[Kind, bool]:
    """The kind of tokenizer whose surroundings this file has."""
    kind: Kind
    if isinstance(table, dict) and isinstance(table.get("model"), dict):
        for kind in get_args(Kind):
            for lowercase in (False, True):
                ours = json.loads(pipeline(kind, lowercase=lowercase).to_str())
                if _MODEL_TYPES[kind] == table["model"].get("type") and all(
                    table.get(part) == ours[part] for part in _AROUND
                ):
                    return kind, lowercase
    raise CheckpointError(
        f"{where}: glassformer did not write this tokenizer; 'glassformer import' may read it"
    )


def _pieces_of(table: dict[str, Any], kind: Kind, lowercase: bool) -> Vocabulary:
    model = table["model"]
    names = [token["content"] for token in table["added_tokens"]]
    languages = tuple(name.removeprefix(">>").removesuffix("<<") for name in names[len(SPECIALS) :])
    scores: tuple[float, ...] = ()
    if kind == "unigram":
        pieces = [piece for piece, _ in model["vocab"]]
        scores = tuple(float(score) for _, score in model["vocab"])
    else:
        pieces = sorted(model["vocab"], key=lambda piece: int(model["vocab"][piece]))
    begin = control_pieces(languages) + byte_pieces(kind)
    if pieces[: len(begin)] != begin:
        raise ValueError("it does not begin with the special tokens and the bytes")
    if len(set(pieces)) < len(pieces) or "" in pieces:
        raise ValueError("a piece is empty or stands there twice")
    merges = tuple((left, right) for left, right in model.get("merges", ()))
    return Vocabulary(kind, lowercase, languages, tuple(pieces), merges, scores)
