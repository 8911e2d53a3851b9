"""The web explorer: a page of plain ES modules, and the data it asks for.

The page is in ``page/``, as it is served; ``docs/explorer-api.md`` is the contract between the two.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glassformer.explorer.app import create_app
    from glassformer.explorer.export import html_of

__all__ = ["create_app", "html_of"]

_HOMES = {"create_app": "app", "html_of": "export"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
