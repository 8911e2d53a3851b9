"""Models of Hugging Face directories as models of ours: weights and settings, never code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from glassformer.checkpoint.tensor_file import RawTensor, TensorType
from glassformer.checkpoint.tensors import from_raw, not_finite
from glassformer.errors import CheckpointError
from glassformer.interop.architectures import plan_of
from glassformer.interop.census import Census
from glassformer.interop.directory import ForeignDirectory, ForeignTensors, is_float
from glassformer.interop.recipe import Plan
from glassformer.interop.settings import Settings
from glassformer.nn import Transformer, build_model

_SHOWN = 3
_SAME_FORMULA = 1e-5


@dataclass(frozen=True)
class ReadModel:
    """A foreign model, as one of ours, and what was left aside on the way."""

    model: Transformer
    settings: Settings
    census: Census
    notes: tuple[str, ...]


def read_model(directory: Path | str, dtype: torch.dtype = torch.float32) -> ReadModel:
    """The model of a Hugging Face directory: every tensor has its place, and none is missing."""
    foreign = ForeignDirectory(Path(directory))
    settings = foreign.settings()
    with foreign.tensors() as tensors:
        types = tensors.types
        plan = plan_of(foreign, settings, types)
        _check_recipes(plan)
        aside = _check(foreign, plan, types)
        model = fill(plan, tensors, dtype)
    return ReadModel(model.eval(), settings, _count(plan, types, aside), tuple(_notes(settings, aside)))


def fill(plan: Plan, tensors: ForeignTensors, dtype: torch.dtype) -> Transformer:
    """The model of a plan, its parameters made of foreign tensors that have been checked."""
    raw = tensors.read()
    _check_ties(tensors.path, plan, raw)
    with torch.random.fork_rng(devices=[]):  # building draws numbers that nobody will see
        model = build_model(plan.config).to(dtype)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            recipe = plan.recipes[name]
            made = recipe.make(*(from_raw(raw[needed]).to(dtype) for needed in recipe.needs))
            parameter.copy_(made)
    if wrong := not_finite(dict(model.named_parameters())):
        raise CheckpointError(f"{tensors.path}: {wrong[0]!r} would not be finite; the model is of no use")
    return model


def _check_recipes(plan: Plan) -> None:
    """A plan has one recipe for each parameter; the model that says so is built without its numbers."""
    with torch.device("meta"):
        model = build_model(plan.config)
    ours = {name for name, _ in model.named_parameters()}
    if ours != set(plan.recipes):
        raise RuntimeError(f"recipes for {sorted(ours ^ set(plan.recipes))[:_SHOWN]} are wrong")


def _check(foreign: ForeignDirectory, plan: Plan, types: Mapping[str, TensorType]) -> list[str]:
    """Compare names, shapes and types with the plan before any number is read; gives what is left aside."""
    needed = {name: shape for recipe in plan.recipes.values() for name, shape in recipe.needs.items()}
    known = set(needed) | set(plan.equal) | set(plan.formulas)
    aside = [name for name in types if name not in known and name.endswith(plan.without_use or ("\0",))]
    missing = [repr(name) for name in needed if name not in types]
    unexpected = [repr(name) for name in types if name not in known and name not in aside]
    different = [
        f"{name!r} is {types[name].shape}, not {shape}"
        for name, shape in needed.items()
        if name in types and types[name].shape != shape
    ]
    if missing or unexpected or different:
        findings = [_some("missing: ", missing), _some("unexpected: ", unexpected), _some("", different)]
        raise CheckpointError(
            f"{foreign.path}: the weights are not those of config.json; {'; '.join(filter(None, findings))}"
        )
    for name in known & set(types):
        if not is_float(types[name]):
            raise CheckpointError(f"{foreign.path}: tensor {name!r} is {types[name]}; weights are floats")
    return aside


def _count(plan: Plan, types: Mapping[str, TensorType], aside: list[str]) -> Census:
    """What has been checked by now: together the roles are all that is stored."""
    used = {name for recipe in plan.recipes.values() for name in recipe.needs}
    tied, computed = (len(roles & set(types) - used) for roles in (set(plan.equal), set(plan.formulas)))
    return Census(len(types), len(used), tied, computed, len(aside))


def _check_ties(path: Path, plan: Plan, raw: Mapping[str, RawTensor]) -> None:
    """Tensors that must be equal are, where both are there; those with a formula follow it."""
    for name, other in plan.equal.items():
        if name in raw and not _same(raw[name], raw[other]):
            raise CheckpointError(f"{path}: {name!r} and {other!r} differ, but this architecture ties them")
    for name, formula in plan.formulas.items():
        if name in raw and not _follows(from_raw(raw[name]), formula):
            raise CheckpointError(
                f"{path}: {name!r} is not what its formula gives; it would change the model"
            )


def _same(one: RawTensor, other: RawTensor) -> bool:
    return one.array.shape == other.array.shape and torch.equal(from_raw(one), from_raw(other))


def _follows(found: Tensor, formula: Callable[[], Tensor]) -> bool:
    expected = formula()
    return found.shape == expected.shape and torch.allclose(
        found.double(), expected, rtol=0, atol=_SAME_FORMULA
    )


def _notes(settings: Settings, aside: list[str]) -> list[str]:
    notes = [f"{name} in config.json asks for code; it was not run" for name in settings.code_keys]
    if aside:
        notes.append(_some("left aside, without use here: ", [repr(name) for name in sorted(aside)]))
    return notes


def _some(title: str, names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{title}{', '.join(names[:_SHOWN])}{more}" if names else ""
