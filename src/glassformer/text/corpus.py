"""Corpora: pairs, lines and labelled text, read lazily and as often as wanted.

A corpus keeps no text in memory: each ``iter`` opens the files anew. Nothing is dropped or changed here, so
that line numbers stay true; ``cleaning`` says what is wrong with a corpus and ``fixing`` leaves it out.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from glassformer.config import CorpusFiles
from glassformer.errors import DataError
from glassformer.text.lines import lone_surrogate, read_lines

Format = Literal["files", "tsv", "jsonl", "text", "list"]


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


LANGUAGE = "lang"
"""What a table calls the target language of a pair: a key of ``.jsonl``, the third column of ``.tsv``."""


class Example(NamedTuple):
    """A text and what it is called."""

    text: str
    label: str


class View:
    """Texts that can be iterated again and again, as training a tokenizer needs."""

    def __init__(self, start: Callable[[], Iterator[str]]) -> None:
        self._start = start

    def __iter__(self) -> Iterator[str]:
        return self._start()


class Corpus(ABC):
    """What pairs, lines and labelled text have in common: rows, texts and a fingerprint."""

    columns: ClassVar[tuple[str, ...]]
    """What a row holds."""
    n_texts: ClassVar[int]
    """How many columns, from the first, are texts; a label is none."""
    optional: ClassVar[str | None] = None
    """A column that a row of a table may have after these."""

    def __init__(self, format: Format, paths: Sequence[Path], rows: Sequence[tuple[str, ...]] = ()) -> None:
        self.format = format
        self.paths = tuple(paths)
        self._given = rows

    @property
    def name(self) -> str:
        """The files, for messages."""
        return " and ".join(map(str, self.paths)) or "the given list"

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the bytes and of how they are read: another corpus has another one."""
        whole = hashlib.sha256(f"{type(self).__name__} {self.format}\n".encode())
        for path in self.paths:
            whole.update(_file_digest(path))
        for row in self._given:
            whole.update(json.dumps(row).encode() + b"\n")
        return whole.hexdigest()

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Every row in its order, as text; an empty corpus is refused."""
        empty = True
        for row in self._read():
            empty = False
            yield row
        if empty:
            raise DataError(f"{self.name}: there is no line in it; a corpus needs at least one")

    @property
    @abstractmethod
    def texts(self) -> View:
        """Every text that a model may see."""

    def named(self, row: tuple[str, ...]) -> dict[str, str]:
        """A row as an object of ``.jsonl``."""
        return dict(zip((*self.columns, str(self.optional)), row, strict=False))

    def _read(self) -> Iterator[tuple[str, ...]]:
        match self.format:
            case "files":
                return _side_by_side(*self.paths)
            case "tsv":
                return _read_tsv(self.paths[0], self.columns, self.optional)
            case "jsonl":
                return _read_jsonl(self.paths[0], self.columns, self.optional)
            case "text":
                return ((line,) for line in read_lines(self.paths[0]))
            case "list":
                return iter(self._given)


class Pairs(Corpus):
    """Sentences and their translations; ``rows`` has the target language as well, where a pair says it."""

    columns = Pair._fields
    n_texts = 2
    optional = LANGUAGE

    @classmethod
    def from_files(cls, source: Path | str, target: Path | str) -> "Pairs":
        """Pairs from two files, line by line beside each other."""
        return cls("files", [Path(source), Path(target)])

    @classmethod
    def from_tsv(cls, path: Path | str) -> "Pairs":
        """Pairs from lines of ``source TAB target``, with a third column that names the target language."""
        return cls("tsv", [Path(path)])

    @classmethod
    def from_jsonl(cls, path: Path | str) -> "Pairs":
        """Pairs from lines of ``{"source": …, "target": …, "lang": …}``; other keys are passed over.

        ``lang`` is the target language of a multilingual model and may be missing.
        """
        return cls("jsonl", [Path(path)])

    @classmethod
    def from_list(cls, pairs: Iterable[tuple[str, str] | tuple[str, str, str]]) -> "Pairs":
        """Pairs that are already in memory, each with its target language or without."""
        given = [tuple(pair) for pair in pairs]
        for number, pair in enumerate(given, start=1):
            if len(pair) not in (2, 3):
                raise DataError(f"the given list: pair {number} has {len(pair)} parts; it should have two")
        return cls("list", [], given)

    def __iter__(self) -> Iterator[Pair]:
        return (Pair(*row[:2]) for row in self.rows())

    @property
    def languages(self) -> Iterator[str | None]:
        """The target language that each pair names."""
        return (row[2] if len(row) > 2 else None for row in self.rows())

    @property
    def sources(self) -> View:
        """The source side."""
        return View(lambda: (pair.source for pair in self))

    @property
    def targets(self) -> View:
        """The target side."""
        return View(lambda: (pair.target for pair in self))

    @property
    def texts(self) -> View:
        """Both sides, pair by pair."""
        return View(lambda: (side for pair in self for side in pair))


class Lines(Corpus):
    """Plain text, one piece per line."""

    columns = ("text",)
    n_texts = 1

    @classmethod
    def from_file(cls, path: Path | str) -> "Lines":
        """The lines of a file."""
        return cls("text", [Path(path)])

    @classmethod
    def from_list(cls, lines: Iterable[str]) -> "Lines":
        """Lines that are already in memory."""
        return cls("list", [], [(line,) for line in lines])

    def __iter__(self) -> Iterator[str]:
        return (line for (line,) in self.rows())

    @property
    def texts(self) -> View:
        """The lines themselves."""
        return View(lambda: iter(self))


class Labelled(Corpus):
    """Texts with a label, for classifiers."""

    columns = Example._fields
    n_texts = 1

    @classmethod
    def from_tsv(cls, path: Path | str) -> "Labelled":
        """Examples from lines of ``text TAB label``."""
        return cls("tsv", [Path(path)])

    @classmethod
    def from_jsonl(cls, path: Path | str) -> "Labelled":
        """Examples from lines of ``{"text": …, "label": …}``; other keys are passed over."""
        return cls("jsonl", [Path(path)])

    @classmethod
    def from_list(cls, examples: Iterable[tuple[str, str]]) -> "Labelled":
        """Examples that are already in memory."""
        return cls("list", [], [Example(*example) for example in examples])

    def __iter__(self) -> Iterator[Example]:
        return (Example(text, label) for text, label in self.rows())

    @property
    def texts(self) -> View:
        """The texts without their labels."""
        return View(lambda: (example.text for example in self))


def open_corpus(files: CorpusFiles, base: Path) -> Pairs | Lines | Labelled:
    """The corpus that a run's settings name; paths are relative to ``base``. Nothing is read yet."""
    if files.src is not None and files.tgt is not None:
        return Pairs.from_files(base / files.src, base / files.tgt)
    if files.text is not None:
        return Lines.from_file(base / files.text)
    if files.pairs is not None:
        path = base / files.pairs
        return Pairs(_table_format(path), [path])
    path = base / str(files.labelled)  # the settings say one of the four
    return Labelled(_table_format(path), [path])


