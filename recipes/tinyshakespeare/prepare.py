"""Cut a plain text into the first nine tenths, to learn from, and the last tenth, to judge by.

python recipes/tinyshakespeare/prepare.py input.txt.gz recipes/tinyshakespeare/data
"""

import gzip
import sys
from pathlib import Path

VALID_SHARE = 10


def main(source: Path, folder: Path) -> None:
    """Write ``train.txt`` and ``valid.txt``."""
    read = gzip.open if source.suffix == ".gz" else open
    with read(source, "rt", encoding="utf-8", newline="\n") as file:
        text = file.read()
    cut = len(text) - len(text) // VALID_SHARE
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("train.txt", text[:cut]), ("valid.txt", text[cut:])):
        (folder / name).write_text(part, encoding="utf-8", newline="\n")
        print(f"{folder / name}: {len(part):,} characters")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
