"""For every test: one thread, one seed, and every forward held to its shapes."""

import importlib
import os
import pkgutil

os.environ.setdefault("MPLBACKEND", "Agg")

import pytest
import torch

import glassformer.nn
from tests.support.shapes import check_forwards

torch.set_num_threads(1)

for _module in pkgutil.iter_modules(glassformer.nn.__path__, "glassformer.nn."):
    check_forwards(importlib.import_module(_module.name))


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)
    if torch.get_num_threads() != 1:  # commands that run in this process may have set it
        torch.set_num_threads(1)
