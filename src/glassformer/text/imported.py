"""A tokenizer that came with somebody else's model: its pieces, its ids and its ways, kept as they are."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tokenizers import Tokenizer as Library

from glassformer.errors import CheckpointError, ConfigError
from glassformer.text.allowed import MAX_TOKENS, clean
from glassformer.text.stream import TextStream, check_ids
from glassformer.text.tokenizer import Tokenizer, refuse_half_characters
from glassformer.text.vocabulary import CONTINUES, Kind, Vocabulary, byte_alphabet

FORMAT = 1

_KINDS: dict[str, Kind] = {"Unigram": "unigram", "WordPiece": "wordpiece"}


@dataclass(frozen=True)
class Frame:
    """The ids that a foreign model was trained to see around a text."""

    pad: int
    """Fills up a batch."""
    start: int
    """Fed to a decoder before its first token; the beginning of a text for an encoder or a language model."""
    end: int
    """Ends an output."""
    unknown: int
    """Stands for what the vocabulary lacks."""
    mask: int
    """Stands for a blank; the unknown token where a model has none."""
    before: tuple[int, ...]
    """What stands before a source or a text; ids of the source side."""
    after: tuple[int, ...]
    """What stands behind it; likewise."""
    forced: tuple[int, ...] = ()
    """What every output begins with."""


@dataclass(frozen=True)
class ImportedVocabulary:
    """The pieces of one side by the model's ids, and the library tokenizer that finds them."""

    pieces: tuple[str, ...]
    control: frozenset[int]
    """Ids that stand for no text."""
    library: dict[str, Any]
    """The tokenizer file, as far as ``allowed`` runs it."""
    ids: tuple[int, ...] | None = None
    """The model's id of each id of the library, where they differ."""

    @property
    def kind(self) -> Kind:
        """How pieces are chosen."""
        model = self.library["model"]["type"]
        return _KINDS.get(model, "byte" if self.in_bytes else "bpe")

    @property
    def in_bytes(self) -> bool:
        """Whether pieces are written in the library's alphabet of bytes."""
        return "'ByteLevel'" in str((self.library["pre_tokenizer"], self.library["normalizer"]))

    @property
    def n_control(self) -> int:
        """How many ids at the beginning stand for no text; 0 where control ids lie elsewhere."""
        highest = max(self.control, default=-1) + 1
        return highest if highest <= 1_000 else 0


