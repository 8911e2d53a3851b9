"""A character model of Shakespeare in nanoGPT's setting for a CPU; its README gives a loss of 1.88.

    python -m benchmarks.character_model [--data FILE] [--runs FOLDER] [--seeds 1 2 3] [--out FOLDER]

Writes ``results.json``. The loss is in nats per character over the whole last tenth of the text, in windows
of 64 characters as in training.
"""

import argparse
import statistics
from pathlib import Path

from benchmarks.measure import environment, write_results
from benchmarks.recipe_runs import RECIPES, RESULTS, SHARED, prepare, train

NANOGPT_LOSS = 1.88


def main() -> None:
    """Train each seed and write the losses."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=SHARED / "tinyshakespeare" / "input.txt.gz")
    parser.add_argument("--runs", type=Path, default=Path("runs") / "character_model")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--out", type=Path, default=RESULTS / "character_model")
    given = parser.parse_args()
    text = (given.runs / "data").absolute()
    prepare("tinyshakespeare", given.data, text)
    files = {"data.train.text": text / "train.txt", "data.valid.text": text / "valid.txt"}
    found = {}
    for seed in given.seeds:
        settings = {**files, "train.seed": seed}
        done = train(RECIPES / "tinyshakespeare" / "glassformer.toml", given.runs, f"seed{seed}", settings)
        found[seed] = {"loss": float(done.validations[-1]["loss"]), "minutes": round(done.minutes, 2)}
        print(f"seed {seed}: {found[seed]['loss']:.3f} after {done.steps:,} updates, {done.minutes:.1f} min")
    losses = [each["loss"] for each in found.values()]
    print(f"median {statistics.median(losses):.3f}; nanoGPT's README: {NANOGPT_LOSS}")
    write_results(given.out, {"environment": environment(), "nanogpt": NANOGPT_LOSS, "seeds": found})


if __name__ == "__main__":
    main()
