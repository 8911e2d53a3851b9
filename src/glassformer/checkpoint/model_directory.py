"""A model directory as a model: what one copies, serves and loads."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from glassformer.checkpoint.files import write_directory, write_file
from glassformer.checkpoint.manifest import FORMAT
from glassformer.checkpoint.model_files import (
    CARD,
    CONFIG,
    TOKENIZER,
    WEIGHTS,
    ModelFiles,
    open_model,
    read_tokenizer,
)
from glassformer.checkpoint.reading import json_bytes
from glassformer.checkpoint.storage import Storage, restore, store
from glassformer.checkpoint.tensor_file import RawTensor, write_tensors
from glassformer.checkpoint.tensors import not_finite
from glassformer.config import ModelConfig
from glassformer.errors import CheckpointError
from glassformer.nn import Transformer, build_model

if TYPE_CHECKING:
    from glassformer.text import Tokenizer

_ROOM = 4
_SMALL = 1_000_000


class LoadedModel(NamedTuple):
    """A model ready for use, in evaluation mode, and what belongs to it."""

    model: Transformer
    tokenizer: "Tokenizer | None"
    config: ModelConfig


def save_model(
    directory: Path,
    model: Transformer,
    tokenizer: "Tokenizer | None",
    *,
    card: str,
    storage: Storage = "float32",
    replace: bool = False,
    extras: Mapping[str, bytes] | None = None,
) -> None:
    """Write a model directory, whole or not at all; a tied matrix is written once.

    ``extras`` are further files by name, for what is no part of the model: see ``read_extra``.
    """
    parameters = dict(model.named_parameters())
    if wrong := not_finite(parameters):
        raise CheckpointError(f"{directory}: {wrong[0]!r} is not finite; such a model is not saved")
    tensors = _stored(parameters, storage)

    def write(folder: Path) -> None:
        write_file(folder / CONFIG, [json_bytes(model.config.model_dump())])
        write_tensors(folder / WEIGHTS, tensors, {"format": str(FORMAT), "storage": storage})
        write_file(folder / CARD, [card.encode()])
        if tokenizer is not None:
            tokenizer.save(folder / TOKENIZER)
        for name, content in (extras or {}).items():
            write_file(folder / name, [content])

    size = sum(tensor.type.n_bytes for tensor in tensors.values())
    write_directory(directory, write, replace=replace, expected_size=size)


def load_model(directory: Path, *, verify: bool = True, allow_nonfinite: bool = False) -> LoadedModel:
    """The model of a directory. Every parameter comes from one tensor, and no tensor is left over.

    ``verify`` compares what is read with the manifest. Ties are those of the architecture: they are made by
    building the model, not by reading.
    """
    with open_model(directory, verified=verify) as files:
        model = _undrawn_model(files)
        parameters = dict(model.named_parameters())
        tensors = files.read({name: tuple(parameter.shape) for name, parameter in parameters.items()})
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(torch.from_numpy(restore(name, tensors)))
    if not allow_nonfinite and (wrong := not_finite(parameters)):
        raise CheckpointError(f"{directory / WEIGHTS}: {wrong[0]!r} is not finite; the model is of no use")
    return LoadedModel(model.eval(), read_tokenizer(files), files.config)


def _stored(parameters: Mapping[str, Tensor], storage: Storage) -> dict[str, RawTensor]:
    tensors: dict[str, RawTensor] = {}
    for name, parameter in parameters.items():
        tensors |= store(name, parameter.detach().float().cpu().numpy(), storage)
    return tensors


def _undrawn_model(files: ModelFiles) -> Transformer:
    """A model of the right size whose numbers are not set yet."""
    stored = sum(found.size for found in files.weights.types.values())
    try:
        with _Undrawn(_ROOM * stored + _SMALL):
            return build_model(files.config)
    except _TooLarge:
        raise CheckpointError(
            f"{files.directory / CONFIG}: the model described is more than {_ROOM} times as large as "
            f"{WEIGHTS}; the two do not belong together"
        ) from None


class _TooLarge(Exception):
    """More memory was asked for than a file can fill."""


class _Undrawn(TorchFunctionMode):
    """Building under this draws no random numbers, and takes no more room than it was given.

    Loading is then several times faster, does not disturb the caller's random numbers, and a small file with
    a gigantic architecture is refused before memory is. Some room is left above the file's own size, so that
    a wrong vocabulary is reported by name.
    """

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        drawing = func in (torch.Tensor.uniform_, torch.Tensor.normal_)
        if drawing or getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        if func is torch.empty:
            self._room -= _n_numbers(args)
            if self._room < 0:
                raise _TooLarge
        return func(*args, **kwargs)


def _n_numbers(shape: tuple[Any, ...]) -> int:
    """The numbers in ``torch.empty(2, 3)`` or ``torch.empty((2, 3))``."""
    return math.prod(shape if isinstance(shape[0], int) else shape[0])
