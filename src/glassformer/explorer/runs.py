"""Models and runs on disk, as the explorer lists and loads them, also while they are still in training."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from glassformer.checkpoint import CheckpointStore, load_model
from glassformer.checkpoint.model_files import read_config
from glassformer.config import ModelConfig
from glassformer.decoding import LanguageModel, TextEncoder, Translator
from glassformer.decoding.defaults import Defaults
from glassformer.errors import CheckpointError, GlassformerError
from glassformer.explorer.answers import Missing
from glassformer.explorer.metrics import tail
from glassformer.nn import DecoderOnly, EncoderDecoder, EncoderOnly, Transformer, build_model
from glassformer.probe import Subject
from glassformer.text import Tokenizer
from glassformer.training import RunDirectory

MODEL = "model"
_WEIGHTS = "model.safetensors"
_ENDED = ("finished", "interrupted", "stopped", "failed", "diverged")
_OWN = ("command", "started", "machine", "vectors", "threads", "status", "data", "processes")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A state of a model that can be looked at."""

    id: str
    step: int
    origin: str
    """``model``, ``checkpoint`` or ``history``."""
    path: Path
    best: bool = False


class Run:
    """A run directory, or a model directory by itself."""

    def __init__(self, directory: Path, name: str) -> None:
        self.id, self.directory = name, directory
        is_run = (directory / "config.toml").is_file()
        self.run = RunDirectory(directory) if is_run else None
        model = directory / "model" if (directory / "model" / _WEIGHTS).is_file() else directory
        self.model_directory = model if (model / _WEIGHTS).is_file() else None

    @property
    def config(self) -> ModelConfig:
        """The architecture."""
        if self.model_directory is not None:
            return read_config(self.model_directory)
        if self.run is None:
            raise CheckpointError(f"{self.directory}: this is neither a run nor a model directory")
        return self.run.settings().model

    def info(self) -> dict[str, object]:
        """What run.json says that is about the run and not about the machine."""
        if self.run is None:
            return {}
        found = self.run.read_info()
        return {name: value for name, value in found.items() if name not in _OWN}

    def status(self) -> str:
        """How far it is."""
        if self.run is None:
            return "a model directory"
        return str(self.run.read_info().get("status", "unknown"))

    @property
    def ended(self) -> bool:
        """Whether no more lines of metrics will come."""
        return self.run is None or self.status() in _ENDED

    def summary(self) -> dict[str, Any]:
        """What a list of runs says about it; one that cannot be read says why."""
        shown: dict[str, Any] = {
            "id": self.id,
            "name": self.directory.name,
            "kind": "model" if self.run is None else "run",
            "family": None,
            "parameters": None,
            "languages": [],
            "status": "",
            "step": 0,
            "scores": {},
            "has_metrics": self.run is not None and self.run.metrics.is_file(),
            "has_model": self.model_directory is not None,
            "checkpoints": 0,
            "error": None,
        }
        try:
            return shown | self._told()
        except GlassformerError as error:
            return shown | {"error": str(error)}

    def _told(self) -> dict[str, Any]:
        config = self.config
        with torch.device("meta"):
            size = sum(parameter.numel() for parameter in build_model(config).parameters())
        found = self.run.read_info() if self.run is not None else {}
        step, best = found.get("step"), found.get("best")
        checkpoints = self.checkpoints()
        langs = [] if self.run is None else list(self.run.settings().data.langs)
        return {
            "family": config.family,
            "parameters": size,
            "languages": langs,
            "status": self.status(),
            "step": step if isinstance(step, int) else max((each.step for each in checkpoints), default=0),
            "scores": {k: v for k, v in best.items() if isinstance(v, int | float)}
            if isinstance(best, dict)
            else {},
            "checkpoints": len(checkpoints),
        }

    def checkpoints(self) -> list[Checkpoint]:
        """Everything that can be looked at, oldest first; the finished model stands last."""
        found: dict[int, Checkpoint] = {}
        last = 0
        if self.run is not None and self.run.checkpoints.is_dir():
            store = CheckpointStore(self.run.checkpoints)
            best = _pointed(self.run.checkpoints / "best.json")
            for step in store.history():
                path = self.run.checkpoints / "history" / f"step-{step:06d}"
                found[step] = Checkpoint(f"step-{step:06d}", step, "history", path, step == best)
            for step in store.steps():
                path = store.path(step)
                found[step] = Checkpoint(path.name, step, "checkpoint", path, step == best)
            last = max(found, default=0)
        known = [found[step] for step in sorted(found)]
        if self.model_directory is not None:
            known.append(Checkpoint(MODEL, last, "model", self.model_directory))
        return known

    def checkpoint(self, wanted: str | None) -> Checkpoint:
        """The one of that name; of none the model, or the newest where there is no model yet."""
        known = self.checkpoints()
        if not known:
            raise CheckpointError(
                f"{self.directory}: there is nothing to look at yet, no checkpoint is saved"
            )
        if wanted is None:
            return known[-1]
        for each in known:
            if each.id == wanted:
                return each
        raise Missing(f"run {self.id!r} has no checkpoint {wanted!r}")

    def subject(self, checkpoint: Checkpoint) -> Subject:
        """The model of a checkpoint with its tokenizer, by PyTorch."""
        if checkpoint.origin == MODEL:
            loaded = load_model(checkpoint.path)
            if loaded.tokenizer is None:
                raise CheckpointError(
                    f"{checkpoint.path}: no tokenizer.json here; a model of texts needs one"
                )
            return _subject(loaded.model, loaded.tokenizer, Defaults.of(checkpoint.path))
        if self.run is None:
            raise Missing(f"run {self.id!r} has no checkpoints")
        model = build_model(self.config)
        store = CheckpointStore(self.run.checkpoints)
        if checkpoint.origin == "history":
            tensors = store.model_at(checkpoint.step)
        else:
            tensors = store.load(checkpoint.path).tensors(MODEL)
        _fill(model, tensors, checkpoint.path)
        return _subject(model.eval(), Tokenizer.load(self.run.tokenizer), Defaults())

    def fingerprint(self, checkpoint: Checkpoint) -> str:
        """What tells one set of weights from another, without reading them: their manifest."""
        manifest = checkpoint.path / "manifest.json"
        try:
            data = manifest.read_bytes()
        except OSError:
            data = str((checkpoint.path / _WEIGHTS).stat().st_mtime_ns).encode()
        return hashlib.sha256(data).hexdigest()[:16]

    def validations(self) -> list[dict[str, Any]]:
        """The validation lines of the metrics."""
        if self.run is None:
            return []
        return [line for line in tail(self.run.metrics, 0)[0] if line.get("split") == "valid"]


