"""Two processes learn what one learns, copied or sharded; they stop together and fail together."""

import copy
import math
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.checkpoint import CheckpointStore
from glassformer.data import Batch
from glassformer.errors import DataError, GlassformerError
from glassformer.nn import EncoderDecoder
from glassformer.training import RunDirectory, Workers, update
from glassformer.training.distributed import whole_tensors
from glassformer.training.optimizer import Optimizers
from glassformer.training.task import TrainingLoss
from tests.support.corpora import tiny_run
from tests.support.runs import differences, figures, resume, train
from tests.support.together import together
from tests.unit.training.test_step import CONFIG, TRAIN, batch_of, gradients, pairs

pytestmark = [pytest.mark.slow, pytest.mark.forked]
SIZES = [[20, 9], [3, 32]]
"""Sentences in each micro-batch of each process: uneven in every way."""


def parts() -> list[list[Batch]]:
    chosen = iter(pairs(64))
    return [[batch_of([next(chosen) for _ in range(size)]) for size in sizes] for sizes in SIZES]


@pytest.mark.parametrize("shard", [False, True], ids=["ddp", "fsdp"])
def test_gradients_are_those_of_one_process(shard: bool) -> None:
    model = EncoderDecoder(CONFIG)
    exact = gradients(copy.deepcopy(model).double(), [batch_of(pairs(64))])

    def learn() -> dict[str, Any]:
        workers = Workers.join()
        module = workers.wrap(TrainingLoss(model, 0.1), shard=shard)
        optimizers = Optimizers(model, TRAIN, 10, CONFIG.d_model)
        done = update(module, parts()[workers.rank], optimizers, 1, clip_norm=0.0, workers=workers)
        found = whole_tensors((n, p.grad) for n, p in model.named_parameters() if p.grad is not None)
        workers.leave()
        return {"norm": done.gradient_norm, **{name: tensor.numpy() for name, tensor in found.items()}}

    for found in together(learn):
        assert isinstance(found, dict), found
        largest = max(float(gradient.abs().max()) for gradient in exact.values())
        norm = math.sqrt(sum(float((gradient**2).sum()) for gradient in exact.values()))
        assert found.pop("norm") == pytest.approx(norm, rel=1e-6)
        assert found.keys() == exact.keys()
        for name, gradient in exact.items():
            difference = torch.from_numpy(found[name]).double() - gradient
            assert float(difference.abs().max()) / largest <= 1e-6, name


def test_a_nan_in_one_process_stops_both() -> None:
    model = EncoderDecoder(CONFIG)

    def learn() -> str:
        workers = Workers.join()
        module = workers.wrap(TrainingLoss(model, 0.1), shard=False)
        if workers.rank == 1:
            weight = model.encoder.blocks[0].attention.query.weight
            weight.register_hook(lambda gradient: gradient * math.nan)
        optimizers = Optimizers(model, TRAIN, 10, CONFIG.d_model)
        try:
            update(module, parts()[workers.rank], optimizers, 1, clip_norm=1.0, workers=workers)
        except GlassformerError as error:
            return str(error).partition(" (")[0]
        return "no error"

    assert together(learn) == ["step 1: the gradient is not finite"] * 2


def test_what_the_first_cannot_do_fails_in_both() -> None:
    def work() -> str:
        workers = Workers.join()

        def fail() -> None:
            raise DataError("train.en: there is no such file")

        try:
            workers.share(fail)
        except DataError as error:
            return f"{workers.rank} {error}"
        return "no error"

    assert together(work) == [f"{rank} train.en: there is no such file" for rank in range(2)]


def run_two(folder: Path, **settings: object) -> RunDirectory:
    config = tiny_run(folder, **settings)
    assert together(lambda: str(train(config, folder / "runs").path)) == [f"{folder}/runs/run-01"] * 2
    return RunDirectory(folder / "runs" / "run-01")


@pytest.mark.parametrize("shard", [False, True], ids=["ddp", "fsdp"])
def test_two_processes_stop_and_resume_exactly(shard: bool, tmp_path: Path) -> None:
    settings = {"shard": shard, "ema": 0.9, "accumulate": 2, "average_last": 2}
    whole = run_two(tmp_path, **settings)
    config = tiny_run(tmp_path, **settings)
    run = RunDirectory(tmp_path / "other" / "run-01")

    def stopped() -> str:
        """Only the second process gets the signal; both leave at the same step."""
        if os.environ["RANK"] == "1":
            signal_in_update(5)
        try:
            train(config, run.path.parent)
        except GlassformerError as error:
            return f"{error} {error.exit_code}"
        return "no error"

    assert together(stopped) == ["stopped at step 5; everything is saved 143"] * 2
    assert together(lambda: str(resume(run).path)) == [str(run.path)] * 2
    assert differences(whole, run) == []


def signal_in_update(number: int) -> None:
    """Ask this process to stop while it is in an update; listeners are for the first process only."""
    count = iter(range(1, 100))

    def counted(*arguments: Any, **options: Any) -> Any:
        if next(count) == number:
            os.kill(os.getpid(), signal.SIGTERM)
        return update(*arguments, **options)

    pytest.MonkeyPatch().setattr("glassformer.training.trainer.update", counted)


def test_sharded_and_copied_learn_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    copied, sharded = run_two(tmp_path / "a"), run_two(tmp_path / "b", shard=True)
    losses = [
        [float(str(values["loss"])) for split, _, values in figures(run) if split == "valid"]
        for run in (copied, sharded)
    ]

    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_another_number_of_processes_is_refused_but_takes_the_weights(tmp_path: Path) -> None:
    run = run_two(tmp_path, shard=True, steps=4)

    with pytest.raises(
        GlassformerError, match=r"^this run is trained by 2 processes, not 1; use --devices 2, or start anew"
    ):
        resume(run)
    one = train(tiny_run(tmp_path, steps=1), tmp_path / "one", init_from=run.model)

    assert CheckpointStore(one.checkpoints).steps() == [1]
