"""One model from the last checkpoints of a run (the paper's section 6.1)."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from glassformer.checkpoint import CheckpointStore, average_checkpoints, save_model
from glassformer.config import RunConfig
from glassformer.errors import CheckpointError, DataError
from glassformer.nn import Transformer, build_model
from glassformer.text import Tokenizer
from glassformer.training import RunDirectory
from glassformer.training.state import load_weights
from glassformer.workflow.card import model_card
from glassformer.workflow.companions import Companions, kept_companions
from glassformer.workflow.preparation import prepare


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
    extras = _companions(run, config, tokenizer, model.eval())
    save_model(directory, model, tokenizer, card=card, replace=out is None, extras=extras)
    return Averaged(steps, directory)


def _companions(
    run: RunDirectory, config: RunConfig, tokenizer: Tokenizer, model: Transformer
) -> Mapping[str, bytes]:
    """What stands beside the model: made for it, or, where the text is gone, what the run has."""
    try:
        prepared = prepare(config, run.path.parent, tokenizer=tokenizer)
    except DataError:
        return kept_companions(run)
    return Companions(prepared).beside(model)
