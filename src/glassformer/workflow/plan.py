"""A dry run: what training would do, tried for a few steps, with nothing written."""

import resource
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from glassformer.checkpoint import load_model
from glassformer.config import RunConfig
from glassformer.data import Batch
from glassformer.nn import parameter_count
from glassformer.text import Tokenizer
from glassformer.training import Workers, update
from glassformer.training.optimizer import Optimizers
from glassformer.training.precision import check_precision
from glassformer.training.task import TrainingLoss
from glassformer.workflow.card import describe
from glassformer.workflow.preparation import Notice, check_best_by, prepare
from glassformer.workflow.starting import initial_model
from glassformer.workflow.training import total_steps

TIMED_STEPS = 5


@dataclass(frozen=True)
class Plan:
    """What a run would be."""

    n_train: int
    dropped: dict[str, int]
    n_valid: int
    architecture: str
    parameters: int
    vocabulary: int
    steps: int
    epochs: float
    batches_per_epoch: int
    fill: float
    seconds_per_step: float
    hours: float
    peak_bytes: int
    first_source: list[str]
    first_target: list[str]

    def to_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        return asdict(self)


def plan(config: RunConfig, *, init_from: Path | None = None, notice: Notice = lambda _: None) -> Plan:
    """Prepare the data in a temporary folder, take a few timed steps, and tell."""
    check_best_by(config)
    tokenizer = None if init_from is None else load_model(init_from).tokenizer
    with tempfile.TemporaryDirectory(prefix="glassformer-") as folder:
        prepared = prepare(config, Path(folder), tokenizer=tokenizer, notice=notice)
        config, batches = prepared.config, prepared.batches()
        steps = total_steps(config, batches, 1)
        model = initial_model(config, init_from)
        optimizers = Optimizers(model, config.train, steps, config.model.d_model)
        module = TrainingLoss(model, config.train.label_smoothing)
        autocast = check_precision(config.train)
        times = []
        for number in range(TIMED_STEPS + 1):  # the first warms up
            micro = [
                batches.batch(number * config.train.accumulate + i) for i in range(config.train.accumulate)
            ]
            start = time.monotonic()
            clip, workers = config.train.clip_norm, Workers()
            update(module, micro, optimizers, number + 1, clip_norm=clip, workers=workers, autocast=autocast)
            times.append(time.monotonic() - start)
        first = batches.batch(0)
        seconds = sorted(times[1:])[TIMED_STEPS // 2]
        return Plan(
            n_train=len(prepared.train),
            dropped=prepared.train.dropped,
            n_valid=0 if prepared.valid is None else len(prepared.valid),
            architecture=describe(config.model),
            parameters=parameter_count(model),
            vocabulary=prepared.tokenizer.size,
            steps=steps,
            epochs=steps * config.train.accumulate / len(batches),
            batches_per_epoch=len(batches),
            fill=_fill(first),
            seconds_per_step=seconds,
            hours=seconds * steps / 3600,
            peak_bytes=_peak_bytes(),
            first_source=_pieces(prepared.tokenizer.source, first.source),
            first_target=_pieces(prepared.tokenizer, first.target),
        )


def _pieces(tokenizer: Tokenizer, rows: object) -> list[str]:
    """The first row of a batch as the model sees it, padding left out."""
    ids = rows[0].tolist() if len(rows) else []  # type: ignore[arg-type,index]  # a tensor, maybe of no rows
    return [piece for piece in tokenizer.pieces(ids) if piece != "<pad>"]


def _fill(batch: Batch) -> float:
    """The share of a batch's slots that hold a token."""
    slots = batch.source.numel() + batch.target.numel()
    return (batch.n_source + batch.n_targets) / max(1, slots)


def _peak_bytes() -> int:
    """The most memory this process has had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
