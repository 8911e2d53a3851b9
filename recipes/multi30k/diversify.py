"""Make several corpora of one: the pairs, and the same with sources or with targets that models wrote.

    python recipes/multi30k/diversify.py DATA de OUT --forward RUN [RUN ...] --backward RUN [RUN ...]

``DATA`` holds ``train.en`` and ``train.de``. A model *forward* translates English to German, one *backward*
German to English; all are runs or models trained on that same text. ``OUT`` gets ``train.en`` and
``train.de``, longer by the whole text for each model (Nguyen et al. 2020, arXiv 1911.01986).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from glassformer import Translator
from glassformer.text.lines import read_lines


def diversify(
    data: Path, language: str, folder: Path, *, forward: Sequence[Path], backward: Sequence[Path]
) -> None:
    """Translate both sides, and put everything together."""
    sources, targets = (list(read_lines(data / f"train.{side}")) for side in ("en", language))
    corpora = [
        (sources, targets),
        *((translated(model, targets), targets) for model in backward),
        *((sources, translated(model, sources)) for model in forward),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    for side, parts in zip(("en", language), zip(*corpora, strict=True), strict=True):
        text = "".join(f"{line}\n" for part in parts for line in part)
        (folder / f"train.{side}").write_text(text, encoding="utf-8")


def translated(model: Path, lines: list[str]) -> list[str]:
    """A translation of each line."""
    found = Translator.from_pretrained(model, precision="int8").translate(lines, beam=5, alpha=0.6)
    return [one.text for one in found]


def main() -> None:
    """What the command was given."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("language")
    parser.add_argument("out", type=Path)
    parser.add_argument("--forward", type=Path, nargs="+", required=True)
    parser.add_argument("--backward", type=Path, nargs="+", required=True)
    given = parser.parse_args()
    diversify(given.data, given.language, given.out, forward=given.forward, backward=given.backward)


if __name__ == "__main__":
    main()
