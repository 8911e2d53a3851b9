"""Many processes that train one model: torchrun starts them, torch.distributed joins them.

Nothing distributed is written here beyond calling DDP, FSDP2 and all-reduce.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from glassformer.errors import GlassformerError
from glassformer.nn.block import Block

COLLECTIVE_TIMEOUT = timedelta(minutes=30)
"""A process that waits longer for the others gives up; torchrun ends it earlier when one of them dies."""

T = TypeVar("T")


class Workers:
    """One process among those that train together; alone it is one of one."""

    def __init__(self, rank: int = 0, world: int = 1) -> None:
        self.rank = rank
        self.world = world

    @classmethod
    def join(cls) -> "Workers":
        """Join the processes that torchrun has started, if it has."""
        world = int(os.environ.get("WORLD_SIZE", "1"))
        if world == 1:
            return cls()
        backend = "nccl" if torch.cuda.is_available() else "gloo"
        dist.init_process_group(backend, timeout=COLLECTIVE_TIMEOUT)
        return cls(dist.get_rank(), world)

    def leave(self) -> None:
        """Part from the other processes."""
        if self.world > 1:
            dist.destroy_process_group()

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files and talks to the user."""
        return self.rank == 0

    def sums(self, *values: float) -> list[float]:
        """Each value summed over all processes. Float64 holds token counts exactly."""
        if self.world == 1:
            return list(values)
        totals = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(totals)
        return [float(total) for total in totals]

    def agree(self, *flags: bool) -> list[bool]:
        """Each flag, raised for all processes if it is for any: all do the same at the same step."""
        return [total > 0 for total in self.sums(*map(float, flags))]

    def gather(self, value: Tensor) -> list[Tensor]:
        """The same-sized tensors of all processes, in the order of their ranks."""
        if self.world == 1:
            return [value]
        parts = [torch.empty_like(value) for _ in range(self.world)]
        dist.all_gather(parts, value)
        return parts

    def share(self, make: Callable[[], T]) -> T:
        """What the first process makes, for all; an error that the user can mend is raised in all."""
        if self.world == 1:
            return make()
        box: list[Any] = [None]
        if self.first:
            try:
                box = [make()]
            except GlassformerError as error:
                box = [error]
        dist.broadcast_object_list(box)
        if isinstance(box[0], GlassformerError):
            raise box[0]
        made: T = box[0]
        return made

    def wait(self) -> None:
        """Until all processes are here."""
        if self.world > 1:
            dist.barrier()

    def wrap(self, module: nn.Module, *, shard: bool, skips_layers: bool = False) -> nn.Module:
        """The module with its gradients exchanged: copied to every process (DDP) or sharded (FSDP2)."""
        if self.world == 1:
            return module
        if not shard:
            return DistributedDataParallel(module, find_unused_parameters=skips_layers)
        for child in module.modules():
            if isinstance(child, Block):  # not CrossBlock: the memory's keys are made before it runs
                fully_shard(child)
        fully_shard(module)
        return module

    @contextlib.contextmanager
    def exchanging(self, module: nn.Module, *, last: bool) -> Iterator[None]:
        """Exchange gradients only with the last micro-batch of an update."""
        if isinstance(module, DistributedDataParallel) and not last:
            with module.no_sync():
                yield
            return
        if isinstance(module, FSDPModule):
            module.set_requires_gradient_sync(last)
        yield

    def gradient_norm(self, parameters: Iterable[nn.Parameter], clip_norm: float) -> Tensor:
        """The norm of the whole gradient, which is then clipped to ``clip_norm`` unless that is 0."""
        norm = nn.utils.clip_grad_norm_(parameters, clip_norm or float("inf"), foreach=True)
        return whole(norm)


def whole(tensor: Tensor) -> Tensor:
    """A tensor as one, gathered where it is sharded; all processes take part."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def whole_tensors(named: Iterable[tuple[str, Tensor]]) -> dict[str, Tensor]:
    """Each tensor as one, detached, on the CPU."""
    return {name: whole(tensor).detach().cpu() for name, tensor in named}


def sharded_like(tensor: Tensor, example: Tensor) -> Tensor:
    """The part of a whole tensor that belongs to this process where the example is sharded, else a copy."""
    if not isinstance(example, DTensor) or tensor.shape != example.shape:
        return tensor.clone()
    return distribute_tensor(tensor, example.device_mesh, example.placements)
