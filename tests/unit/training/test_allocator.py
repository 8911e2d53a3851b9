"""Freed memory stays with the process that trains."""

import platform
import subprocess
import sys

import pytest

TRIAL = """
import resource, sys
import torch
from glassformer.training.allocator import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

if sys.argv[1] == "keep":
    assert keep_freed_memory()
for _ in range(3):  # a few blocks of 64 MB, freed at once
    torch.ones(16_000_000)
before = faults()
torch.ones(16_000_000)
print(faults() - before)
"""


def faults(mode: str) -> int:
    told = subprocess.run([sys.executable, "-c", TRIAL, mode], capture_output=True, text=True, check=True)
    return int(told.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the switch is glibc's")
def test_a_large_block_is_given_out_again_without_touching_the_system() -> None:
    assert faults("leave") > 5_000  # one block, page by page
    assert faults("keep") < 500