def open_runs(directories: list[Path]) -> dict[str, Run]:
    """Runs by short, unique names."""
    found: dict[str, Run] = {}
    for directory in directories:
        if not directory.is_dir():
            raise CheckpointError(f"{directory}: there is no such directory")
        own = directory.resolve()
        base = own.parent.name if own.name == "model" and (own.parent / "config.toml").is_file() else own.name
        base = "".join(char if char.isalnum() or char in "-_." else "-" for char in base) or "model"
        name, number = base, 1
        while name in found:
            number += 1
            name = f"{base}-{number}"
        place = own.parent if own.name == "model" and (own.parent / "config.toml").is_file() else own
        found[name] = Run(place, name)
    return found


def _subject(model: Transformer, tokenizer: Tokenizer, defaults: Defaults) -> Subject:
    match model:
        case EncoderDecoder():
            reading = defaults.alignment(model.config, "model")
            return Translator(model, tokenizer, defaults.decode, language=defaults.language, reading=reading)
        case DecoderOnly():
            return LanguageModel(model, tokenizer, defaults.decode)
        case EncoderOnly():
            return TextEncoder(model, tokenizer)


def _fill(model: Transformer, tensors: dict[str, torch.Tensor], path: Path) -> None:
    wanted = dict(model.named_parameters())
    if wanted.keys() != tensors.keys() or any(wanted[n].shape != tensors[n].shape for n in wanted):
        raise CheckpointError(f"{path}: these weights are not of the model that config.toml describes")
    with torch.no_grad():
        for name, parameter in wanted.items():
            parameter.copy_(tensors[name])


def _pointed(path: Path) -> int | None:
    try:
        step = json.loads(path.read_text(encoding="utf-8")).get("step")
    except (OSError, ValueError, AttributeError):
        return None
    return step if isinstance(step, int) else None
