"""The files of a model directory, found and read without torch.

config.json        the architecture
model.safetensors  every parameter once; how it is stored is in the header
tokenizer.json     the vocabulary; a model of images has none
README.md          the model card, which its reader may edit
decode.json        how the model is best asked; may be missing
shortlist.safetensors  target tokens worth considering for each source token; may be missing
manifest.json      format version, size and SHA-256 of each
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.checkpoint.manifest import MANIFEST, Manifest, read_manifest
from glassformer.checkpoint.reading import JSON_LIMIT, json_object, open_regular, read_bounded
from glassformer.checkpoint.storage import STORAGES, Storage, stored_types
from glassformer.checkpoint.tensor_file import RawTensor, TensorFile, check_types, open_tensors
from glassformer.config import ModelConfig, read
from glassformer.errors import CheckpointError, ConfigError, suggest

if TYPE_CHECKING:
    from glassformer.text import Tokenizer

CONFIG, WEIGHTS, TOKENIZER, CARD = "config.json", "model.safetensors", "tokenizer.json", "README.md"

_TOKENIZER_LIMIT = 100_000_000
_LIMITS = {  # far above any model this library is for, far below what would exhaust a machine
    "vocab_size": 2_000_000,
    "source_vocab_size": 2_000_000,
    "d_model": 16_384,
    "d_ff": 131_072,
    "d_k": 16_384,
    "d_v": 16_384,
    "n_heads": 1_024,
    "n_encoder_layers": 256,
    "n_decoder_layers": 256,
    "relative_buckets": 65_536,
    "n_classes": 2_000_000,
}


@dataclass(frozen=True)
class ModelFiles:
    """An open model directory: the architecture is read, the weights' header is, the numbers are not yet."""

    directory: Path
    config: ModelConfig
    storage: Storage
    weights: TensorFile
    manifest: Manifest | None

    def read(self, parameters: Mapping[str, tuple[int, ...]]) -> dict[str, RawTensor]:
        """The stored tensors, if they are exactly those of parameters of these shapes."""
        check_types(self.weights.path, self.weights.types, stored_types(parameters, self.storage))
        record = None if self.manifest is None else self.manifest.record(self.directory, WEIGHTS)
        return self.weights.read(record)


@contextmanager
def open_model(directory: Path, *, verified: bool = True) -> Iterator[ModelFiles]:
    """The files of a model directory; verified ones are what was written, to the last bit."""
    _require(directory, WEIGHTS)
    _require(directory, CONFIG)
    manifest = _manifest(directory) if verified else None
    config = read_config(directory, manifest)
    with open_tensors(directory / WEIGHTS) as weights:
        storage = weights.metadata.get("storage", "float32")
        if storage not in STORAGES:
            raise CheckpointError(
                f"{weights.path}: unknown storage {storage!r}; this glassformer reads {', '.join(STORAGES)}"
            )
        yield ModelFiles(directory, config, storage, weights, manifest)


def read_config(directory: Path, manifest: Manifest | None = None) -> ModelConfig:
    """The architecture in a model directory, if it is of a size that one could mean."""
    path = directory / CONFIG
    data = read_bounded(path) if manifest is None else manifest.read(directory, CONFIG)
    try:
        config = read(ModelConfig, json_object(data, str(path)), str(path))
    except ConfigError as error:
        raise CheckpointError(str(error)) from None
    for name, limit in _LIMITS.items():
        value = getattr(config, name)
        if value is not None and value > limit:
            raise CheckpointError(f"{path}: {name} = {value} is more than the {limit} that can be loaded")
    return config


def read_tokenizer(files: ModelFiles) -> "Tokenizer | None":
    """The tokenizer of a model directory, if the model knows all its ids; None where there is none."""
    from glassformer.text import Tokenizer

    path, config = files.directory / TOKENIZER, files.config
    if files.manifest is None:
        if not os.path.lexists(path):
            return None
        with open_regular(path):  # a pipe or a link is refused here, before anybody waits for it
            pass
    elif TOKENIZER in files.manifest.files:
        files.manifest.read(files.directory, TOKENIZER, _TOKENIZER_LIMIT)
    else:
        return None
    tokenizer = Tokenizer.load(path)
    for side, size, room in (
        ("", tokenizer.size, config.vocab_size),
        ("source ", tokenizer.source.size, config.n_source_ids),
    ):
        if size > room:
            raise CheckpointError(f"{path}: {size} {side}tokens, but the model of {CONFIG} knows {room}")
    return tokenizer


def read_extra(directory: Path, name: str, limit: int = JSON_LIMIT) -> bytes | None:
    """A file that a model directory may have besides, as it was written; None where it has none."""
    manifest = _manifest(directory)
    return manifest.read(directory, name, limit) if name in manifest.files else None


def resolve_model_directory(path: Path | str) -> Path:
    """The model directory that is meant by its own path, by its run's path, or by a name under ``runs/``."""
    given = Path(path)
    named = Path("runs") / given
    for place in (given, given / "model", named, named / "model"):
        if (place / WEIGHTS).is_file():
            return place
    for place in (given, named):
        if (place / "checkpoints").is_dir():
            raise CheckpointError(
                f"{place}: this run has no finished model yet, only checkpoints",
                hint=f"glassformer train --resume {place}",
            )
        if place.is_dir():
            _require(place, WEIGHTS)
    if given.exists():
        raise CheckpointError(f"{given}: this is a file; name the model directory it stands in")
    near = suggest(given.name, (run.name for run in Path("runs").glob("*") if run.is_dir()))
    raise CheckpointError(f"{given}: there is no such directory, nor {named}{near}")


def _require(directory: Path, name: str) -> None:
    if os.path.lexists(directory / name):
        return
    if not directory.is_dir():
        raise CheckpointError(f"{directory}: there is no such directory")
    raise CheckpointError(
        f"{directory}: no {name} here; is this the model directory that 'glassformer train' wrote?"
    )


def _manifest(directory: Path) -> Manifest:
    """What all that is read must be. The card is not compared: people complete it, and it harms no model."""
    if not os.path.lexists(directory / MANIFEST):
        raise CheckpointError(
            f"{directory}: no {MANIFEST} here; a directory of Hugging Face must be imported first",
            hint=f"glassformer import {directory} OUT",
        )
    return read_manifest(directory)
