"""Which arithmetic this machine survives.

Some virtual machines announce AMX but cannot run it: a bfloat16 product then kills the process with an
illegal instruction. So it is tried in a child process first, never believed from CPU flags.
"""

import functools
import subprocess
import sys

import torch

from glassformer.config import TrainConfig
from glassformer.errors import ConfigError

_TRIAL = """
import torch
x = torch.randn(64, 64).bfloat16()
y = torch.nn.functional.linear(x, x) + torch.addmm(x, x, x)
raise SystemExit(0 if torch.isfinite(y).all() else 1)
"""


@functools.cache
def bfloat16_works() -> bool:
    """Whether bfloat16 products run here; a CPU is tried in a child process."""
    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported())
    trial = [sys.executable, "-c", _TRIAL]
    return subprocess.run(trial, capture_output=True, timeout=60, check=False).returncode == 0  # noqa: S603


def check_precision(config: TrainConfig) -> torch.dtype | None:
    """The type to autocast to, None for float32; refuses what would kill the process."""
    needs = []
    if config.precision == "bfloat16":
        needs.append('precision = "bfloat16"')
    if config.optimizer == "muon":  # torch.optim.Muon orthogonalises in bfloat16
        needs.append('optimizer = "muon"')
    if needs and not bfloat16_works():
        raise ConfigError(
            f"train: {needs[0]} needs bfloat16 products, which a trial on this CPU did not survive; "
            'use precision = "float32" and optimizer = "adamw"'
        )
    return torch.bfloat16 if config.precision == "bfloat16" else None
