"""How fast training is: real target tokens per second, beside the peers, in alternating rounds.

Everyone trains the same model on the same batches of Multi30k (en→de, one joint BPE, sorted by length), by
whole updates: forward, label-smoothed loss, backward, clipping, Adam; float32. Peers run at the best of their
settings, in processes and environments of their own, which are made on the first run (some gigabytes).

    python -m benchmarks.train_speed [--models tiny base] [--peers marian torch joeynmt eole] [--rounds 5]
                                     [--batches K] [--data FOLDER] [--out FOLDER] [--threads 2] [--quick]

Writes ``results.json`` (every measurement), ``table.md``, ``plot.svg`` and ``plot.png``.
"""

import argparse
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from benchmarks.measure import environment, write_results
from benchmarks.speed_peers.batches import Summary, write_batches
from benchmarks.speed_peers.contest import CONTESTANTS, OURS, Field, Task, Turn, assemble, close, play
from benchmarks.speed_peers.twin import FIRST, FLOAT32, FLOAT64, Comparison, compare
from benchmarks.speed_peers.worker import CLIP_NORM, SMOOTHING, Shape, read_batches

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data" / "multi30k"
VOCAB_SIZE = 10_000
BATCH_TOKENS = 4096
SHAPES = {
    "tiny": Shape(d_model=128, d_ff=256, n_heads=4, n_layers=4, dropout=0.3, vocab_size=VOCAB_SIZE),
    "base": Shape(d_model=512, d_ff=2048, n_heads=8, n_layers=6, dropout=0.1, vocab_size=VOCAB_SIZE),
}
BATCHES = {"tiny": 4, "base": 2}
"""A base update takes seconds."""


