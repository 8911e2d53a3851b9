"""How much memory a corpus needs on its way to batches, however long it is.

Generates pairs of lines on the fly, so that nothing but the store grows with their number; prepares a store
of them in a process of its own, then plans an epoch and makes batches of it.

    python -m benchmarks.store_memory [--lines N …] [--out FOLDER]

Writes ``results.json``. The memory of the process before anything is read is given beside its peak: most of
it is PyTorch itself. Once batches are made, the peak also counts pages of the store that happen to be in
memory and that the system may drop; what it may not drop is given as ``own``. Linux only.
"""

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks.measure import environment, write_results
from glassformer.config import CorpusFiles, DataConfig, TokenizerConfig, TrainConfig
from glassformer.data import Batches, build_store
from glassformer.text import Pairs, Tokenizer

LIMIT_MB = 500
SEED = 1
N_WORDS, N_TOKENIZER_LINES, N_BATCHES = 20_000, 20_000, 100
DEFAULT_FOLDER = Path(__file__).parent / "results" / "store_memory"


class GeneratedPairs(Pairs):
    """Pairs of made-up words, 4 to 24 on a side, a few of them empty; the same ones every time."""

    def __init__(self, n_lines: int) -> None:
        super().__init__("list", [])
        self.n_lines = n_lines
        random = Random(SEED)
        letters = "etaoinshrdlucmfwypvbgk"
        self.words = ["".join(random.choices(letters, k=random.randint(1, 10))) for _ in range(N_WORDS)]
        # The fingerprint of a corpus is a cached property of its bytes; of these there is nothing to read.
        self.__dict__["fingerprint"] = hashlib.sha256(f"generated {SEED} {n_lines}".encode()).hexdigest()

    def _read(self) -> Iterator[tuple[str, ...]]:
        random, words = Random(SEED), self.words
        for number in range(self.n_lines):
            n_source, n_target = 4 + number % 21, 4 + number % 20
            first = random.randrange(N_WORDS - 48)
            source = " ".join(words[first : first + n_source])
            target = " ".join(words[first + 24 : first + 24 + n_target])
            yield ("" if number % 1000 == 999 else source), target


def peak_mb() -> float:
    """The most memory this process has held so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def own_mb() -> float:
    """The memory that this process holds now and that is no page of a file, in MB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024 / 1e6


def measure(n_lines: int) -> dict[str, float]:
    """The figures of one run in this process."""
    corpus = GeneratedPairs(n_lines)
    texts = [text for pair in GeneratedPairs(N_TOKENIZER_LINES) for text in pair]
    tokenizer = Tokenizer.train(texts, TokenizerConfig(vocab_size=8000))
    del texts
    before, start = peak_mb(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        files = DataConfig(train=CorpusFiles(src="generated.en", tgt="generated.fr"))
        store = build_store(Path(folder) / "store", corpus, tokenizer, files)
        seconds, built = time.perf_counter() - start, peak_mb()
        batches = Batches(store, tokenizer, TrainConfig())
        start = time.perf_counter()
        order = batches.plan.epoch(0)
        planning = time.perf_counter() - start
        del order
        start = time.perf_counter()
        made = [batches.batch(position) for position in range(min(N_BATCHES, len(batches)))]
        n_tokens = sum(batch.n_source + batch.n_targets for batch in made)
        size = sum(path.stat().st_size for path in store.folder.iterdir())
        return {
            "lines": n_lines,
            "kept": len(store),
            "tokens": sum(store.header.n_tokens),
            "store_mb": size / 1e6,
            "peak_before_mb": before,
            "peak_built_mb": built,
            "peak_with_batches_mb": peak_mb(),
            "own_with_batches_mb": own_mb(),
            "lines_per_second": n_lines / seconds,
            "epoch_order_seconds": planning,
            "batch_tokens_per_second": n_tokens / (time.perf_counter() - start),
        }


def main() -> None:
    """Measure every size in a child process, print and keep the figures."""
    parser = argparse.ArgumentParser(description="The memory that preparing a corpus takes.")
    parser.add_argument("--lines", type=int, nargs="+", default=[10_000_000], help="pairs to generate")
    parser.add_argument("--out", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.lines[0])))
        return
    runs = []
    for n_lines in options.lines:
        command = [sys.executable, "-m", "benchmarks.store_memory", "--child", "--lines", str(n_lines)]
        runs.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        print({name: round(value, 2) for name, value in runs[-1].items()}, flush=True)
    write_results(options.out, {"environment": environment(), "limit_mb": LIMIT_MB, "runs": runs})
    worst = max(run["peak_built_mb"] for run in runs)
    print(f"peak while preparing: {worst:.0f} MB of {LIMIT_MB} MB allowed")
    sys.exit(worst > LIMIT_MB)


if __name__ == "__main__":
    main()
