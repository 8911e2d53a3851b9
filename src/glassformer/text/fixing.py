"""A corpus without the lines that should not be learned from."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from glassformer.errors import DataError
from glassformer.text.atomic import replacing
from glassformer.text.cleaning import survey
from glassformer.text.corpus import Corpus
from glassformer.text.oddities import DROPPED, Limits, kinds_of

DROPPED_NAME = "dropped.tsv"
"""The list of what was left out: the number of a line, TAB, why."""


@dataclass(frozen=True)
class Verdict:
    """A row, and why it is left out; it is kept if there is no reason."""

    line: int
    row: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Fixed:
    """What ``fix`` kept and dropped, and where it wrote."""

    n_kept: int
    n_dropped: int
    reasons: dict[str, int]
    """How many dropped lines have each finding; a line may have several."""
    paths: tuple[Path, ...]

    def to_dict(self) -> dict[str, object]:
        """The outcome as JSON has it."""
        return asdict(self) | {"paths": [str(path) for path in self.paths]}


def sift(corpus: Corpus, valid: Corpus | None = None, limits: Limits | None = None) -> Iterator[Verdict]:
    """Every row of a corpus in its order, with the reasons to leave it out. The corpus is read twice."""
    bits = survey(corpus, valid, limits).bits
    for line, (row, found) in enumerate(zip(corpus.rows(), bits, strict=True), start=1):
        yield Verdict(line, row, kinds_of(int(found) & DROPPED))


def fix(corpus: Corpus, out: Path, valid: Corpus | None = None, limits: Limits | None = None) -> Fixed:
    """Write the rows worth keeping into a directory, in the corpus' own format, unpacked.

    Each file appears whole or not at all. ``dropped.tsv`` says which lines are not among them, and why.
    """
    targets = [out / name for name in _names(corpus)]
    _refuse_to_overwrite(corpus, targets)
    reasons: Counter[str] = Counter()
    n_kept = n_dropped = 0
    try:
        out.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            log = stack.enter_context(replacing(out / DROPPED_NAME))
            files = [stack.enter_context(replacing(path)) for path in targets]
            for verdict in sift(corpus, valid, limits):
                if verdict.reasons:
                    n_dropped += 1
                    reasons.update(verdict.reasons)
                    log.write(f"{verdict.line}\t{', '.join(verdict.reasons)}\n".encode())
                else:
                    n_kept += 1
                    _write(corpus, verdict.row, files)
            if not n_kept:
                raise DataError(f"{corpus.name}: nothing is left of {n_dropped} lines; nothing was written")
    except OSError as error:
        raise DataError(f"{error.filename or out}: {error.strerror}") from None
    return Fixed(n_kept, n_dropped, dict(reasons), (*targets, out / DROPPED_NAME))


def _names(corpus: Corpus) -> list[str]:
    names = [path.name.removesuffix(".gz") for path in corpus.paths] or ["corpus.jsonl"]
    if len(set(names)) < len(names):  # en/train.txt and fr/train.txt
        return [f"{side}.{name}" for side, name in zip(("source", "target"), names, strict=True)]
    return names


def _refuse_to_overwrite(corpus: Corpus, targets: Iterable[Path]) -> None:
    sources = {path.resolve() for path in corpus.paths}
    for path in targets:
        if path.resolve() in sources:
            raise DataError(f"{path}: this is the corpus that is being read; choose another directory")


def _write(corpus: Corpus, row: tuple[str, ...], files: list[IO[bytes]]) -> None:
    match corpus.format:
        case "files" | "text":
            for file, text in zip(files, row, strict=True):
                file.write(text.encode() + b"\n")
        case "tsv":
            files[0].write("\t".join(row).encode() + b"\n")
        case "jsonl" | "list":
            files[0].write(json.dumps(corpus.named(row), ensure_ascii=False).encode() + b"\n")
