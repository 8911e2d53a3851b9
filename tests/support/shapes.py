"""Hold every ``forward`` to the shapes that its annotations promise."""

import functools
import inspect
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from torch import Tensor, nn

from glassformer.errors import GlassformerError


def check_forwards(module: types.ModuleType) -> None:
    """Wrap the ``forward`` of every layer that a module of the package defines."""
    for _, cls in inspect.getmembers(module, inspect.isclass):
        if issubclass(cls, nn.Module) and cls.__module__ == module.__name__:
            _check_forward(cls)


def _check_forward(cls: type[nn.Module]) -> None:
    forward, hints = cls.forward, get_type_hints(cls.forward, include_extras=True)
    signature = inspect.signature(forward)

    @functools.wraps(forward)
    def checked_forward(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        sizes: dict[str, int] = {}

        def check_arguments() -> None:
            for name, value in signature.bind(self, *args, **kwargs).arguments.items():
                _check(f"{cls.__name__}({name})", hints.get(name), value, sizes)

        try:
            result = forward(self, *args, **kwargs)
        except GlassformerError:  # bad input that was refused in words
            raise
        except Exception:
            check_arguments()  # says more than torch does
            raise
        check_arguments()
        _check(f"{cls.__name__}(...)", hints.get("return"), result, sizes)
        return result

    cls.forward = checked_forward


def _check(where: str, hint: Any, value: Any, sizes: dict[str, int]) -> None:
    shapes = list(_shapes(hint))
    if len(shapes) != 1 or not isinstance(value, Tensor):  # a union of shapes promises no single one
        return
    dims = shapes[0].split()
    assert value.dim() == len(dims), f"{where} is {tuple(value.shape)}, not ({shapes[0]})"
    for dim, size in zip(dims, value.shape, strict=True):
        name, _, broadcast = dim.partition("|")
        if size == 1 and (broadcast or name == "1"):
            continue
        expected = sizes.setdefault(name, size)
        assert size == expected, (
            f"{where} is {tuple(value.shape)}, not ({shapes[0]}) with {name} = {expected}"
        )


def _shapes(hint: Any) -> Iterator[str]:
    """The shapes in ``Hidden``, ``Mask | None`` or ``Ids | Images``."""
    if get_origin(hint) is Annotated:
        yield hint.__metadata__[0]
    elif get_origin(hint) in (types.UnionType, typing.Union):
        for option in get_args(hint):
            yield from _shapes(option)
