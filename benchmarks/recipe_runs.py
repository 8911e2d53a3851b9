"""Recipes run as a user runs them: prepared, trained by the command, taken up again where they stopped."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from glassformer.training.events import read_metrics

ROOT = Path(__file__).parents[1]
RECIPES = ROOT / "recipes"
SHARED = ROOT.parent / "shared" / "data"
RESULTS = Path(__file__).parent / "results"

Line = dict[str, float | str]


class Trained(NamedTuple):
    """A finished run."""

    path: Path
    minutes: float
    """Of training and validating; what was lost by stopping is not in it."""
    steps: int
    metrics: list[Line]
    kernels: str
    """Whose products and attention trained it: PyTorch's, or the native ones."""

    @property
    def validations(self) -> list[Line]:
        """What was measured on the validation set, in order."""
        return [line for line in self.metrics if line["split"] == "valid"]


def prepare(recipe: str, source: Path, folder: Path) -> None:
    """Make the corpus of a recipe, unless it is there."""
    if not folder.exists():
        subprocess.run([sys.executable, RECIPES / recipe / "prepare.py", source, folder], check=True)


def train(
    config: Path, runs: Path, name: str, settings: Mapping[str, object], *, processes: int = 1
) -> Trained:
    """Train a new run, go on with one that was stopped, or read one that is finished."""
    path = runs / f"{name}-01"
    if not (path / "config.toml").exists():
        given = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        _glassformer("train", str(config), "--runs", str(runs), "--name", name, *given, processes=processes)
    elif _info(path)["status"] != "finished":
        _glassformer("train", "--resume", str(path), processes=processes)
    info = _info(path)
    minutes, kernels = float(info["seconds"]) / 60, str(info.get("kernels", "PyTorch"))
    return Trained(path, minutes, int(info["step"]), read_metrics(path / "metrics.jsonl"), kernels)


def _info(run: Path) -> dict[str, float | str]:
    found: dict[str, float | str] = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return found


def _glassformer(*arguments: str, processes: int) -> None:
    """The command, with one thread per process where there are several."""
    several = ["--devices", str(processes)] if processes > 1 else []
    threads = {"OMP_NUM_THREADS": "1"} if processes > 1 else {}
    command = [sys.executable, "-m", "glassformer", *arguments, *several]
    subprocess.run(command, check=True, env={**os.environ, **threads})
