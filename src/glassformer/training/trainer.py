"""The training loop: updates, validations, checkpoints; stops and resumes without losing anything."""

import contextlib
import itertools
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from glassformer.checkpoint import Checkpoint, CheckpointStore, average_checkpoints
from glassformer.config import RunConfig
from glassformer.data import Batch
from glassformer.errors import CheckpointError, Interrupted
from glassformer.nn import Transformer, build_model
from glassformer.training.allocator import keep_freed_memory
from glassformer.training.average import RunningAverage
from glassformer.training.distributed import Workers, whole_tensors
from glassformer.training.events import (
    Metrics,
    Pace,
    Progress,
    Silent,
    StopSignals,
    Validation,
    rewind_metrics,
)
from glassformer.training.optimizer import Optimizers
from glassformer.training.plots import draw_run
from glassformer.training.precision import check_precision
from glassformer.training.run import RunDirectory
from glassformer.training.state import TrainingState, load_weights, restore, snapshot
from glassformer.training.step import Update, update
from glassformer.training.task import TrainingLoss
from glassformer.training.validation import DecodeValid, TextScores, improves, validate, write_samples


@dataclass(frozen=True)
class Job:
    """What the loop works with; made by whoever knows text and decoding, which training does not."""

    run: RunDirectory
    config: RunConfig
    model: Transformer
    total_steps: int
    train: Callable[[int], Generator[Batch]]
    """This process's batches from a position of the corpus on, without end."""
    valid: Callable[[], Iterable[Batch]] | None
    """The validation set, in batches."""
    decode_valid: DecodeValid | None
    publish: Callable[[Transformer, Mapping[str, float]], None]
    """Write the model directory."""
    fingerprint: str
    """Of corpora and tokenizer: a run is resumed on the text it began with, or not at all."""
    workers: Workers = field(default_factory=Workers)
    progress: Progress = field(default_factory=Silent)


