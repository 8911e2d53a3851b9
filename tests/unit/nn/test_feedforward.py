"""What activations leave behind."""

import subprocess
import sys
from pathlib import Path

import pytest

TRIAL = """
import torch
from glassformer.nn.feedforward import activate

def megabytes():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6

x = torch.randn(1000, 256)
activate(x, "gelu")
before = megabytes()
for rows in range(400, 1000):
    activate(x[:rows], "gelu")
print(megabytes() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_gelu_of_many_shapes_keeps_no_memory() -> None:
    told = subprocess.run([sys.executable, "-c", TRIAL], capture_output=True, text=True, check=True)

    assert float(told.stdout) < 150  # a kernel for every shape: 300
