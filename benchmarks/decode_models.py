"""The model of the paper's base size that ``benchmarks.decode_speed`` is run on.

    python -m benchmarks.decode_models [--data FILE] [--runs FOLDER]

It has 6+6 layers of 512 with feed-forward layers of 2,048 and a vocabulary of 32,000, and is trained on
Tatoeba's English–French pairs just enough that its outputs end: 300 small updates, about 20 minutes on one
core. Called again, it goes on where it was stopped. Prints how to measure it.
"""

import argparse
from pathlib import Path

from benchmarks.recipe_runs import SHARED, prepare, train

CONFIG = Path(__file__).with_name("decode_base.toml")


def main() -> None:
    """Train it, or say where it is."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=SHARED / "tatoeba" / "en-fr.tsv.gz")
    parser.add_argument("--runs", type=Path, default=Path("runs") / "decode_models")
    given = parser.parse_args()
    pairs = (given.runs / "data").absolute()
    prepare("en-fr", given.data, pairs)
    files = {"data.train": pairs / "train.tsv", "data.valid": pairs / "dev.tsv"}
    done = train(CONFIG, given.runs, "base-32k", files)
    print(f"{done.path}: {done.steps:,} updates in {done.minutes:.0f} minutes")
    texts = f"{pairs / 'test.en'} {pairs / 'test.fr.1'}"
    print(f"python -m benchmarks.decode_speed --model {done.path} {texts}")


if __name__ == "__main__":
    main()