def _table_format(path: Path) -> Literal["tsv", "jsonl"]:
    match path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix:
        case ".tsv":
            return "tsv"
        case ".jsonl":
            return "jsonl"
        case _:
            raise DataError(f"{path}: a table of text is a .tsv or a .jsonl file, or one of them as .gz")


def _side_by_side(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    left, right = read_lines(source), read_lines(target)
    for n_pairs, (first, second) in enumerate(zip_longest(left, right)):
        if first is None or second is None:
            n_source = n_pairs + (first is not None) + sum(1 for _ in left)
            n_target = n_pairs + (second is not None) + sum(1 for _ in right)
            raise DataError(f"{source} has {n_source} lines, {target} has {n_target}; they must pair up")
        yield first, second


def _read_tsv(path: Path, columns: tuple[str, ...], optional: str | None) -> Iterator[tuple[str, ...]]:
    allowed = (len(columns), len(columns) + (optional is not None))
    for number, line in enumerate(read_lines(path), start=1):
        row = tuple(line.split("\t"))
        if len(row) not in allowed:
            wanted = ", TAB, ".join(columns) + ("" if optional is None else f", and maybe TAB, {optional}")
            count = "1 column" if len(row) == 1 else f"{len(row)} columns"
            raise DataError(f"{path}: line {number} has {count}; it should be {wanted}")
        yield row


def _read_jsonl(path: Path, columns: tuple[str, ...], optional: str | None) -> Iterator[tuple[str, ...]]:
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path}: line {number}"
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{where} is not JSON ({error.msg} at column {error.colno})") from None
        except (ValueError, RecursionError):  # a number of thousands of digits, brackets without end
            raise DataError(f"{where} is not JSON that can be read") from None
        if not isinstance(entry, dict):
            raise DataError(f"{where} is not an object; it should have the keys {' and '.join(columns)}")
        more = (optional,) if optional is not None and optional in entry else ()
        yield tuple(_field(entry, key, where) for key in (*columns, *more))


def _field(entry: dict[str, object], key: str, where: str) -> str:
    if key not in entry:
        raise DataError(f"{where} has no key {key!r}")
    value = entry[key]
    if not isinstance(value, str):
        raise DataError(f"{where}: {key} = {json.dumps(value)[:40]} should be text in quotes")
    if (place := lone_surrogate(value)) is not None:
        raise DataError(f"{where}: {key} has half a character (the lone surrogate U+{ord(value[place]):04X})")
    return value


def _file_digest(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
