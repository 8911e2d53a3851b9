"""The lines of a run's ``metrics.jsonl``, those that are new, and its samples."""

import json
from pathlib import Path
from typing import Any

MOST_LINES = 20_000
MOST_BYTES = 32 * 2**20


def tail(path: Path, after: int) -> tuple[list[dict[str, Any]], int]:
    """The whole lines behind a place in the file, and the place behind them."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(after if 0 <= after <= size else 0)
            begin = file.tell()
            data = file.read(MOST_BYTES)
    except OSError:
        return [], 0
    end = data.rfind(b"\n") + 1
    lines = [found for line in data[:end].splitlines() if (found := _line(line)) is not None]
    if len(lines) > MOST_LINES:  # evenly, and the last one always
        step = len(lines) / MOST_LINES
        lines = [lines[int(i * step)] for i in range(MOST_LINES - 1)] + [lines[-1]]
    return lines, begin + end


def samples(folder: Path, most_steps: int = 40, most_rows: int = 8) -> list[dict[str, Any]]:
    """What the model said at each validation, oldest first."""
    found = []
    for path in sorted(folder.glob("step-*.tsv"))[-most_steps:]:
        rows = []
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[1 : most_rows + 1]
        for line in lines:
            cells = [*line.split("\t"), "", "", ""]
            rows.append({"source": cells[0], "reference": cells[1], "hypothesis": cells[2]})
        step = path.stem.removeprefix("step-")
        if step.isdecimal():
            found.append({"step": int(step), "rows": rows})
    return found


def _line(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "step" in found else None