class ImportedTokenizer(Tokenizer):
    """What our tokenizers do, by a vocabulary of others.

    ``decode(encode(text))`` need not be the text: what such a vocabulary lacks becomes its unknown token.
    """

    def __init__(  # the parts of our own tokenizers are not made: this one has others
        self, vocabulary: ImportedVocabulary, frame: Frame, source: "ImportedTokenizer | None" = None
    ) -> None:
        self.imported, self.frame = vocabulary, frame
        self.vocabulary = _described(vocabulary)
        self.source = self if source is None else source
        self.pad_id, self.bos_id, self.eos_id = frame.pad, frame.start, frame.end
        self.unk_id, self.mask_id = frame.unknown, frame.mask
        self.source_before, self.source_after, self.target_before = frame.before, frame.after, frame.forced
        self.text_start_id = frame.start
        self._library = _built(vocabulary.library)
        self._surfaces = _surfaces(vocabulary)
        self._pieces = {}
        self._ids = {piece: place for place, piece in enumerate(vocabulary.pieces)}

    @property
    def control_ids(self) -> Collection[int]:
        """Ids that stand for no text."""
        return self.imported.control

    @property
    def raw_pieces(self) -> tuple[str, ...]:
        """Every piece as the file has it, by id."""
        return self.imported.pieces

    @property
    def n_control(self) -> int:
        """How many ids at the beginning stand for no text."""
        return self.imported.n_control

    @property
    def kind(self) -> Kind:
        """How pieces are chosen."""
        return self.imported.kind

    @property
    def languages(self) -> tuple[str, ...]:
        """The target languages that have a tag of the form ``>>fr<<``."""
        tags = (piece for piece in self.imported.pieces if piece.startswith(">>") and piece.endswith("<<"))
        return tuple(tag[2:-2] for tag in tags)

    def to_json(self) -> str:
        """What ``save`` writes."""
        table = {
            "imported": FORMAT,
            "target": self._table(),
            "source": self.source._table()
            if isinstance(self.source, ImportedTokenizer) and not self.joint
            else None,
        }
        return json.dumps(table, ensure_ascii=False, indent=1) + "\n"

    def _table(self) -> dict[str, Any]:
        return {"frame": asdict(self.frame), **_table(self.imported)}

    def normalise(self, text: str) -> str:
        """The text as the vocabulary's own normaliser leaves it."""
        refuse_half_characters(text)
        normalizer = self._library.normalizer
        return text if normalizer is None else str(normalizer.normalize_str(text))

    def encode_batch(self, texts: Sequence[str], *, dropout: float = 0.0, seed: int = 0) -> list[list[int]]:
        """The ids of each text, without those of the frame."""
        if dropout:
            raise ConfigError(
                f"dropout = {dropout} (seed {seed}) is for vocabularies that we trained; set it to 0"
            )
        for text in texts:
            refuse_half_characters(text)
        found = self._library.encode_batch_fast(list(texts), add_special_tokens=False)
        ids = self.imported.ids
        if ids is None:
            return [each.ids for each in found]
        return [[ids[token] for token in each.ids] for each in found]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; those of the frame have none."""
        stream = self.stream()
        return "".join([*map(stream.feed, ids), stream.finish()])

    def stream(self, after: Sequence[int] = ()) -> TextStream:
        """A decoder that is fed ids one by one; ``after`` are ids whose text is already there."""
        check_ids(after, self.size)
        stream = TextStream(self._surfaces, drop_space=not self.imported.in_bytes)
        for token in after:
            stream.feed(token)
        return stream

    def unknown_ratio(self, ids: Sequence[int]) -> float:
        """The share of ids that only say that something was there."""
        check_ids(ids, self.size)
        text = [token for token in ids if token == self.unk_id or token not in self.imported.control]
        return sum(token == self.unk_id for token in text) / len(text) if text else 0.0

    def _shown(self, token: int) -> str:
        if token in self.imported.control:
            return self.imported.pieces[token]
        surface = self._surfaces[token]
        try:
            return surface.decode().replace(" ", "▁")
        except UnicodeDecodeError:
            return "".join(f"<0x{byte:02X}>" for byte in surface)


def from_table(table: dict[str, Any], where: str) -> ImportedTokenizer:
    """The tokenizer of a file that ``to_json`` wrote; read as strictly as a stranger's."""
    try:
        if table.get("imported") != FORMAT:
            raise ValueError(f"format {table.get('imported')} is not {FORMAT}")
        target, source = _vocabulary(table["target"]), table["source"]
        if source is None:
            return ImportedTokenizer(target, _frame(table["target"], target, target))
        other = _vocabulary(source)
        own = ImportedTokenizer(other, _frame(source, other, other))
        return ImportedTokenizer(target, _frame(table["target"], target, other), own)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(f"{where}: this imported tokenizer is damaged ({error})") from None


def build_vocabulary(
    library: dict[str, Any],
    control: Collection[int],
    *,
    pieces: Sequence[str] | None = None,
    ids: Sequence[int] | None = None,
) -> ImportedVocabulary:
    """A vocabulary from a tokenizer file; ``ValueError`` says what of it we do not run.

    Pieces that stand for no text are renamed in a unigram model, which would find them in texts.
    """
    table = clean(library)
    found = _pieces_of(table) if pieces is None else list(pieces)
    for token in library.get("added_tokens") or []:
        found += [f"<unused {place}>" for place in range(len(found), token["id"] + 1)]
        found[token["id"]] = token["content"]
    own = [i for i in control if i < len(found)]
    if table["model"]["type"] == "Unigram" and ids is None:
        for i in own:
            if i < len(table["model"]["vocab"]) and i != table["model"]["unk_id"]:
                table["model"]["vocab"][i][0] = _unspeakable(i)
    given = None if ids is None else tuple(ids)
    vocabulary = ImportedVocabulary(tuple(found), frozenset(own), table, given)
    _check(vocabulary)
    return vocabulary


def _described(vocabulary: ImportedVocabulary) -> Vocabulary:
    """The same for whoever shows vocabularies: pieces, merges and scores."""
    model, normalizer = vocabulary.library["model"], vocabulary.library["normalizer"]
    merges = tuple((left, right) for left, right in model.get("merges", ()))
    scored = model["vocab"] if vocabulary.kind == "unigram" else []
    lowercase = normalizer is not None and normalizer.get("lowercase") is True
    scores = tuple(score for _, score in scored)
    return Vocabulary(vocabulary.kind, lowercase, (), vocabulary.pieces, merges, scores)


