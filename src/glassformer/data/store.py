"""Token ids on disk, mapped into memory: a corpus larger than the memory costs no more than a small one.

A store is a folder. ``store.json`` says what it holds; each side has its ids in one flat file, the place
where each row begins and the length of each row. Special tokens are not stored, except that every line of a
``stream`` ends with ``</s>``, and that pairs of a multilingual model have the tag of their target language in
a file of its own.
"""

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from glassformer.config import Strict
from glassformer.errors import DataError

FORMAT = 1
"""Changes whenever a store of before would be read wrongly."""

HEADER = "store.json"
TAGS = "tags"

StoreKind = Literal["pairs", "labelled", "lines", "stream"]
Ids = NDArray[Any]  # uint16 or uint32, by the size of the vocabulary
Numbers = NDArray[np.int64]


class Header(Strict):
    """What a store holds, and what it was made of."""

    format: int
    fingerprint: str
    kind: StoreKind
    n_rows: int
    n_tokens: Annotated[tuple[int, ...], Field(strict=False)]  # JSON has lists
    id_type: Literal["uint16", "uint32"]
    max_length: int
    dropped: dict[str, int]
    labels: Annotated[tuple[str, ...], Field(strict=False)]
    has_text: bool
    has_tags: bool = False


class Ragged(NamedTuple):
    """Sequences of unequal length inside one flat array."""

    flat: Ids
    starts: Numbers
    lengths: Numbers


class Side:
    """One side of a store: ids, and the text they came from where it was kept."""

    def __init__(self, folder: Path, name: str, id_type: str, *, has_text: bool) -> None:
        self.ids: Ids = _mapped(folder / f"{name}.ids", id_type)
        self.offsets = _mapped(folder / f"{name}.offsets", "int64")
        self.lengths = _mapped(folder / f"{name}.lengths", "int32")
        if has_text:
            self.text = _mapped(folder / f"{name}.text", "uint8")
            self.text_offsets = _mapped(folder / f"{name}.text_offsets", "int64")

    def row(self, index: int) -> Ids:
        """The ids of one row, as a view of the file."""
        start, stop = self.offsets[index : index + 2]
        return self.ids[start:stop]

    def gather(self, rows: Numbers) -> Ragged:
        """Several rows; nothing is copied but where they stand."""
        return Ragged(self.ids, self.offsets[rows], self.lengths[rows].astype(np.int64))

    def texts(self, rows: Numbers) -> list[str]:
        """The text of several rows."""
        starts, stops = self.text_offsets[rows], self.text_offsets[rows + 1]
        return [self.text[a:b].tobytes().decode() for a, b in zip(starts, stops, strict=True)]


class TokenStore:
    """A prepared corpus: ``len`` rows, each with ids and, by its kind, with a target side or a label."""

    def __init__(self, folder: Path) -> None:
        header = read_header(folder)
        if header is None:
            raise DataError(f"{folder}: there is no whole token store here; prepare the corpus again")
        self.folder = folder
        self.header = header
        self.sides = tuple(
            Side(folder, name, header.id_type, has_text=header.has_text) for name in side_names(header.kind)
        )

    def __len__(self) -> int:
        return self.header.n_rows

    @property
    def kind(self) -> StoreKind:
        """Pairs, labelled texts, lines, or lines as one long stream."""
        return self.header.kind

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that decides what is in the store."""
        return self.header.fingerprint

    @property
    def dropped(self) -> dict[str, int]:
        """How many rows of the corpus were left out, by reason: empty, too_long, ratio."""
        return dict(self.header.dropped)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels, sorted; ``label`` gives places in it."""
        return self.header.labels

    @property
    def source_lengths(self) -> NDArray[np.int32]:
        """Tokens of each row, without special ones."""
        return self.sides[0].lengths

    @property
    def target_lengths(self) -> NDArray[np.int32]:
        """Tokens of the target side of each pair, without special ones."""
        return self._target.lengths

    @property
    def tokens(self) -> Ids:
        """The ids of all rows, one after the other."""
        return self.sides[0].ids

    def source(self, index: int) -> Ids:
        """The ids of a row, as a view of the file."""
        return self.sides[0].row(index)

    def target(self, index: int) -> Ids:
        """The ids of the target side of a pair, as a view of the file."""
        return self._target.row(index)

    def label(self, index: int) -> int:
        """The place of a row's label in ``labels``."""
        return int(self.label_places[index])

    @cached_property
    def label_places(self) -> NDArray[np.int32]:
        """The place of every row's label in ``labels``."""
        if self.kind != "labelled":
            raise DataError(f"{self.folder}: a store of {self.kind} has no labels")
        return _mapped(self.folder / "labels", "int32")

    @cached_property
    def tags(self) -> Ids | None:
        """The id of every pair's tag, which asks for its target language; None where pairs have none."""
        return _mapped(self.folder / TAGS, self.header.id_type) if self.header.has_tags else None

    @property
    def _target(self) -> Side:
        if self.kind != "pairs":
            raise DataError(f"{self.folder}: a store of {self.kind} has no target side")
        return self.sides[1]


def side_names(kind: StoreKind) -> tuple[str, ...]:
    """The sides that a kind of store has; the files of a side begin with its name."""
    return ("source", "target") if kind == "pairs" else ("source",)


def read_header(folder: Path) -> Header | None:
    """The header of a store that is whole; nothing if there is none, or if a file has not the right size."""
    try:
        header = Header.model_validate_json((folder / HEADER).read_bytes())
        sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    except (OSError, ValidationError):
        return None
    if header.format != FORMAT or any(sizes.get(name) != size for name, size in _expected_sizes(header)):
        return None
    return header


def _expected_sizes(header: Header) -> list[tuple[str, int]]:
    found = [("labels", header.n_rows * 4)] if header.kind == "labelled" else []
    if header.has_tags:
        found.append((TAGS, header.n_rows * np.dtype(header.id_type).itemsize))
    for name, n_tokens in zip(side_names(header.kind), header.n_tokens, strict=True):
        found.append((f"{name}.ids", n_tokens * np.dtype(header.id_type).itemsize))
        found.append((f"{name}.offsets", (header.n_rows + 1) * 8))
        found.append((f"{name}.lengths", header.n_rows * 4))
    return found


def _mapped(path: Path, dtype: str) -> NDArray[Any]:
    # A plain array over the map: numpy.memmap itself makes every small slice several times slower.
    return np.asarray(np.memmap(path, dtype=dtype, mode="r"))
