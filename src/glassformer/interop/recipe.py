"""How the tensors of a foreign model become our parameters: each of theirs has exactly one role."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from glassformer.config import ModelConfig

Shape = tuple[int, ...]


class Recipe(NamedTuple):
    """One of our parameters, made of tensors of theirs."""

    needs: Mapping[str, Shape]
    """Names and shapes of the foreign tensors."""
    make: Callable[..., Tensor]
    """Called with those tensors, in that order."""


@dataclass(frozen=True)
class Plan:
    """A foreign model as one of ours."""

    config: ModelConfig
    recipes: dict[str, Recipe]
    """One for each parameter of ours."""
    equal: dict[str, str] = field(default_factory=dict)
    """Foreign tensors that may be there, and the one each must equal: ties."""
    formulas: dict[str, Callable[[], Tensor]] = field(default_factory=dict)
    """Foreign tensors that may be there and follow from the settings: compared with their formula."""
    without_use: tuple[str, ...] = ()
    """Endings of foreign tensors that our heads have no use for; leaving them out is reported."""


def same(name: str, *shape: int) -> Recipe:
    """A tensor as it is."""
    return Recipe({name: shape}, lambda found: found)


def scaled(name: str, factor: float, *shape: int) -> Recipe:
    """A tensor times a number."""
    return Recipe({name: shape}, lambda found: found * factor)


def transposed(name: str, rows: int, columns: int) -> Recipe:
    """A matrix of this shape, which the file has the other way round."""
    return Recipe({name: (columns, rows)}, lambda found: found.T)


def part(name: str, shape: Shape, dim: int, start: int, length: int, factor: float = 1.0) -> Recipe:
    """A slice of a fused tensor; a matrix comes transposed, as ``Conv1D`` has it."""

    def make(found: Tensor) -> Tensor:
        piece = found.narrow(dim, start, length) * factor
        return piece.T if piece.dim() == 2 else piece

    return Recipe({name: shape}, make)


def rows_from(name: str, start: int, *shape: int) -> Recipe:
    """The rows from ``start`` on of a table."""
    return Recipe({name: shape}, lambda found: found[start:])


def zeros(*shape: int) -> Recipe:
    """What a foreign model lacks and ours adds without effect."""
    return Recipe({}, lambda: torch.zeros(shape))


def linear(ours: str, theirs: str, rows: int, columns: int, *, bias: bool = True) -> dict[str, Recipe]:
    """A linear map whose tensors are called alike."""
    found = {f"{ours}.weight": same(f"{theirs}.weight", rows, columns)}
    if bias:
        found[f"{ours}.bias"] = same(f"{theirs}.bias", rows)
    return found


def layer_norm(ours: str, theirs: str, width: int) -> dict[str, Recipe]:
    """A layer norm."""
    return {
        f"{ours}.weight": same(f"{theirs}.weight", width),
        f"{ours}.bias": same(f"{theirs}.bias", width),
    }


def permuted(recipes: Mapping[str, Recipe], order: Tensor) -> dict[str, Recipe]:
    """The same parameters with the features of the hidden states in another order."""
    return {name: _reordered(name, recipe, order) for name, recipe in recipes.items()}


def feature_dimension(parameter: str) -> int | None:
    """Which dimension of one of our parameters runs over the features of a hidden state; None: none does."""
    module, _, kind = parameter.rpartition(".")
    leaf = module.rpartition(".")[2]
    if leaf in ("norm", "norm_after"):
        return 0
    if leaf == "contract" or module.endswith("attention.output"):  # these write to hidden states
        return 0
    if kind == "weight" and leaf in ("query", "key", "value", "expand", "gate"):  # these read them
        return 1
    return 1 if kind == "weight" and (leaf.endswith("embedding") or leaf in ("output", "positions")) else None


def _reordered(name: str, recipe: Recipe, order: Tensor) -> Recipe:
    dim = feature_dimension(name)
    if dim is None:
        return recipe
    return Recipe(recipe.needs, lambda *found: recipe.make(*found).index_select(dim, order))
