"""The parts of a corpus on disk: a shard is there whole or not at all, and is never done twice.

Beside the output stands a folder with one file per finished shard, and ``job.json``, which says what the job
is. When all shards are there, they become the output, in order, and the folder goes.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from glassformer.checkpoint import write_file_atomic
from glassformer.errors import DataError
from glassformer.text.lines import read_lines

JOB = "job.json"


class Shards:
    """A corpus in parts of ``size`` lines, and what is done of it."""

    def __init__(self, source: Path, output: Path, size: int) -> None:
        self.source, self.output, self.size = source, output, size
        self.folder = output.with_name(f".{output.name}.shards")

    def begin(self, about: Mapping[str, Any]) -> int:
        """Make the folder, or go on with the one that is there; gives how many shards are done.

        ``about`` is what the job is to do: a folder of another job is refused.
        """
        wanted = {"source": _digest(self.source), "size": self.size, **about}
        self.folder.mkdir(parents=True, exist_ok=True)
        place = self.folder / JOB
        if place.exists():
            found = json.loads(place.read_text(encoding="utf-8"))
            differing = sorted(key for key in {*found, *wanted} if found.get(key) != wanted.get(key))
            if differing:
                raise DataError(
                    f"{self.folder}: holds shards of another job, which differs in {', '.join(differing)}",
                    f"rm -r {self.folder}",
                )
        else:
            write_file_atomic(place, json.dumps(wanted).encode())
        return sum(1 for _ in self.folder.glob("*.done"))

    def missing(self) -> Iterator[tuple[int, list[str]]]:
        """Number and lines of every shard that is not done, in order."""
        lines = read_lines(self.source)
        number = 0
        while part := list(islice(lines, self.size)):
            if not self._place(number).exists():
                yield number, part
            number += 1

    def keep(self, number: int, lines: Sequence[str]) -> None:
        """A shard is done; every line of it is one line."""
        text = "".join(line.replace("\n", " ") + "\n" for line in lines)
        write_file_atomic(self._place(number), text.encode())

    def finish(self) -> int:
        """Put the shards together and remove them; gives the number of lines."""
        temporary = self.output.with_name(f".{self.output.name}.partial")
        n_lines = 0
        with temporary.open("wb") as file:
            for number in range(len(list(self.folder.glob("*.done")))):
                data = self._place(number).read_bytes()
                n_lines += data.count(b"\n")
                file.write(data)
        expected = sum(1 for _ in read_lines(self.source))
        if n_lines != expected:
            temporary.unlink()
            raise DataError(
                f"{self.folder}: holds {n_lines} lines for the {expected} of {self.source}; do it again",
                f"rm -r {self.folder}",
            )
        temporary.replace(self.output)
        shutil.rmtree(self.folder)
        return n_lines

    def _place(self, number: int) -> Path:
        return self.folder / f"{number:08d}.done"


def _digest(path: Path) -> str:
    """SHA-256 of a file, by which a changed corpus is noticed."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