class Range(NamedTuple):
    """The median of rounds, the least and the most."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Range":
        """Of one value per round."""
        return cls(statistics.median(values), min(values), max(values))


class Result(NamedTuple):
    """What was found out about one model."""

    shape: Shape
    summary: Summary
    n_targets: int
    """Real target tokens of the batches of a round."""
    field: Field
    turns: dict[str, list[Turn]]
    twin: Comparison

    def speed(self, name: str) -> Range:
        """Real target tokens per second."""
        return Range.of([self.n_targets / sum(turn.seconds) for turn in self.turns[name]])

    def ratio(self, name: str, *, processor: bool = False) -> Range:
        """How many times as fast we are, round by round: by the clock, or by the time of the processors."""

        def cost(turn: Turn) -> float:
            return sum(turn.processor_seconds if processor else turn.seconds)

        pairs = zip(self.turns[name], self.turns[OURS], strict=True)
        return Range.of([cost(theirs) / cost(own) for theirs, own in pairs])


def measure(model: str, options: argparse.Namespace) -> Result:
    """Everything about one model."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "batches.npz"
        summary = write_batches(
            file,
            options.data,
            vocab_size=VOCAB_SIZE,
            batch_tokens=options.batch_tokens,
            n_batches=options.batches or BATCHES[model],
        )
        shape = SHAPES[model]._replace(vocab_size=summary.vocab_size)
        batches = read_batches(str(file))
        twin = compare(shape, batches)
        for precision, curves in twin._asdict().items():
            print(f"{model}, {precision}: losses without dropout, ours {_losses(curves.ours)}")
            print(f"{model}, {precision}: losses without dropout, twin {_losses(curves.twin)}")
        print(f"{model}: {_twin_in_words(twin)}", flush=True)
        task = Task(file, shape, options.threads, folder)
        field = assemble([OURS, *options.peers], task, batch=len(batches) // 2)
        try:
            turns = play(field, options.rounds, range(len(batches)))
        finally:
            close(field.children)
    return Result(shape, summary, sum(batch.n_targets for batch in batches), field, turns, twin)


def _losses(values: Sequence[float]) -> str:
    return " ".join(f"{value:.4f}" for value in values)


# --- What is told


def markdown(results: Mapping[str, Result]) -> str:
    """A table for each model."""
    parts = [part for model, result in results.items() for part in _about(model, result)]
    parts.append("Median of the rounds (least – most); ratios are taken round by round.")
    return "\n\n".join(parts) + "\n"


def _about(model: str, result: Result) -> list[str]:
    shape = result.shape
    head = (
        f"**{model}**: {shape.n_layers}+{shape.n_layers} layers, {shape.d_model}/{shape.d_ff}, "
        f"{shape.n_heads} heads, vocabulary {shape.vocab_size:,}, dropout {shape.dropout}; "
        f"{len(result.summary.shapes)} batches a round with {result.n_targets:,} real target tokens "
        f"({result.summary.fill:.1%} of the padded ones)"
    )
    rows = [
        "| | setting | target tokens/s | Glassformer is × as fast | the same by processor time |",
        "|---|---|--:|--:|--:|",
        *(_row(name, result) for name in result.turns),
        *(
            f"| {CONTESTANTS[name].title} | – | could not run: {reason} | – | – |"
            for name, reason in result.field.missing.items()
        ),
    ]
    return [head, "\n".join(rows), _twin_in_words(result.twin)]


def _twin_in_words(twin: Comparison) -> str:
    double, single = twin.float64, twin.float32
    return (
        f"Without dropout, the losses of {len(double.ours)} updates differ from those of an unfused twin "
        f"(`nn.Transformer` with the same weights, plain cross-entropy, plain Adam) by at most "
        f"{double.difference():.1e} in float64 (allowed: {FLOAT64:.0e}); "
        f"in float32 by {single.difference(FIRST):.1e} in the first {FIRST} (allowed: {FLOAT32:.0e}) "
        f"and by {single.difference():.1e} in all, where Adam enlarges rounding."
    )


def _row(name: str, result: Result) -> str:
    ratios = ["–", "–"]
    if name != OURS:
        ratios = [_span(result.ratio(name, processor=processor), ".2f") for processor in (False, True)]
    child = result.field.children[name]
    cells = [_title(name, result), child.setting, _span(result.speed(name), ",.0f"), *ratios]
    return f"| {' | '.join(cells)} |"


def _title(name: str, result: Result) -> str:
    *_, version = result.field.children[name].greeting.versions.values()
    return f"{CONTESTANTS[name].title} ({version})"


def _span(values: Range, form: str) -> str:
    return f"{values.median:{form}} ({values.least:{form}} – {values.most:{form}})"


def raw(results: Mapping[str, Result], options: argparse.Namespace) -> dict[str, object]:
    """Everything that was measured."""
    return {
        "environment": environment(),
        "settings": {
            "threads": options.threads,
            "rounds": options.rounds,
            "batch_tokens": options.batch_tokens,
            "precision": "float32",
            "label_smoothing": SMOOTHING,
            "clip_norm": CLIP_NORM,
            "optimizer": "Adam",
        },
        "models": {model: _raw(result) for model, result in results.items()},
    }


def _raw(result: Result) -> dict[str, object]:
    return {
        "shape": result.shape._asdict(),
        "batches": result.summary._asdict(),
        "target_tokens_per_round": result.n_targets,
        "loss_without_dropout": {
            name: {**curves._asdict(), "largest_difference": curves.difference()}
            for name, curves in result.twin._asdict().items()
        },
        "could_not_run": result.field.missing,
        "settings_tried_seconds": result.field.searched,
        "contestants": {name: _raw_contestant(name, result) for name in result.turns},
    }


def _raw_contestant(name: str, result: Result) -> dict[str, object]:
    child, turns = result.field.children[name], result.turns[name]
    return {
        "setting": child.setting,
        **child.greeting._asdict(),
        "target_tokens_per_second": result.speed(name)._asdict(),
        "ours_times_as_fast": result.ratio(name)._asdict(),
        "ours_times_as_fast_by_processor_time": result.ratio(name, processor=True)._asdict(),
        "rounds": [turn._asdict() for turn in turns],
    }


def draw(results: Mapping[str, Result], folder: Path) -> None:
    """Speed as bars, a panel for each model."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(results), squeeze=False, figsize=(5 * len(results), 3))
    for panel, (model, result) in zip(panels[0], results.items(), strict=True):
        names = sorted(result.turns, key=lambda name: result.speed(name).median)
        speeds = [result.speed(name) for name in names]
        medians = [speed.median for speed in speeds]
        reach = [
            [speed.median - speed.least for speed in speeds],
            [speed.most - speed.median for speed in speeds],
        ]
        colours = ["#2a6f97" if name == OURS else "#b8c4cc" for name in names]
        titles = [CONTESTANTS[name].title for name in names]
        panel.barh(titles, medians, xerr=reach, color=colours, ecolor="#444", capsize=3)
        panel.set_title(model)
        panel.set_xlabel("real target tokens per second")
        panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    for kind in ("svg", "png"):
        figure.savefig(folder / f"plot.{kind}", dpi=150, metadata={"Date": None} if kind == "svg" else None)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, and tell."""
    options = _options(arguments)
    torch.set_num_threads(options.threads)
    results = {model: measure(model, options) for model in options.models}
    write_results(options.out, raw(results, options))
    table = markdown(results)
    (options.out / "table.md").write_text(table, encoding="utf-8")
    draw(results, options.out)
    print(f"\n{table}\nwritten to {options.out}")
    return 0 if all(result.twin.same for result in results.values()) else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    peers = [name for name in CONTESTANTS if name != OURS]
    parser = argparse.ArgumentParser(prog="benchmarks.train_speed", description="How fast training is.")
    parser.add_argument("--models", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--peers", nargs="*", choices=peers, default=peers)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, help=f"a round; default: {BATCHES}")
    parser.add_argument("--batch-tokens", type=int, default=BATCH_TOKENS, help="padded target tokens")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, default=DATA, help="a folder with train.en.gz and train.de.gz")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "train_speed")
    parser.add_argument(
        "--quick", action="store_true", help="tiny and nn.Transformer only, to see that it runs"
    )
    options = parser.parse_args(arguments)
    if options.quick:
        options.models, options.peers, options.rounds, options.batches = ["tiny"], ["torch"], 2, 2
        options.batch_tokens = 512
    return options


if __name__ == "__main__":
    raise SystemExit(main())
