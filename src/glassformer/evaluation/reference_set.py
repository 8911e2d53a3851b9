"""A test set on disk: sources, and one or more references for each."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from glassformer.errors import DataError
from glassformer.text.lines import read_lines


class ReferenceSet(NamedTuple):
    """Sources with all their references, which may differ in number."""

    sources: list[str]
    references: list[list[str]]


def read_reference_set(source: Path | str, references: Sequence[Path | str]) -> ReferenceSet:
    """The lines of a source file beside those of its reference files.

    The first reference file has one for every sentence. A blank line in a further one means that there is no
    further reference for this sentence.
    """
    sources = list(read_lines(Path(source)))
    if not references:
        raise DataError(f"{source}: there is nothing to compare with; name at least one file of references")
    if not sources:
        raise DataError(f"{source}: there is no line in it; a test set needs at least one")
    columns = [list(read_lines(Path(path))) for path in references]
    for path, column in zip(references, columns, strict=True):
        if len(column) != len(sources):
            raise DataError(f"{source} has {len(sources)} lines, {path} has {len(column)}; they must pair up")
    for number, (text, reference) in enumerate(zip(sources, columns[0], strict=True), start=1):
        if text.strip() and not reference.strip():
            raise DataError(
                f"{references[0]}: line {number} is blank; the first file of references needs one for every "
                "sentence, only further ones may have gaps"
            )
    rows = zip(*columns, strict=True)
    return ReferenceSet(
        sources, [[first, *(other for other in more if other.strip())] for first, *more in rows]
    )
