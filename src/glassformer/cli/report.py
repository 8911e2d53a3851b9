"""What verbs print: data on standard output, everything for people on standard error."""

import json
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text


def console() -> Console:
    """Standard error, for people."""
    return Console(stderr=True, soft_wrap=True, highlight=False)


def say(*lines: str) -> None:
    """Lines for people; nothing in them is markup."""
    stderr = console()
    for line in lines:
        stderr.print(Text(line))


def show(text: str) -> None:
    """A line of data."""
    sys.stdout.write(text + "\n")


def show_json(data: object) -> None:
    """Data for programs: strict JSON, one object."""
    show(json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False))


def table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows as aligned columns."""
    rows = [list(row) for row in rows]
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    padded = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
    return ["  ".join(cells).rstrip() for cells in padded]
