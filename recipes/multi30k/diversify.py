"""Make three corpora of one: the pairs, the same with sources and the same with targets that models wrote.

python recipes/multi30k/diversify.py DATA de FORWARD BACKWARD OUT

``DATA`` holds ``train.en`` and ``train.de``; ``FORWARD`` is a run or model from English to German and
``BACKWARD`` one from German to English, both trained on that same text. ``OUT`` gets ``train.en`` and
``train.de``, three times as long (Nguyen et al. 2020, arXiv 1911.01986, here with one model each way).
"""

import sys
from pathlib import Path

from glassformer import Translator
from glassformer.text.lines import read_lines


def main(data: Path, language: str, forward: Path, backward: Path, folder: Path) -> None:
    """Translate both sides, and put everything together."""
    sources, targets = (list(read_lines(data / f"train.{side}")) for side in ("en", language))
    folder.mkdir(parents=True, exist_ok=True)
    write([*sources, *translated(backward, targets), *sources], folder / "train.en")
    write([*targets, *targets, *translated(forward, sources)], folder / f"train.{language}")


def translated(model: Path, lines: list[str]) -> list[str]:
    """A translation of each line."""
    found = Translator.from_pretrained(model, precision="int8").translate(lines, beam=5, alpha=0.6)
    return [one.text for one in found]


def write(lines: list[str], path: Path) -> None:
    """One line each."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), Path(sys.argv[5]))
