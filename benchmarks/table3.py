"""The paper's Table 3 in small: what heads, widths, depth, dropout, smoothing, positions and norms do.

    python -m benchmarks.table3 [--rows base A1 …] [--steps 800] [--data FOLDER] [--runs FOLDER]
                                [--out FOLDER]

Every row is one model of two layers on Multi30k en→de, trained by the same updates on one thread; an LSTM
with attention of the same number of parameters stands beside them. Rows that are in ``results.json`` already
are not trained again. Time is processor time, so that other programs do not count. Writes ``results.json``,
``table.md`` and a plot of validation loss against time.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from matplotlib.figure import Figure
from torch import nn

from benchmarks.lstm import LstmTranslator
from benchmarks.measure import environment, write_results
from benchmarks.recipe_runs import RESULTS, SHARED, prepare
from glassformer.config import RunConfig, resolve
from glassformer.nn import build_model
from glassformer.training import Workers
from glassformer.training.optimizer import Optimizers
from glassformer.training.plots import COLOURS
from glassformer.training.step import NotFinite, update
from glassformer.training.task import TrainingLoss
from glassformer.workflow.preparation import Prepared
from glassformer.workflow.preparation import prepare as make_stores

N_LAYERS, LSTM_WIDTH = 2, 138
"""138 wide, the LSTM of two layers has as many parameters as the base row."""


class Row(NamedTuple):
    """A row of the table: what is other than in the base row."""

    says: str
    model: Mapping[str, object]
    train: Mapping[str, object]


def _model(says: str, **model: object) -> Row:
    return Row(says, model, {})


ROWS = {
    "base": _model("2 layers, 128 wide, 4 heads, d_ff 256, post-norm"),
    "A1": _model("1 head of 128", n_heads=1),
    "A2": _model("2 heads of 64", n_heads=2),
    "A3": _model("8 heads of 16", n_heads=8),
    "A4": _model("16 heads of 8", n_heads=16),
    "B1": _model("d_k 8", d_k=8),
    "B2": _model("d_k 16", d_k=16),
    "C1": _model("1 layer", n_encoder_layers=1, n_decoder_layers=1),
    "C2": _model("4 layers", n_encoder_layers=4, n_decoder_layers=4),
    "C3": _model("64 wide", d_model=64),
    "C4": _model("256 wide", d_model=256),
    "C5": _model("d_ff 128", d_ff=128),
    "C6": _model("d_ff 512", d_ff=512),
    "D1": _model("dropout 0", dropout=0.0),
    "D2": _model("dropout 0.3", dropout=0.3),
    "D3": Row("label smoothing 0", {}, {"label_smoothing": 0.0}),
    "D4": Row("label smoothing 0.2", {}, {"label_smoothing": 0.2}),
    "E": _model("learned positions", positions="learned"),
    "post": Row("post-norm, no warm-up", {}, {"warmup_steps": 0}),
    "pre+": _model("pre-norm", norm="pre"),
    "pre": Row("pre-norm, no warm-up", {"norm": "pre"}, {"warmup_steps": 0}),
    "sandwich+": _model("sandwich norm", norm="sandwich"),
    "sandwich": Row("sandwich norm, no warm-up", {"norm": "sandwich"}, {"warmup_steps": 0}),
    "lstm": _model("LSTM with attention, 2 layers, 138 wide"),
}


def settings(row: Row, words: Path, steps: int) -> RunConfig:
    """The settings of a row."""
    files = {
        name: {"src": str(words / f"{part}.en"), "tgt": str(words / f"{part}.de")}
        for name, part in (("train", "train"), ("valid", "val"))
    }
    layers = {"n_encoder_layers": N_LAYERS, "n_decoder_layers": N_LAYERS}
    train = {
        "steps": steps,
        "batch_tokens": 2048,
        "optimizer": "adam",
        "learning_rate": 2e-3,
        "schedule": "linear",
        "warmup_steps": steps // 8,
    }
    tables = {
        "data": files,
        "tokenizer": {"vocab_size": 6000},
        "model": {"preset": "tiny", "dropout": 0.1, **layers, **row.model},
        "train": {**train, **row.train},
    }
    return resolve(tables, "table3")


class Point(NamedTuple):
    """How far a row has come."""

    step: int
    seconds: float
    """Of the processor, without validations."""
    loss: float
    """Nats per target token of the validation set."""


def learn(module: nn.Module, prepared: Prepared, report: Callable[[Point], None]) -> list[Point]:
    """Train a module by the updates of its settings; a point every tenth of the way."""
    config = prepared.config.train
    optimizers = Optimizers(module, config, config.steps, prepared.config.model.d_model)
    batches, workers, points, spent = prepared.batches(), Workers(), list[Point](), 0.0
    for step in range(1, config.steps + 1):
        start = time.process_time()
        module.train()
        update(
            module, [batches.batch(step - 1)], optimizers, step, clip_norm=config.clip_norm, workers=workers
        )
        spent += time.process_time() - start
        if step % max(1, config.steps // 10) == 0:
            points.append(Point(step, spent, valid_loss(module, prepared)))
            report(points[-1])
    return points


@torch.no_grad()
def valid_loss(module: nn.Module, prepared: Prepared) -> float:
    """Nats per target token."""
    valid = prepared.valid_batches()
    assert valid is not None
    module.eval()
    sums = [(float(module(batch)[1]), batch.n_targets) for batch in valid.epoch()]
    return sum(nll for nll, _ in sums) / sum(n for _, n in sums)


def run_row(name: str, words: Path, runs: Path, steps: int) -> dict[str, object]:
    """Train one row; what came out."""
    torch.manual_seed(1)
    prepared = make_stores(settings(ROWS[name], words, steps), runs)
    config = prepared.config
    if name == "lstm":
        module: nn.Module = LstmTranslator(
            config.model.vocab_size, LSTM_WIDTH, N_LAYERS, config.model.dropout, config.train.label_smoothing
        )
    else:
        module = TrainingLoss(build_model(config.model), config.train.label_smoothing)
    found: dict[str, object] = {
        "says": ROWS[name].says,
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
    }
    try:
        points = learn(
            module, prepared, lambda point: print(f"{name:10} {point.step:5} {point.loss:.3f}", flush=True)
        )
    except NotFinite as error:
        return {**found, "points": [], "failed": str(error)}
    return {**found, "points": [point._asdict() for point in points]}


def table(rows: Mapping[str, Mapping[str, object]]) -> str:
    """The rows in their order, the last validation loss and the time it took."""
    lines = ["| | | parameters | nats per token | perplexity | minutes |", "|---|---|--:|--:|--:|--:|"]
    for name in ROWS:
        if name in rows:
            row, points = rows[name], _points(rows[name])
            millions = f"{float(str(row['parameters'])) / 1e6:.2f} M"
            figures = "diverged | | " if not points else _figures(points[-1])
            lines.append(f"| {name} | {row['says']} | {millions} | {figures} |")
    return "\n".join(lines)


def _figures(last: Point) -> str:
    return f"{last.loss:.3f} | {2.718281828459045**last.loss:.2f} | {last.seconds / 60:.1f}"


def _points(row: Mapping[str, object]) -> list[Point]:
    given = row["points"]
    assert isinstance(given, list)
    return [Point(**point) for point in given]


def draw(rows: Mapping[str, Mapping[str, object]], folder: Path) -> None:
    """Validation loss against processor time: norms with and without warm-up, and the LSTM."""
    figure = Figure(figsize=(7, 4))
    axes = figure.add_subplot()
    shown = [
        name for name in ("base", "post", "pre+", "pre", "sandwich+", "sandwich", "lstm") if name in rows
    ]
    for index, name in enumerate(shown):
        points = _points(rows[name])
        label = "post-norm" if name == "base" else str(rows[name]["says"])
        style = "--" if "no warm-up" in label else "-"
        colour = "#000000" if name == "lstm" else COLOURS[index // 2]
        axes.plot(
            [p.seconds / 60 for p in points], [p.loss for p in points], style, color=colour, label=label
        )
    axes.set_xlabel("minutes of one processor")
    axes.set_ylabel("validation loss, nats per token")
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(folder / "plot.svg", metadata={"Date": None})
    figure.savefig(folder / "plot.png", dpi=150)


def main() -> None:
    """Train the rows that are missing, then draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", nargs="+", choices=tuple(ROWS), default=list(ROWS))
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--data", type=Path, default=SHARED / "multi30k")
    parser.add_argument("--runs", type=Path, default=Path("runs") / "table3")
    parser.add_argument("--out", type=Path, default=RESULTS / "table3")
    given = parser.parse_args()
    torch.set_num_threads(1)
    words = (given.runs / "data").absolute()
    prepare("multi30k", given.data, words)
    file = given.out / "results.json"
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"] if file.exists() else {}
    for name in given.rows:
        if name not in rows:
            rows[name] = run_row(name, words, given.runs, given.steps)
            write_results(given.out, {"environment": environment(), "steps": given.steps, "rows": rows})
            (given.out / "table.md").write_text(table(rows) + "\n", encoding="utf-8")
            draw(rows, given.out)
    print(table(rows))


if __name__ == "__main__":
    main()
