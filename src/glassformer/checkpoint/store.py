"""Training checkpoints: the last few, the best one, and a thin history of the model.

checkpoints/
├── step-002800/      model.safetensors, optim.safetensors, …, state.json, manifest.json
├── history/          model.safetensors of a few steps, ever further apart, to look back at
├── latest.json       pointers for people and other programs; what counts here are
└── best.json         the manifests, and what each state.json says of the best step
"""

import dataclasses
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from glassformer.checkpoint.files import (
    discard,
    link_or_copy,
    make_directory,
    remove_stale,
    telling,
    write_directory,
    write_file,
    write_file_atomic,
)
from glassformer.checkpoint.manifest import Manifest, read_manifest, verify
from glassformer.checkpoint.reading import json_bytes, json_object
from glassformer.checkpoint.tensor_file import TensorType
from glassformer.checkpoint.tensors import load_tensors, not_finite, save_tensors
from glassformer.errors import CheckpointError

STATE = "state.json"
MODEL = "model"
_SUFFIX = ".safetensors"
_STEP = re.compile(r"step-(\d{6,})")
_GROUP = re.compile(r"[a-z][a-z0-9_]*")
_HISTORY_RATIO = 1.5
_INTACT = "earlier checkpoints are intact"


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint whose files were all as written when it was loaded."""

    path: Path
    step: int
    state: dict[str, object]
    manifest: Manifest = field(repr=False)
    skipped: tuple[str, ...] = ()
    """Newer checkpoints that could not be used, each with the reason."""

    @property
    def groups(self) -> list[str]:
        """Names of the groups of tensors."""
        return [name.removesuffix(_SUFFIX) for name in self.manifest.files if name.endswith(_SUFFIX)]

    def tensors(self, group: str, expected: Mapping[str, TensorType] | None = None) -> dict[str, Tensor]:
        """The tensors of a group, as they were saved; exactly those expected, where that is given."""
        if group not in self.groups:
            raise CheckpointError(f"{self.path}: no {group}{_SUFFIX} here; there is {', '.join(self.groups)}")
        name = group + _SUFFIX
        return load_tensors(self.path / name, expected=expected, record=self.manifest.files[name])


class CheckpointStore:
    """The ``checkpoints`` folder of a run."""

    def __init__(self, folder: Path, keep_last: int = 5, *, regular: int = 1) -> None:
        """The last few of every ``regular`` steps are kept; others, which an interruption or a good score
        left between them, only while they are the newest or the best.
        """
        if keep_last < 1:
            raise ValueError(f"keep_last = {keep_last} would keep nothing to resume from")
        self.folder = folder
        self.keep_last = keep_last
        self.regular = regular

    def save(
        self,
        step: int,
        tensors: Mapping[str, Mapping[str, Tensor]],
        state: Mapping[str, object],
        *,
        best: bool = False,
    ) -> Path:
        """Write a checkpoint, whole or not at all, then let the oldest go.

        Nothing is deleted before the new one is on disk. A checkpoint of the same step gives way to it.
        """
        document = self._document(step, tensors, state, best)
        size = sum(t.nbytes for group in tensors.values() for t in group.values()) + len(document)
        target = self.path(step)

        def write(folder: Path) -> None:
            for group, members in tensors.items():
                save_tensors(folder / (group + _SUFFIX), members)
            write_file(folder / STATE, [document])

        with telling(self.folder, 0, _INTACT):
            make_directory(self.folder)
            remove_stale(self.folder)
            self._set_damaged_aside(target)
        write_directory(target, write, replace=True, expected_size=size, assurance=_INTACT)
        self._point_and_prune(step)
        if MODEL in tensors:
            self._remember(step)
        return target

    def path(self, step: int) -> Path:
        """Where the checkpoint of a step is, or would be."""
        return self.folder / f"step-{step:06d}"

    def steps(self) -> list[int]:
        """Steps that have a checkpoint, in order; whether each can be used shows when it is loaded."""
        return _steps_in(self.folder)

    def latest(self) -> Checkpoint | None:
        """The newest checkpoint that is whole and finite; its ``skipped`` tells of newer ones that are not.

        Skipped ones are left where they are. Where there are checkpoints but none is usable, that is an error
        and not an empty folder: training must not begin anew without a word.
        """
        found, skipped = self._newest_usable()
        if found is None and skipped:
            raise CheckpointError(f"{self.folder}: no checkpoint can be used\n" + "\n".join(skipped))
        return found

    def best(self) -> Checkpoint | None:
        """The checkpoint last saved as the best one; None before there is one."""
        step = self._best_step()
        return None if step is None or not self.path(step).exists() else self.load(self.path(step))

    def load(self, path: Path, *, allow_nonfinite: bool = False) -> Checkpoint:
        """The checkpoint at a path, every file of it compared with its manifest."""
        manifest = verify(path)
        document = json_object(manifest.read(path, STATE), str(path / STATE))
        step, state, wrong = document.get("step"), document.get("state"), document.get("not_finite")
        if type(step) is not int or not isinstance(state, dict) or not isinstance(wrong, list):
            raise CheckpointError(f"{path / STATE}: this is not the state of a training run")
        if wrong and not allow_nonfinite:
            raise CheckpointError(
                f"{path}: {wrong[0]!r} is not finite; the run had diverged when this was saved"
            )
        return Checkpoint(path, step, state, manifest)

    def history(self) -> list[int]:
        """Steps of which the model is kept to look back at."""
        return _steps_in(self._history)

    def model_at(self, step: int, expected: Mapping[str, TensorType] | None = None) -> dict[str, Tensor]:
        """The model's tensors at a step of the history."""
        folder, name = self._history / f"step-{step:06d}", MODEL + _SUFFIX
        record = verify(folder).record(folder, name)
        return load_tensors(folder / name, expected=expected, record=record)

    @property
    def _history(self) -> Path:
        return self.folder / "history"

    def _document(
        self, step: int, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, object], best: bool
    ) -> bytes:
        """The content of ``state.json``, made before anything on disk is touched."""
        if step < 0 or any(not _GROUP.fullmatch(group) for group in tensors):
            raise ValueError(f"step {step} or a group of {list(tensors)} cannot be a name on disk")
        wrong = [f"{group}: {name}" for group, members in tensors.items() for name in not_finite(members)]
        document = json_bytes(
            {
                "step": step,
                "best_step": step if best else self._best_step(),
                "not_finite": wrong[:10],
                "state": dict(state),
            }
        )
        json_object(document, STATE)  # what could not be read again must not be written
        return document

    def _set_damaged_aside(self, target: Path) -> None:
        """Give way to a new checkpoint of the same step; a damaged one is evidence and is kept."""
        if not target.exists():
            return
        try:
            self.load(target, allow_nonfinite=True)
        except CheckpointError:
            names = (target.with_name(f"{target.name}.damaged-{number}") for number in range(1, 1_000_000))
            target.rename(next(name for name in names if not name.exists()))

    def _point_and_prune(self, step: int) -> None:
        best = self._best_step()
        for name, pointed in (("latest", step), ("best", best)):
            if pointed is not None:
                pointer = {"step": pointed, "directory": self.path(pointed).name}
                write_file_atomic(self.folder / f"{name}.json", json_bytes(pointer))
        steps = self.steps()
        regular = [each for each in steps if each % self.regular == 0]
        kept = {*regular[-self.keep_last :], best, step}
        if kept.issuperset(steps):
            return
        good, _ = self._newest_usable()  # read back: only what is whole may take the place of what goes
        if good is not None:
            kept.add(good.step)
            for old in steps:
                if old not in kept:
                    discard(self.path(old))

    def _best_step(self) -> int | None:
        """The best step so far, as the newest readable checkpoint has it."""
        for step in reversed(self.steps()):
            with suppress(CheckpointError):
                folder = self.path(step)
                document = json_object(read_manifest(folder).read(folder, STATE), str(folder / STATE))
                best = document.get("best_step")
                return best if type(best) is int else None
        return None

    def _newest_usable(self) -> tuple[Checkpoint | None, list[str]]:
        skipped: list[str] = []
        for step in reversed(self.steps()):
            try:
                return dataclasses.replace(self.load(self.path(step)), skipped=tuple(skipped)), skipped
            except CheckpointError as error:
                skipped.append(str(error))
        return None, skipped

    def _remember(self, step: int) -> None:
        """Keep the model of this step in the history, if the last one kept is long enough ago."""
        make_directory(self._history)
        remove_stale(self._history)
        history = self.history()
        if history and step < history[-1] * _HISTORY_RATIO:
            return
        name = MODEL + _SUFFIX
        write_directory(
            self._history / f"step-{step:06d}",
            lambda folder: link_or_copy(self.path(step) / name, folder / name),
            replace=True,
            assurance="the checkpoint itself is saved",
        )


def _steps_in(folder: Path) -> list[int]:
    found = (_STEP.fullmatch(path.name) for path in folder.glob("step-*") if path.is_dir())
    return sorted(int(match[1]) for match in found if match)
