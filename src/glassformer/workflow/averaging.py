"""One model from the last checkpoints of a run (the paper's section 6.1)."""

from pathlib import Path
from typing import NamedTuple

from glassformer.checkpoint import CheckpointStore, average_checkpoints, save_model
from glassformer.errors import CheckpointError
from glassformer.nn import build_model
from glassformer.text import Tokenizer
from glassformer.training import RunDirectory
from glassformer.training.state import load_weights
from glassformer.workflow.card import model_card


class Averaged(NamedTuple):
    """What was averaged, and where the result is."""

    steps: list[int]
    directory: Path


def average_run(run: RunDirectory, count: int, out: Path | None = None) -> Averaged:
    """The mean of a run's last checkpoints, as its model or in a new directory."""
    config = run.settings()
    store = CheckpointStore(run.checkpoints)
    steps = [step for step in store.steps() if step % config.train.save_every == 0]
    steps = (steps or store.steps())[-count:]
    if len(steps) < count:
        raise CheckpointError(
            f"{run.checkpoints}: {len(steps)} regular checkpoints are kept, fewer than {count}; "
            "average fewer, or train with a larger keep_last"
        )
    group = "ema" if config.train.ema else "model"
    model = build_model(config.model)
    load_weights(model, average_checkpoints([store.load(store.path(step)) for step in steps], group))
    directory = run.model if out is None else out
    card = model_card(run.path.name, config, model, {}, averaged=steps)
    tokenizer = Tokenizer.load(run.tokenizer)
    save_model(directory, model.eval(), tokenizer, card=card, replace=out is None)
    return Averaged(steps, directory)
