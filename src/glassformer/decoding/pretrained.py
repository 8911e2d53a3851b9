"""Model directories as something to use."""

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from glassformer.checkpoint import open_model
from glassformer.checkpoint.model_files import read_config, read_extra, read_tokenizer
from glassformer.config import ModelConfig
from glassformer.config.model import Family
from glassformer.decoding.engines import EngineChoice, Native
from glassformer.decoding.foreign import find_directory
from glassformer.decoding.shortlist import FILE as SHORTLIST
from glassformer.decoding.shortlist import LIMIT as SHORTLIST_LIMIT
from glassformer.decoding.shortlist import Shortlist
from glassformer.engine import Engine, NotNative, Precision
from glassformer.errors import CheckpointError, InputError
from glassformer.text import Tokenizer

if TYPE_CHECKING:
    from glassformer.checkpoint import LoadedModel
    from glassformer.nn import DecoderOnly, EncoderDecoder, EncoderOnly, Transformer

M = TypeVar("M", "EncoderDecoder", "DecoderOnly", "EncoderOnly")
G = TypeVar("G", "EncoderDecoder", "DecoderOnly")
"""Those that generate."""

_USE = {
    "encoder-decoder": "Translator",
    "decoder-only": "LanguageModel",
    "encoder-only": "TextEncoder",
}


class Opened(NamedTuple, Generic[G]):
    """A model or an ensemble ready to answer, and its tokenizer."""

    model: tuple[G, ...] | Native[G]
    tokenizer: Tokenizer
    reason: str
    """Why the native engine does not answer; empty where it does."""


def open_family(
    family: Family,
    directories: Sequence[Path | str],
    engine: EngineChoice,
    precision: Precision,
    load: Callable[[Sequence[Path | str]], tuple[tuple[G, ...], Tokenizer]],
) -> Opened[G]:
    """The models of one family in the engine that is wanted; ``load`` is how PyTorch gets them."""
    if engine == "pytorch":
        return Opened(*load(directories), 'engine = "pytorch"')
    try:
        found, place, tokenizer = _open_native(family, directories, precision)
    except NotNative as error:
        if engine == "native":
            raise CheckpointError(f'the native engine cannot be had: {error}; set engine = "auto"') from None
        return Opened(*load(directories), str(error))
    native = Native(found, lambda: load([place])[0], alone=engine == "native")
    return Opened(native, tokenizer, "")


def _open_native(
    family: Family, directories: Sequence[Path | str], precision: Precision
) -> tuple[Engine, Path, Tokenizer]:
    if len(directories) > 1:
        raise NotNative(f"an ensemble of {len(directories)} models")
    place = find_directory(directories[0] if directories else shipped_model())
    with open_model(place) as found:
        if found.config.family != family:
            raise _wrong_family(directories[0] if directories else place, found.config)
        tokenizer = _required(place, read_tokenizer(found))
        return Engine.load(found, precision), place.absolute(), tokenizer


def load_family(cls: type[M], directories: Sequence[Path | str]) -> tuple[tuple[M, ...], Tokenizer]:
    """The models of one family in these directories, and the tokenizer they share; of none: the shipped."""
    models: list[M] = []
    tokenizers: list[Tokenizer] = []
    for directory in directories or (shipped_model(),):
        found, tokenizer = read_directory(directory)
        if not isinstance(found.model, cls):
            raise _wrong_family(directory, found.config)
        models.append(found.model)
        tokenizers.append(tokenizer)
        if tokenizer.fingerprint != tokenizers[0].fingerprint:
            raise CheckpointError(
                f"{directory}: its tokenizer is not that of {directories[0]}; an ensemble needs one for all"
            )
    return tuple(models), tokenizers[0]


def read_directory(directory: Path | str) -> "tuple[LoadedModel, Tokenizer]":
    """A model with its tokenizer, from a model or run directory."""
    from glassformer.checkpoint import load_model

    place = find_directory(directory)
    found = load_model(place)
    return found, _required(place, found.tokenizer)


def family_of(directory: Path | str) -> Family:
    """The family of the model in a model or run directory."""
    with open_model(find_directory(directory)) as found:
        return found.config.family


def main_directory(directories: Sequence[Path | str]) -> Path:
    """The model directory that says how its model is best asked; of an ensemble the first."""
    return find_directory(directories[0] if directories else shipped_model())


def read_shortlist(directory: Path) -> Shortlist:
    """The shortlist of a model directory, which has to have one."""
    data = read_extra(directory, SHORTLIST, SHORTLIST_LIMIT)
    if data is None:
        raise CheckpointError(f"{directory}: no {SHORTLIST} here; translate without a shortlist")
    where, config = str(directory / SHORTLIST), read_config(directory)
    return Shortlist.from_bytes(data, where, config.n_source_ids, config.vocab_size)


def shipped_model() -> Path:
    """The directory of the small model that comes with the package."""
    directory = Path(str(files("glassformer") / "pretrained" / "en-fr"))
    if not directory.is_dir():
        raise CheckpointError("no model comes with this installation; name a model directory")
    return directory


def save(
    directory: Path | str,
    models: "Sequence[Transformer]",
    tokenizer: Tokenizer,
    card: str,
    extras: Mapping[str, bytes] | None = None,
) -> None:
    """Write the directory of one model, with further files beside it."""
    from glassformer.checkpoint import save_model

    if len(models) != 1:
        raise InputError(f"an ensemble of {len(models)} models is not one directory; save each by itself")
    save_model(Path(directory), models[0], tokenizer, card=card, extras=extras)


def _required(place: Path, tokenizer: Tokenizer | None) -> Tokenizer:
    if tokenizer is None:
        raise CheckpointError(f"{place}: no tokenizer.json here; a model of texts needs one")
    return tokenizer


def _wrong_family(directory: Path | str, config: ModelConfig) -> CheckpointError:
    return CheckpointError(
        f'{directory}: this is a model of family = "{config.family}"; use {_USE[config.family]}',
        hint=f'glassformer {_verb(config)} -m {directory} "…"',
    )


def _verb(config: ModelConfig) -> str:
    """What the command line calls the first thing that such a model is for."""
    heads = {"masked-lm": "fill", "classifier": "classify", "embedding": "embed"}
    verbs = {"encoder-decoder": "translate", "decoder-only": "generate", "encoder-only": heads[config.head]}
    return verbs[config.family]
