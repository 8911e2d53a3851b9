"""The files of a token store while they are written, chunk by chunk: memory does not grow with the corpus."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from glassformer.config import DataConfig
from glassformer.data.store import FORMAT, HEADER, TAGS, Header, StoreKind, side_names
from glassformer.errors import DataError, suggest
from glassformer.text import Corpus, Tokenizer
from glassformer.text.languages import Tagger

Progress = Callable[[int], None]
"""Is told how many rows of the corpus have been read so far."""

Keep = NDArray[np.bool_]


@dataclass(frozen=True)
class StoreOptions:
    """How a corpus is laid out, beside what the settings say."""

    stream: bool = True
    """Lines make one long stream with ``</s>`` after each (language models); else each is a row."""
    keep_text: bool = False
    """Keep the text beside the ids, to encode it anew in every epoch (BPE-dropout)."""
    labels: tuple[str, ...] | None = None
    """The labels that may occur, sorted: those of the training set, for a validation set."""
    language: str | None = None
    """The target language of pairs that name none, for a tokenizer with language tags."""
    chunk_rows: int = 10_000
    """Rows in memory at once; what is written does not depend on it."""


PLAIN = StoreOptions()


class StoreWriter:
    """A store being written."""

    def __init__(
        self, folder: Path, tokenizer: Tokenizer, data: DataConfig, kind: StoreKind, options: StoreOptions
    ) -> None:
        self.folder, self.kind = folder, kind
        self.tokenizer, self.data, self.options = tokenizer, data, options
        largest = max(tokenizer.size, tokenizer.source.size)
        self.id_type = np.dtype(np.uint16 if largest <= 1 << 16 else np.uint32)
        self.files: list[IO[bytes]] = []
        self.sides = [
            _SideWriter(self._open, name, self.id_type, keep_text=options.keep_text)
            for name in side_names(kind)
        ]
        self.tagger = Tagger(tokenizer, options.language)
        self.tag_file = self._open(TAGS) if kind == "pairs" and tokenizer.languages else None
        self.label_file = self._open("labels") if kind == "labelled" else None
        self.label_places = {name: place for place, name in enumerate(options.labels or ())}
        self.n_read = self.n_rows = 0
        self.dropped = {"empty": 0, "too_long": 0, "ratio": 0}

    def __enter__(self) -> "StoreWriter":
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files:
            file.close()

    def read(self, corpus: Corpus, progress: Progress | None) -> None:
        """Write all rows of the corpus that may stay."""
        rows = corpus.rows()
        while chunk := list(islice(rows, self.options.chunk_rows)):
            self._write(chunk, corpus.name)
            self.n_read += len(chunk)
            if progress is not None:
                progress(self.n_read)
        n_ends = self.n_read if self.kind == "stream" else 0
        if self.sides[0].n_tokens == n_ends:
            raise DataError(self._nothing_left(corpus.name))

    def finish(self, fingerprint: str) -> None:
        """Write the header, which makes the folder a store, when all else is safely on the disk."""
        for file in self.files:
            file.flush()
            os.fsync(file.fileno())
        header = Header(
            format=FORMAT,
            fingerprint=fingerprint,
            kind=self.kind,
            n_rows=self.n_rows,
            n_tokens=tuple(side.n_tokens for side in self.sides),
            id_type="uint16" if self.id_type == np.uint16 else "uint32",
            max_length=self.data.max_length,
            dropped=self.dropped,
            labels=self._sort_labels(),
            has_text=self.options.keep_text,
            has_tags=self.tag_file is not None,
        )
        file = self._open(HEADER)
        file.write(header.model_dump_json(indent=2).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())

    def _open(self, name: str) -> IO[bytes]:
        file = (self.folder / name).open("wb")
        self.files.append(file)
        return file

    def _write(self, chunk: list[tuple[str, ...]], where: str) -> None:
        tags = self._tags(chunk, where) if self.kind == "pairs" else []
        columns = list(zip(*(row[:2] for row in chunk), strict=True))
        encoded = [self._encode(place, columns[place]) for place in range(len(self.sides))]
        lengths = [np.fromiter(map(len, rows), np.int64, len(rows)) for rows in encoded]
        keep = self._kept(lengths)
        kept = np.flatnonzero(keep).tolist()
        if self.label_file is not None:
            self._write_labels([columns[1][row] for row in kept], where)
        if self.tag_file is not None:
            self.tag_file.write(np.array([tags[row] for row in kept], self.id_type).tobytes())
        for side, texts, rows, length in zip(self.sides, columns, encoded, lengths, strict=False):
            side.write([rows[row] for row in kept], length[keep], [texts[row] for row in kept])
        self.n_rows += len(kept)

    def _tags(self, chunk: list[tuple[str, ...]], where: str) -> list[int | None]:
        """The tag of each pair, none where the tokenizer has none; a row is also a line of its file."""
        return [
            self.tagger.tag(row[2] if len(row) > 2 else None, f"{where}: line {number}")
            for number, row in enumerate(chunk, start=self.n_read + 1)
        ]

    def _encode(self, place: int, texts: Sequence[str]) -> list[list[int]]:
        if self.kind == "pairs" and place == 0:
            return self.tokenizer.encode_source(texts)
        rows = self.tokenizer.encode_target(texts)
        return [[*row, self.tokenizer.eos_id] for row in rows] if self.kind == "stream" else rows

    def _kept(self, lengths: list[NDArray[np.int64]]) -> Keep:
        """Which rows may stay; the others are counted, each for the first reason that holds."""
        if self.kind == "stream":  # a blank line is a paragraph's end, and windows cut what is long
            return np.ones(len(lengths[0]), dtype=bool)
        shorter, longer = np.minimum(lengths[0], lengths[-1]), np.maximum(lengths[0], lengths[-1])
        empty = shorter == 0
        too_long = ~empty & (longer > self.data.max_length)
        ratio = ~empty & ~too_long & (longer > self.data.max_ratio * shorter)
        for reason, found in (("empty", empty), ("too_long", too_long), ("ratio", ratio)):
            self.dropped[reason] += int(found.sum())
        kept: Keep = ~(empty | too_long | ratio)
        return kept

    def _write_labels(self, names: list[str], where: str) -> None:
        for name in names:
            if name not in self.label_places:
                if self.options.labels is not None:
                    known = ", ".join(self.options.labels)
                    raise DataError(
                        f"{where}: label {name!r} does not occur in the training set"
                        f"{suggest(name, self.options.labels)}; it has {known}"
                    )
                self.label_places[name] = len(self.label_places)
        if self.label_file is not None:
            places = np.fromiter((self.label_places[name] for name in names), np.int32, len(names))
            self.label_file.write(places.tobytes())

    def _sort_labels(self) -> tuple[str, ...]:
        """The names in order; labels were numbered as they came, and are now numbered by it."""
        names = sorted(self.label_places)
        if names != list(self.label_places):
            places = np.memmap(self.folder / "labels", dtype=np.int32, mode="r+")
            sorted_place = {name: place for place, name in enumerate(names)}
            places[:] = np.array([sorted_place[name] for name in self.label_places], np.int32)[places]
            places.flush()
        return tuple(names)

    def _nothing_left(self, name: str) -> str:
        things = {"pairs": "pairs", "labelled": "texts", "lines": "lines", "stream": "lines"}[self.kind]
        if self.kind == "stream":
            return f"{name}: all of its {self.n_read} lines are blank; there is nothing to learn"
        counted = self.dropped
        return (
            f"{name}: all {things} are left out, {self.n_read} of {self.n_read} ({counted['empty']} empty, "
            f"{counted['too_long']} longer than max_length = {self.data.max_length} tokens, "
            f"{counted['ratio']} beyond max_ratio = {self.data.max_ratio:g}); "
            "mend the corpus or widen the limits in [data]"
        )


class _SideWriter:
    """One side of a store being written."""

    def __init__(
        self, open_file: Callable[[str], IO[bytes]], name: str, id_type: np.dtype[Any], *, keep_text: bool
    ) -> None:
        self.id_type = id_type
        self.n_tokens = self.n_bytes = 0
        self.ids, self.lengths = open_file(f"{name}.ids"), open_file(f"{name}.lengths")
        self.offsets = open_file(f"{name}.offsets")
        self.offsets.write(np.int64(0).tobytes())
        self.text = open_file(f"{name}.text") if keep_text else None
        self.text_offsets = open_file(f"{name}.text_offsets") if keep_text else None
        if self.text_offsets is not None:
            self.text_offsets.write(np.int64(0).tobytes())

    def write(self, rows: list[list[int]], lengths: NDArray[np.int64], texts: list[str]) -> None:
        """Append rows."""
        flat: Iterator[int] = chain.from_iterable(rows)
        ends = self.n_tokens + lengths.cumsum()
        self.ids.write(np.fromiter(flat, self.id_type, int(lengths.sum())).tobytes())
        self.lengths.write(lengths.astype(np.int32).tobytes())
        self.offsets.write(ends.tobytes())
        self.n_tokens += int(lengths.sum())
        if self.text is not None and self.text_offsets is not None:
            pieces = [text.encode() for text in texts]
            ends = self.n_bytes + np.fromiter(map(len, pieces), np.int64, len(pieces)).cumsum()
            self.text.write(b"".join(pieces))
            self.text_offsets.write(ends.tobytes())
            self.n_bytes += sum(map(len, pieces))