def _unspeakable(i: int) -> str:
    """A piece that stands in no text: it begins with a code point that is no character."""
    return f"\U0010fffe{i}"


def _pieces_of(table: dict[str, Any]) -> list[str]:
    """The pieces of a library's vocabulary by id; ids without one are named so."""
    vocabulary = table["model"]["vocab"]
    if isinstance(vocabulary, list):
        return [piece for piece, _ in vocabulary]
    pieces = [f"<unused {i}>" for i in range(max(vocabulary.values()) + 1)]
    for piece, i in vocabulary.items():
        pieces[i] = piece
    return pieces


def _check(vocabulary: ImportedVocabulary) -> None:
    size = len(vocabulary.pieces)
    if not 0 < size <= MAX_TOKENS or not all(isinstance(piece, str) for piece in vocabulary.pieces):
        raise ValueError("the pieces are no list of texts")
    if any(type(token) is not int or not 0 <= token < size for token in vocabulary.control):
        raise ValueError(f"a control id is outside the vocabulary of {size}")
    model = vocabulary.library["model"]["vocab"]
    highest = max(model.values()) if isinstance(model, dict) else len(model) - 1
    if vocabulary.ids is None:
        if highest >= size:
            raise ValueError(f"id {highest} is outside the vocabulary of {size}")
        return
    if len(vocabulary.ids) <= highest:
        raise ValueError("some ids of the library have none in the model")
    if any(type(token) is not int or not 0 <= token < size for token in vocabulary.ids):
        raise ValueError(f"an id is outside the vocabulary of {size}")


def _table(vocabulary: ImportedVocabulary) -> dict[str, Any]:
    return {
        "pieces": list(vocabulary.pieces),
        "control": sorted(vocabulary.control),
        "ids": None if vocabulary.ids is None else list(vocabulary.ids),
        "library": vocabulary.library,
    }


def _vocabulary(table: dict[str, Any]) -> ImportedVocabulary:
    ids = table["ids"]
    vocabulary = ImportedVocabulary(
        tuple(table["pieces"]),
        frozenset(table["control"]),
        clean(table["library"]),
        None if ids is None else tuple(ids),
    )
    _check(vocabulary)
    return vocabulary


def _frame(table: dict[str, Any], own: ImportedVocabulary, source: ImportedVocabulary) -> Frame:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in table["frame"].items()
    }
    frame = Frame(**values)
    ours = [frame.pad, frame.start, frame.end, frame.unknown, frame.mask, *frame.forced]
    for tokens, size in ((ours, len(own.pieces)), ([*frame.before, *frame.after], len(source.pieces))):
        for token in tokens:
            if type(token) is not int or not 0 <= token < size:
                raise ValueError(f"the special id {str(token)[:20]} is outside the vocabulary of {size}")
    return frame


def _built(table: dict[str, Any]) -> Library:
    """The library tokenizer; its added tokens must have got the ids they have in the file."""
    try:
        library = Library.from_str(json.dumps(table, ensure_ascii=False))
    except Exception as error:  # the library has no narrower class
        raise ValueError(str(error)[:200]) from None
    for token in table["added_tokens"]:
        if library.token_to_id(token["content"]) != token["id"]:
            raise ValueError(f"the added token {token['content'][:30]!r} cannot keep its id {token['id']}")
    return library


def _surfaces(vocabulary: ImportedVocabulary) -> list[bytes]:
    """The bytes of text that each id stands for; text is these, joined."""
    added = {token["content"] for token in vocabulary.library["added_tokens"]}
    alphabet = byte_alphabet()
    bytewise = bool(vocabulary.library["model"].get("byte_fallback"))
    surfaces = []
    for i, piece in enumerate(vocabulary.pieces):
        if i in vocabulary.control:
            surfaces.append(b"")
        elif piece in added:
            surfaces.append(piece.encode())
        elif vocabulary.in_bytes:
            surfaces.append(bytes(alphabet.get(character, 0x3F) for character in piece))
        elif vocabulary.kind == "wordpiece":
            continues = piece.startswith(CONTINUES)
            surfaces.append((piece.removeprefix(CONTINUES) if continues else " " + piece).encode())
        elif bytewise and len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
            surfaces.append(bytes([int(piece[3:5], 16)]))
        else:
            surfaces.append(piece.replace("▁", " ").encode())
    return surfaces
