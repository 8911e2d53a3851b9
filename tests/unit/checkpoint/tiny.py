"""Checkpoints and model directories of a few hundred bytes."""

import hashlib
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from glassformer.checkpoint import CheckpointStore, save_model
from glassformer.checkpoint.manifest import MANIFEST, FileRecord, Manifest
from glassformer.config import TokenizerConfig
from glassformer.nn import Transformer
from glassformer.text import Tokenizer
from tests.support.models import tiny_model


def groups(step: int) -> dict[str, dict[str, Tensor]]:
    """What a trainer would hand in at a step."""
    generator = torch.Generator().manual_seed(step)
    weight = torch.randn(3, 4, generator=generator)
    return {
        "model": {"a.weight": weight, "a.bias": torch.full((4,), float(step))},
        "optim": {"a.weight.exp_avg": weight * 2, "step": torch.tensor(step)},
    }


def save(store: CheckpointStore, step: int, *, best: bool = False) -> Path:
    """Save the checkpoint of a step."""
    return store.save(step, groups(step), {"step": step, "rng": "00ff"}, best=best)


def filled_store(folder: Path, steps: int = 3, keep_last: int = 2) -> CheckpointStore:
    """A folder with a few checkpoints in it, the first of them the best."""
    store = CheckpointStore(folder, keep_last)
    for step in range(1, steps + 1):
        save(store, step, best=step == 1)
    return store


@cache
def tiny_tokenizer() -> Tokenizer:
    """The smallest tokenizer: bytes and a few letters."""
    return Tokenizer.train(["a cat sleeps", "un chat dort"], TokenizerConfig(kind="char", vocab_size=300))


def save_tiny(directory: Path, **settings: object) -> Transformer:
    """A model directory with the model that is in it."""
    model = tiny_model(vocab_size=tiny_tokenizer().size, **settings)
    save_model(directory, model, tiny_tokenizer(), card="# A tiny model\n")
    return model


def reseal(directory: Path) -> None:
    """A manifest for whatever is in a directory now: its author may be hostile, and hashes right."""
    records = {}
    for path in directory.iterdir():
        if path.name != MANIFEST:
            content = path.read_bytes() if path.is_file() else b""
            records[path.name] = FileRecord(len(content), hashlib.sha256(content).hexdigest())
    (directory / MANIFEST).write_bytes(Manifest(records).to_bytes())
