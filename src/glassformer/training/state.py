"""Everything a resumed run needs to be the run that was never stopped."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

import torch
from torch import Tensor, nn

from glassformer.checkpoint import Checkpoint
from glassformer.errors import CheckpointError
from glassformer.training.average import RunningAverage
from glassformer.training.distributed import Workers, whole_tensors
from glassformer.training.optimizer import Optimizers


@dataclass
class TrainingState:
    """Where a run stands."""

    fingerprint: str
    """Of corpus and tokenizer."""
    world: int = 1
    """Processes that train together."""
    step: int = 0
    """Updates done."""
    batches: int = 0
    """Batches of the corpus consumed by all processes: the position in the data."""
    seconds: float = 0.0
    """Time spent on updates."""
    validated: bool = False
    """Whether this step's validation is done."""
    best: dict[str, float] = field(default_factory=dict)
    """The scores of the best validation."""
    best_step: int = 0
    """When it was."""
    stale: int = 0
    """Validations since then."""


def snapshot(
    model: nn.Module,
    optimizers: Optimizers,
    average: RunningAverage | None,
    state: TrainingState,
    workers: Workers,
) -> tuple[dict[str, dict[str, Tensor]], dict[str, object]]:
    """Tensors by group and the rest as JSON; every process takes part, where tensors are sharded."""
    generators = workers.gather(torch.get_rng_state())
    tensors = {
        "model": whole_tensors(model.named_parameters()),
        "optim": whole_tensors(optimizers.tensors().items()),
        "rng": {f"rank{rank}": generator for rank, generator in enumerate(generators)},
    }
    if average is not None:
        tensors["ema"] = whole_tensors(average.tensors.items())
    return tensors, {**asdict(state), "threads": torch.get_num_threads()}


def restore(
    checkpoint: Checkpoint,
    expected: TrainingState,
    optimizers: Optimizers,
    average: RunningAverage | None,
    workers: Workers,
) -> TrainingState:
    """Continue from a checkpoint bit by bit, or refuse and say why that is impossible."""
    state = saved_state(checkpoint)
    anew = "start anew from these weights with --init-from"
    if state.fingerprint != expected.fingerprint:
        raise CheckpointError(f"the corpus is not the one that this run began with; restore it, or {anew}")
    if state.world != expected.world:
        raise CheckpointError(
            f"this run is trained by {state.world} processes, not {expected.world}; "
            f"use --devices {state.world}, or {anew}"
        )
    torch.set_num_threads(int(str(checkpoint.state["threads"])))  # another number adds in another order
    optimizers.load_tensors(checkpoint.tensors("optim"))
    if average is not None:
        average.load_tensors(checkpoint.tensors("ema"))
    # Last: nothing may draw from the generator between here and the next update.
    torch.set_rng_state(checkpoint.tensors("rng")[f"rank{workers.rank}"])
    return state


def saved_state(checkpoint: Checkpoint) -> TrainingState:
    """Where a run stood when the checkpoint was saved."""
    known = {field.name for field in fields(TrainingState)} | {"threads"}
    if checkpoint.state.keys() != known:
        differing = ", ".join(sorted(known ^ checkpoint.state.keys()))
        raise CheckpointError(f"{checkpoint.path}: written by another version of glassformer ({differing})")
    return TrainingState(**{key: value for key, value in checkpoint.state.items() if key != "threads"})  # type: ignore[arg-type]  # as saved


@torch.no_grad()
def load_weights(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Weights by name; each is there and of the right shape, or nothing is loaded."""
    wanted = dict(model.named_parameters())
    if wanted.keys() != tensors.keys():
        differing = sorted(wanted.keys() ^ tensors.keys())
        raise CheckpointError(f"the checkpoint is of another model; it differs in {', '.join(differing[:3])}")
    for name, parameter in wanted.items():
        parameter.copy_(tensors[name])
