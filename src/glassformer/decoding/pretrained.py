"""Model directories as something to use."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from glassformer.checkpoint import LoadedModel, load_model, resolve_model_directory, save_model
from glassformer.errors import CheckpointError, InputError
from glassformer.nn import DecoderOnly, EncoderDecoder, EncoderOnly, Transformer
from glassformer.text import Tokenizer

M = TypeVar("M", EncoderDecoder, DecoderOnly, EncoderOnly)

_USE = {
    "encoder-decoder": "Translator",
    "decoder-only": "LanguageModel",
    "encoder-only": "TextEncoder",
}


def load_family(cls: type[M], directories: Sequence[Path | str]) -> tuple[tuple[M, ...], Tokenizer]:
    """The models of one family in these directories, and the tokenizer they share; of none: the shipped."""
    models: list[M] = []
    tokenizers: list[Tokenizer] = []
    for directory in directories or (shipped_model(),):
        found, tokenizer = read_directory(directory)
        if not isinstance(found.model, cls):
            use = _USE[found.config.family]
            raise CheckpointError(
                f'{directory}: this is a model of family = "{found.config.family}"; use {use}'
            )
        models.append(found.model)
        tokenizers.append(tokenizer)
        if tokenizer.fingerprint != tokenizers[0].fingerprint:
            raise CheckpointError(
                f"{directory}: its tokenizer is not that of {directories[0]}; an ensemble needs one for all"
            )
    return tuple(models), tokenizers[0]


def read_directory(directory: Path | str) -> tuple[LoadedModel, Tokenizer]:
    """A model with its tokenizer, from a model or run directory."""
    place = resolve_model_directory(directory)
    found = load_model(place)
    if found.tokenizer is None:
        raise CheckpointError(f"{place}: no tokenizer.json here; a model of texts needs one")
    return found, found.tokenizer


def shipped_model() -> Path:
    """The directory of the small model that comes with the package."""
    directory = Path(str(files("glassformer") / "pretrained" / "en-fr"))
    if not directory.is_dir():
        raise CheckpointError("no model comes with this installation; name a model directory")
    return directory


def save(directory: Path | str, models: Sequence[Transformer], tokenizer: Tokenizer, card: str) -> None:
    """Write the directory of one model."""
    if len(models) != 1:
        raise InputError(f"an ensemble of {len(models)} models is not one directory; save each by itself")
    save_model(Path(directory), models[0], tokenizer, card=card)
