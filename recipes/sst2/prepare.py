"""Unpack the three files of SST-2: text, TAB, label.

python recipes/sst2/prepare.py sst2 recipes/sst2/data

``sst2`` is a folder with ``train.tsv.gz``, ``dev.tsv.gz`` and ``test.tsv.gz``.
"""

import sys
from pathlib import Path

from glassformer.text.lines import read_lines


def main(source: Path, folder: Path) -> None:
    """Write ``train.tsv``, ``dev.tsv`` and ``test.tsv``, with labels that are words."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {"0": "negative", "1": "positive"}
    for part in ("train", "dev", "test"):
        pairs = [line.rsplit("\t", 1) for line in read_lines(source / f"{part}.tsv.gz") if line.strip()]
        text = "".join(f"{sentence.strip()}\t{names[label.strip()]}\n" for sentence, label in pairs)
        (folder / f"{part}.tsv").write_text(text, encoding="utf-8")
        print(f"{folder / part}.tsv: {len(pairs):,} sentences")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
