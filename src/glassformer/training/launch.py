"""``--devices N``: torchrun, for people who would rather not type it."""

import logging
import os
import sys
import uuid
from collections.abc import Sequence

from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from glassformer.errors import GlassformerError


def spawn(processes: int, arguments: Sequence[str]) -> int:
    """Run this program as that many processes under torchrun's agent; the exit code of the first to end.

    The agent hands signals on to the processes, which then save and leave together, and ends all of
    them when one dies.
    """
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)  # we say it ourselves
    cores = os.cpu_count() or 1
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores // processes)))
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=0,
    )
    try:
        elastic_launch(config, sys.executable)("-m", "glassformer", *arguments)
    except SignalException as stop:
        return 128 + int(stop.sigval)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        code = failure.exitcode
        if code < 0:
            raise GlassformerError(
                f"process {rank} of {processes} was killed by signal {-code}; the others were ended",
                "glassformer train --resume RUN continues from the last checkpoint",
            ) from None
        return int(code)
    return 0
