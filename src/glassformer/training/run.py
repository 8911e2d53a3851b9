"""A run directory: made once, never reused, never overwritten."""

import json
import platform
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import torch

from glassformer import __version__
from glassformer.checkpoint.files import write_file_atomic
from glassformer.config import RunConfig, load, to_toml
from glassformer.errors import CheckpointError, GlassformerError
from glassformer.nn.native import native_library


class RunDirectory:
    """The files of one run, by name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.toml"
        self.info = path / "run.json"
        self.metrics = path / "metrics.jsonl"
        self.log = path / "train.log"
        self.tokenizer = path / "tokenizer.json"
        self.checkpoints = path / "checkpoints"
        self.model = path / "model"
        self.plots = path / "plots"
        self.samples = path / "samples"
        self.tensorboard = path / "tb"

    @classmethod
    def create(cls, parent: Path, name: str) -> "RunDirectory":
        """A new directory ``name-01``, or the next number that is free.

        It counts as a run once its settings are written, which is done last.
        """
        for number in range(1, 10_000):
            run = cls(parent / f"{name}-{number:02d}")
            try:
                run.path.mkdir(parents=True)
                for folder in (run.checkpoints, run.plots, run.samples):
                    folder.mkdir()
            except FileExistsError:
                continue
            except OSError as error:
                raise GlassformerError(f"{run.path}: cannot make a run here ({error.strerror})") from None
            return run
        raise GlassformerError(f"{parent}: there are 9,999 runs named {name}; choose another --name")

    @classmethod
    def open(cls, path: Path) -> "RunDirectory":
        """A run that exists."""
        run = cls(path)
        if not run.config.is_file():
            raise CheckpointError(
                f"{path}: no config.toml here; is this a run directory that 'glassformer train' made?"
            )
        return run

    def settings(self) -> RunConfig:
        """The resolved settings of this run."""
        return load(RunConfig, self.config)

    def write_settings(self, config: RunConfig) -> None:
        """The resolved settings, every default written out."""
        write_file_atomic(self.config, to_toml(config).encode())

    def read_info(self) -> dict[str, object]:
        """What run.json says; nothing where it is not written yet."""
        if not self.info.exists():
            return {}
        try:
            info: dict[str, object] = json.loads(self.info.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise CheckpointError(f"{self.info}: cannot be read; it should be JSON") from None
        return info

    def note(self, values: Mapping[str, object]) -> None:
        """Add to run.json."""
        text = json.dumps({**self.read_info(), **values}, indent=2, ensure_ascii=False)
        write_file_atomic(self.info, (text + "\n").encode())


_OTHER_BITS = ("torch", "machine", "vectors", "kernels")
"""Circumstances that settle in which order numbers are added."""


def circumstances() -> dict[str, object]:
    """What a rerun would want to know: command, versions, processor, threads, whose kernels."""
    return {
        "command": ["glassformer", *sys.argv[1:]],
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "glassformer": __version__,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "vectors": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "kernels": "PyTorch" if native_library() is None else "native",
    }


def moved(info: Mapping[str, object]) -> str | None:
    """Why a run that began as its run.json says cannot go on bit by bit here; None where it can."""
    now = circumstances()
    changed = [key for key in _OTHER_BITS if key in info and info[key] != now[key]]
    if not changed:
        return None
    before, here = (", ".join(f"{key} {values[key]}" for key in changed) for values in (info, now))
    return f"this run began with {before}; here it is {here}: it goes on where it stopped, but not bit by bit"
