"""Make Multi30k as the papers count it: punctuation normalised, tokenised as by Moses, lower-cased.

python recipes/multi30k/prepare.py multi30k recipes/multi30k/data

``multi30k`` is a folder with ``train.en.gz``, ``val.de.gz``, ``test_2016_flickr.fr.gz`` and so on. Each
becomes ``train.en`` …, with words between blanks. Needs the package sacremoses (in the extra dev).
"""

import sys
from pathlib import Path

from sacremoses import MosesPunctNormalizer, MosesTokenizer

from glassformer.text.lines import read_lines

LANGUAGES = ("en", "de", "fr")
PARTS = ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")


def main(source: Path, folder: Path) -> None:
    """Write one file per part and language."""
    folder.mkdir(parents=True, exist_ok=True)
    for language in LANGUAGES:
        normalise, tokenise = (
            MosesPunctNormalizer(lang=language).normalize,
            MosesTokenizer(lang=language).tokenize,
        )
        for part in PARTS:
            lines = [line.strip() for line in read_lines(source / f"{part}.{language}.gz")]
            words = [tokenise(normalise(line), escape=False, return_str=True).lower() for line in lines]
            (folder / f"{part}.{language}").write_text(
                "".join(line + "\n" for line in words), encoding="utf-8"
            )
            print(f"{folder / part}.{language}: {len(words):,} lines")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