class Trainer:
    """One run of the loop, from the start or from a checkpoint."""

    def __init__(self, job: Job, *, resume: bool = False) -> None:
        """With ``resume`` the run goes on from its newest checkpoint, or a reason says why it cannot."""
        self.job = job
        self.settings = job.config.train
        self.store = CheckpointStore(
            job.run.checkpoints, self.settings.keep_last, regular=self.settings.save_every
        )
        self.autocast = check_precision(self.settings)
        self.module: torch.nn.Module = TrainingLoss(job.model, self.settings.label_smoothing)
        self.state = TrainingState(fingerprint=job.fingerprint, world=job.workers.world)
        self.signals = StopSignals()
        self.pace = Pace()
        self.saved_step = 0
        self.unshipped = False  # a full disk kept the best model from being published
        self._begin(self._checkpoint() if resume else None)

    def train(self) -> TrainingState:
        """Train to the end; the state then. Raises Interrupted after saving when asked to stop."""
        if self.job.workers.first:
            rewind_metrics(self.job.run.metrics, self.state.step, validated=self.state.validated)
        keep_freed_memory()
        self.metrics = Metrics(self.job.run.metrics)
        self.pace.restart()
        try:
            with self.signals:
                self._loop()
                self._finish()
        finally:
            self.metrics.close()
        return self.state

    def _checkpoint(self) -> Checkpoint | None:
        checkpoint = self.store.latest()
        if checkpoint is None:
            self.job.progress.warned("no checkpoint was saved yet; beginning again at step 0")
            return None
        for message in checkpoint.skipped:
            self.job.progress.warned(message)
        return checkpoint

    def _begin(self, checkpoint: Checkpoint | None) -> None:
        """Everything that exists only once the weights are known: wrappers, optimizers, averages."""
        job, settings = self.job, self.settings
        if checkpoint is not None:
            load_weights(job.model, checkpoint.tensors("model"))
        torch.manual_seed(settings.seed * 1_000_003 + 1 + job.workers.rank)  # each draws its own dropout
        skips = job.config.model.layer_drop > 0
        self.module = job.workers.wrap(self.module, shard=settings.shard, skips_layers=skips)
        if settings.compile:
            self.module.compile()
        self.optimizers = Optimizers(job.model, settings, job.total_steps, job.config.model.d_model)
        self.average = RunningAverage(job.model, settings.ema) if settings.ema else None
        if checkpoint is not None:
            self.state = restore(checkpoint, self.state, self.optimizers, self.average, job.workers)
            self.saved_step = self.state.step

    def _loop(self) -> None:
        settings, state = self.settings, self.state
        if state.step and self._validation_due() and not state.validated:  # a signal had cut it short
            self._settle(self._validate())
        self.job.model.train()
        with contextlib.closing(self.job.train(state.batches)) as batches:
            late = False
            while not (late or self._at_end()):
                self._update(batches)
                stop, late = self.job.workers.agree(self.signals.asked, self._late())
                if not stop and (late or self._validation_due()):
                    stop = self._validate()
                self._settle(stop, due=late or self._at_end() or state.step % settings.save_every == 0)

    def _update(self, batches: Iterator[Batch]) -> None:
        job, state = self.job, self.state
        done = update(
            self.module,
            list(itertools.islice(batches, self.settings.accumulate)),
            self.optimizers,
            state.step + 1,
            clip_norm=self.settings.clip_norm,
            workers=job.workers,
            autocast=self.autocast,
        )
        state.step += 1
        state.batches += self.settings.accumulate * job.workers.world
        state.validated = False
        state.seconds += self.pace.passed(done.tokens)
        if self.average is not None:
            self.average.update(job.model, state.step)
        self._report(done)

    def _report(self, done: Update) -> None:
        step, speed = self.state.step, self.pace.speed
        self.job.progress.stepped(step, self.job.total_steps, done, speed)
        if self.job.workers.first and (step % self.settings.log_every == 0 or step == 1):
            figures = {"loss": done.loss, "nll": done.nll, "lr": done.rate, "gnorm": done.gradient_norm}
            self.metrics.record("train", step, figures | {"tok_s": round(speed, 1)})

    def _validation_due(self) -> bool:
        return self.state.step % self.settings.validate_every == 0 or self.state.step == self.job.total_steps

    def _at_end(self) -> bool:
        patience = self.settings.patience
        out_of_patience = patience is not None and self.state.stale >= patience
        return out_of_patience or self.state.step >= self.job.total_steps

    def _late(self) -> bool:
        limit = self.settings.max_minutes
        return limit is not None and self.state.seconds >= 60 * limit

    def _settle(self, stop: bool, *, due: bool = False) -> None:
        """Save what is worth saving after a step, and leave if asked to."""
        improved = self.state.validated and self.state.best_step == self.state.step
        if due or improved or (stop and self.saved_step != self.state.step):
            self._save()
        if stop:
            at = self.saved_step
            told = "everything is saved" if at == self.state.step else f"the last checkpoint is of step {at}"
            raise Interrupted(
                f"stopped at step {self.state.step}; {told}",
                f"glassformer train --resume {self.job.run.path}",
                exit_code=128 + (self.signals.received or 15),
            )

    def _validate(self) -> bool:
        """Score the weights as they would be shipped; whether to stop now."""
        job, state = self.job, self.state
        with self._shipped() as model:
            found = self._scores(model)
            if found is not None:
                improved = improves(found.scores, state.best, self.settings.best_by)
                state.stale = 0 if improved else state.stale + 1
                if improved:
                    state.best, state.best_step = dict(found.scores), state.step
                if job.workers.first:
                    self.metrics.record("valid", state.step, found.scores)
                    if improved:
                        self.unshipped = not self._attempt(lambda: job.publish(model, found.scores))
                    self._attempt(lambda: self._illustrate(found))
                job.progress.validated(Validation(state.step, found.scores, found.samples, improved))
        state.validated = job.valid is None or found is not None
        self.pace.restart()
        (stop,) = job.workers.agree(self.signals.asked)
        return stop

    def _scores(self, model: Transformer) -> TextScores | None:
        job = self.job
        if job.valid is None:
            return None
        return validate(model, job.valid(), job.decode_valid, job.workers, lambda: self.signals.asked)

    def _illustrate(self, found: TextScores) -> None:
        run = self.job.run
        write_samples(run.samples / f"step-{self.state.step:06d}.tsv", found.samples)
        draw_run(run.metrics, run.plots)

    @contextlib.contextmanager
    def _shipped(self) -> Iterator[Transformer]:
        """The model as it would be shipped: whole, averaged where that is asked for, without dropout.

        What is drawn meanwhile does not change what training draws.
        """
        model, average = self.job.model, self.average
        with torch.random.fork_rng(devices=[]), contextlib.ExitStack() as until_done:
            if self.settings.shard and self.job.workers.world > 1:
                named = model.named_parameters() if average is None else average.tensors.items()
                model = self._whole_model(whole_tensors(named))
            elif average is not None:
                until_done.enter_context(average.applied(model))
            model.eval()
            try:
                yield model
            finally:
                model.train()

    def _whole_model(self, tensors: Mapping[str, Tensor]) -> Transformer:
        model = build_model(self.job.config.model)
        load_weights(model, tensors)
        return model

    def _save(self) -> None:
        """A checkpoint. A full disk costs this one, not the run: earlier ones are intact."""
        start, state = time.monotonic(), self.state
        tensors, rest = snapshot(self.job.model, self.optimizers, self.average, state, self.job.workers)

        def save() -> None:
            self.metrics.sync()  # a checkpoint stands for all the lines before it
            path = self.store.save(state.step, tensors, rest, best=state.best_step == state.step)
            self.job.progress.saved(path, time.monotonic() - start)
            self.job.run.note({"step": state.step, "seconds": round(state.seconds, 1)})

        (failed,) = self.job.workers.agree(self.job.workers.first and not self._attempt(save))
        if not failed:
            self.saved_step = state.step
        self.pace.restart()

    def _attempt(self, action: Callable[[], object]) -> bool:
        """Do what a full disk may prevent, which must not end the training; whether it was done."""
        try:
            action()
        except (CheckpointError, OSError) as error:
            self.job.progress.warned(f"{error}; training goes on")
            return False
        return True

    def _finish(self) -> None:
        """Ship the average of the last checkpoints where that was asked for and is better."""
        job, settings = self.job, self.settings
        if settings.average_last > 1:
            with torch.random.fork_rng(devices=[]):
                model = self._whole_model(self._last_average()).eval()
            found = self._scores(model)
            if job.valid is not None and found is None:
                self._settle(stop=True)
            self._ship(model, {} if found is None else dict(found.scores))
        elif job.valid is None:
            with self._shipped() as model:
                self._ship(model, {})
        elif self.unshipped and (best := self.store.best()) is not None:
            group = "model" if self.average is None else "ema"
            job.publish(self._whole_model(best.tensors(group)).eval(), self.state.best)

    def _ship(self, model: Transformer, scores: dict[str, float]) -> None:
        """Publish a final model, unless an earlier one is better."""
        job, state = self.job, self.state
        better = not scores or improves(scores, state.best, self.settings.best_by)
        if better:
            state.best = scores
        if job.workers.first:
            if scores:
                self.metrics.record("average", state.step, scores)
            if better:
                job.publish(model, scores)
            self._attempt(lambda: draw_run(job.run.metrics, job.run.plots))

    def _last_average(self) -> dict[str, Tensor]:
        """The mean of the last regular checkpoints and the final one: the same after any interruptions."""
        steps = [
            step
            for step in self.store.steps()
            if step % self.settings.save_every == 0 or step == self.state.step
        ]
        last = map(self.store.path, steps[-self.settings.average_last :])
        checkpoints = [self.store.load(path) for path in last]
        return average_checkpoints(checkpoints, "model" if self.average is None else "ema")
