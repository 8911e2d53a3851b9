"""Train from settings to a model directory; resume; start from another model."""

import contextlib
import math
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

from glassformer.checkpoint import CheckpointStore, RunLock, load_model, save_model
from glassformer.config import RunConfig
from glassformer.data import Batch, Batches, BatchStream
from glassformer.errors import CheckpointError, Interrupted
from glassformer.nn import Transformer
from glassformer.text import Tokenizer
from glassformer.training import Job, Progress, RunDirectory, Silent, Trainer, Workers, circumstances, moved
from glassformer.training.precision import check_precision
from glassformer.workflow.card import model_card
from glassformer.workflow.companions import Companions
from glassformer.workflow.preparation import Notice, Prepared, check_best_by, make_folder, prepare
from glassformer.workflow.resuming import resumable
from glassformer.workflow.starting import initial_model
from glassformer.workflow.validation import decode_validation

ProgressFor = Callable[[RunDirectory], contextlib.AbstractContextManager[Progress]]


def start_run(
    config: RunConfig,
    runs: Path,
    name: str,
    *,
    init_from: Path | None = None,
    notice: Notice = lambda _: None,
    progress: ProgressFor,
) -> RunDirectory:
    """Train a new run; its directory. ``init_from`` is a model directory."""
    check_best_by(config)
    check_precision(config.train)
    make_folder(runs)
    workers = Workers.join()
    try:
        tokenizer = None if init_from is None else load_model(init_from).tokenizer
        prepared = _prepare_together(config, runs, tokenizer, notice, workers)
        run = workers.share(lambda: _new_run(runs, name, prepared, init_from, workers.world))
        model = initial_model(prepared.config, init_from)
        _run(run, prepared, model, workers, progress, resume=False)
        return run
    finally:
        workers.leave()


def resume_run(
    run: RunDirectory,
    overrides: Mapping[str, Any],
    *,
    notice: Notice = lambda _: None,
    progress: ProgressFor,
) -> RunDirectory:
    """Continue a run bit by bit; settings that would make that impossible are refused."""
    config = resumable(run.settings(), overrides, run.path)
    workers = Workers.join()
    try:
        elsewhere = moved(run.read_info())
        if elsewhere is not None:
            notice(elsewhere)
        tokenizer = Tokenizer.load(run.tokenizer)
        prepared = _prepare_together(config, run.path.parent, tokenizer, notice, workers)
        begun = bool(CheckpointStore(run.checkpoints).steps())
        origin = None if begun else run.read_info().get("init_from")
        model = initial_model(prepared.config, None if origin is None else Path(str(origin)))
        _run(run, prepared, model, workers, progress, resume=True)
        return run
    finally:
        workers.leave()


def total_steps(config: RunConfig, batches: Batches, world: int) -> int:
    """Updates of the whole run."""
    if config.train.epochs is None:
        return config.train.steps
    return math.ceil(config.train.epochs * len(batches) / (config.train.accumulate * world))


def _prepare_together(
    config: RunConfig, runs: Path, tokenizer: Tokenizer | None, notice: Notice, workers: Workers
) -> Prepared:
    """The first process writes tokenizer and stores, the others then find them."""
    mine: list[Prepared] = []

    def prepare_first() -> str:
        mine.append(prepare(config, runs, tokenizer=tokenizer, notice=notice))
        mine[0].batches()  # refuses what cannot be cut into batches before there is a run
        decode_validation(mine[0].config, mine[0].tokenizer, mine[0].valid_corpus)  # or be translated
        return mine[0].tokenizer.to_json()

    known = workers.share(prepare_first)
    return mine[0] if mine else prepare(config, runs, tokenizer=Tokenizer.from_json(known))


def _new_run(
    runs: Path, name: str, prepared: Prepared, init_from: Path | None, processes: int
) -> RunDirectory:
    """A new directory with all that a resume needs, even before the first checkpoint."""
    run = RunDirectory.create(runs, name)
    try:
        prepared.tokenizer.save(run.tokenizer)
    except OSError as error:
        raise CheckpointError(f"{run.tokenizer}: cannot be written ({error.strerror})") from None
    origin = {} if init_from is None else {"init_from": str(init_from.absolute())}
    about = {"status": "training", "data": prepared.fingerprint, "processes": processes}
    run.note({**circumstances(), **about, **origin})
    run.write_settings(prepared.config)
    return run


def _run(
    run: RunDirectory,
    prepared: Prepared,
    model: Transformer,
    workers: Workers,
    progress: ProgressFor,
    *,
    resume: bool,
) -> None:
    lock = RunLock(run.path) if workers.first else contextlib.nullcontext()
    shown = progress(run) if workers.first else contextlib.nullcontext(Silent())
    with lock, shown as listener:
        trainer = Trainer(_job(run, prepared, model, workers, listener), resume=resume)
        if workers.first and resume:
            run.write_settings(prepared.config)
            run.note({"status": "training"})
        try:
            state = trainer.train()
        except BaseException as error:
            if workers.first:
                with contextlib.suppress(CheckpointError):  # a full disk must not hide what happened
                    run.note({"status": "stopped" if isinstance(error, Interrupted) else "failed"})
            raise
        if workers.first:
            result = {"status": "finished", "step": state.step, "best": state.best}
            run.note({**result, "best_step": state.best_step, "seconds": round(state.seconds, 1)})


def _job(
    run: RunDirectory, prepared: Prepared, model: Transformer, workers: Workers, listener: Progress
) -> Job:
    config, batches = prepared.config, prepared.batches()
    valid = prepared.valid_batches()

    def stream(position: int) -> Generator[Batch]:
        with BatchStream(batches, position, rank=workers.rank, world=workers.world) as source:
            for _, batch in source:
                yield batch

    beside = Companions(prepared).beside

    def publish(trained: Transformer, scores: Mapping[str, float]) -> None:
        card = model_card(run.path.name, config, trained, scores, n_examples=len(prepared.train))
        extras = beside(trained)
        save_model(run.model, trained, prepared.tokenizer, card=card, replace=True, extras=extras)

    return Job(
        run=run,
        config=config,
        model=model,
        total_steps=total_steps(config, batches, workers.world),
        train=stream,
        valid=None if valid is None else valid.epoch,
        decode_valid=decode_validation(config, prepared.tokenizer, prepared.valid_corpus),
        publish=publish,
        fingerprint=prepared.fingerprint,
        workers=workers,
        progress=listener,
    )
