"""A seed drawn anew each time and printed, so that no bound is tuned to one curve."""

import os
import secrets

import pytest
import torch


@pytest.fixture
def seed(_seed: None) -> int:
    """The drawn seed, which is torch's from now on; GLASSFORMER_TEST_SEED repeats one."""
    given = os.environ.get("GLASSFORMER_TEST_SEED")
    drawn = secrets.randbits(32) if given is None else int(given)
    print(f"seed {drawn}")
    torch.manual_seed(drawn)
    return drawn
