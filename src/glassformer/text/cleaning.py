"""What is wrong with a corpus, as data: the kind, weight and number of each finding, and where it is first.

Lines are remembered as hashes and bits, some twenty bytes each, so that ten million of them fit in memory. A
line with a ``warn`` is one that ``fixing`` leaves out; an ``info`` is only told.
"""

import hashlib
from array import array
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from glassformer.errors import DataError
from glassformer.text.corpus import Corpus
from glassformer.text.oddities import BIT, DROPPED, KINDS, Limits, Severity, look_at
from glassformer.text.scripts import SCRIPTS, script_of

N_EXAMPLES = 3
_EXCERPT = 80  # characters of each side that an example shows

Mask = NDArray[np.bool_]
Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Place:
    """A line that has a finding, counted from 1, and the beginning of its texts."""

    line: int
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """One kind of trouble, how many lines have it, and the first of them."""

    kind: str
    severity: Severity
    meaning: str
    count: int
    examples: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Report:
    """Everything found in a corpus."""

    corpus: str
    n_lines: int
    n_kept: int
    scripts: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def fatal(self) -> bool:
        """Whether nothing can be learned from this corpus as it is."""
        return any(finding.severity == "fatal" for finding in self.findings)

    @property
    def clean(self) -> bool:
        """Whether no line would be left out."""
        return all(finding.severity == "info" for finding in self.findings)

    def to_dict(self) -> dict[str, object]:
        """The report as JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class Survey:
    """The findings of each line as bits, and the usual script of each side."""

    bits: NDArray[np.uint32]
    scripts: tuple[str, ...]

    @property
    def kept(self) -> Mask:
        """Which lines have nothing that drops them."""
        kept: Mask = (self.bits & DROPPED) == 0
        return kept


def check(corpus: Corpus, valid: Corpus | None = None, limits: Limits | None = None) -> Report:
    """The report on a corpus; one that cannot be read is a fatal finding, not an exception."""
    try:
        seen = survey(corpus, valid, limits)
    except DataError as error:
        return Report(corpus.name, 0, 0, (), (Finding("unreadable", "fatal", str(error), 1),))
    lines = {kind: np.flatnonzero(seen.bits & bit) for kind, bit in BIT.items()}
    first = {kind: [int(line) for line in found[:N_EXAMPLES]] for kind, found in lines.items()}
    places = _places(corpus, {line for found in first.values() for line in found})
    findings = [
        Finding(kind, *KINDS[kind], len(found), tuple(places[line] for line in first[kind]))
        for kind, found in lines.items()
        if len(found)
    ]
    n_kept = int(seen.kept.sum())
    if not n_kept:
        findings.insert(0, Finding("nothing left", "fatal", "every line would be left out", len(seen.bits)))
    return Report(corpus.name, len(seen.bits), n_kept, seen.scripts, tuple(findings))


def survey(corpus: Corpus, valid: Corpus | None = None, limits: Limits | None = None) -> Survey:
    """The findings of each line, by one pass over the corpus and one over the validation corpus."""
    limits = Limits() if limits is None else limits
    bits, sources, rows, languages = array("I"), array("Q"), array("Q"), array("Q")
    scripts = [array("B") for _ in range(corpus.n_texts)]
    for row in corpus.rows():
        bits.append(look_at(row[: corpus.n_texts], limits))
        sources.append(_asked(corpus, row))
        rows.append(_hash(row))
        languages.append(_hash(row[len(corpus.columns) :]))
        for side, text in zip(scripts, row, strict=False):
            side.append(script_of(text))
    found = np.array(bits, dtype=np.uint32)
    by_source, by_row = np.array(sources, dtype=np.uint64), np.array(rows, dtype=np.uint64)
    told = (found & (BIT["empty"] | BIT["one side empty"])) != 0  # that blanks are alike is no news
    _mark(found, "duplicate", _repeated(by_row) & ~told)
    _mark(found, "several targets", _ambiguous(by_source, by_row) & ~told)
    if valid is not None:
        held_out = np.array([(_asked(valid, row), _hash(row)) for row in valid.rows()], dtype=np.uint64)
        _mark(found, "source in validation", np.isin(by_source, held_out[:, 0]) & ~told)
        _mark(found, "in validation", np.isin(by_row, held_out[:, 1]) & ~told)
    by_language = np.array(languages, dtype=np.uint64)
    return Survey(found, tuple(_mark_wrong_script(found, np.array(side), by_language) for side in scripts))


def _mark_wrong_script(found: NDArray[np.uint32], numbers: NDArray[np.uint8], languages: Hashes) -> str:
    """The usual scripts of a side; lines clearly in another one than their language are marked."""
    usual: dict[str, None] = {}
    for language in np.unique(languages):
        among = languages == language
        counts = np.bincount(numbers[among], minlength=len(SCRIPTS))
        counts[0] = 0
        if counts.any():
            script = int(counts.argmax())
            _mark(found, "wrong script", among & (numbers != script) & (numbers != 0))
            usual[SCRIPTS[script]] = None
    return " and ".join(usual) or SCRIPTS[0]


def _mark(found: NDArray[np.uint32], kind: str, lines: Mask) -> None:
    found[lines] |= np.uint32(BIT[kind])


def _asked(corpus: Corpus, row: tuple[str, ...]) -> int:
    """What a model is asked, as a hash: the source, and the target language where a row has one."""
    return _hash((row[0], *row[len(corpus.columns) :]))


def _hash(row: Iterable[str]) -> int:
    joined = "".join(f"{len(text)}:{text}" for text in row)  # no two rows join to the same
    return int.from_bytes(hashlib.blake2b(joined.encode(), digest_size=8).digest(), "little")


def _repeated(hashes: Hashes) -> Mask:
    """The lines that equal an earlier one."""
    _, first = np.unique(hashes, return_index=True)
    again = np.ones(len(hashes), dtype=bool)
    again[first] = False
    return again


def _ambiguous(by_source: Hashes, by_row: Hashes) -> Mask:
    """The lines whose source occurs with more than one other half."""
    _, first = np.unique(by_row, return_index=True)
    sources, counts = np.unique(by_source[first], return_counts=True)
    return np.isin(by_source, sources[counts > 1])


def _places(corpus: Corpus, wanted: set[int]) -> dict[int, Place]:
    rows = islice(corpus.rows(), max(wanted, default=-1) + 1)
    return {
        number: Place(number + 1, tuple(text[:_EXCERPT] for text in row))
        for number, row in enumerate(rows)
        if number in wanted
    }
