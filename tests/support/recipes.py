"""Modules of recipes, which are no package."""

import importlib.util
from pathlib import Path
from types import ModuleType

RECIPES = Path(__file__).parents[2] / "recipes"


def recipe_module(recipe: str, name: str) -> ModuleType:
    """A module that stands beside a recipe's settings."""
    spec = importlib.util.spec_from_file_location(name, RECIPES / recipe / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
