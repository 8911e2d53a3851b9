"""A classifier of film reviews (SST-2) trained from nothing but its 6,920 sentences.

    python -m benchmarks.sst2 [--data FOLDER] [--runs FOLDER] [--seeds 1 2 3] [--out FOLDER]

Writes ``results.json``: accuracy on the test set, with the weights that were best on the dev set.
"""

import argparse
import statistics
from pathlib import Path

from benchmarks.measure import environment, write_results
from benchmarks.recipe_runs import RECIPES, RESULTS, SHARED, prepare, train
from glassformer.decoding import TextEncoder
from glassformer.text.lines import read_lines


def test_accuracy(model: Path, test: Path) -> float:
    """Percent of the sentences that get their label."""
    pairs = [line.rsplit("\t", 1) for line in read_lines(test)]
    found = TextEncoder.from_pretrained(model).classify([text for text, _ in pairs])
    right = sum(bool(one) and one[0].name == label for one, (_, label) in zip(found, pairs, strict=True))
    return 100 * right / len(pairs)


def main() -> None:
    """Train each seed and write its accuracy."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=SHARED / "sst2")
    parser.add_argument("--runs", type=Path, default=Path("runs") / "sst2")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--out", type=Path, default=RESULTS / "sst2")
    given = parser.parse_args()
    text = (given.runs / "data").absolute()
    prepare("sst2", given.data, text)
    files = {"data.train.labelled": text / "train.tsv", "data.valid.labelled": text / "dev.tsv"}
    found = {}
    for seed in given.seeds:
        settings = {**files, "train.seed": seed}
        done = train(RECIPES / "sst2" / "glassformer.toml", given.runs, f"seed{seed}", settings)
        best = max(float(line["accuracy"]) for line in done.validations)
        test = test_accuracy(done.path, text / "test.tsv")
        found[seed] = {"test": test, "dev": best, "minutes": round(done.minutes, 2)}
        print(f"seed {seed}: test {test:.1f} %, dev {best:.1f} %, {done.minutes:.1f} minutes")
    print(f"median {statistics.median(each['test'] for each in found.values()):.1f} %")
    write_results(given.out, {"environment": environment(), "seeds": found})


if __name__ == "__main__":
    main()
