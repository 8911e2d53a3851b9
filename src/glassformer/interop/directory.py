"""The files of a foreign model directory: opened once, bounded, and nothing but data."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from glassformer.checkpoint.reading import JSON_LIMIT, read_bounded, read_json
from glassformer.checkpoint.tensor_file import RawTensor, TensorFile, TensorType, open_tensors
from glassformer.errors import CheckpointError
from glassformer.interop.settings import Settings

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"

_FLOATS = ("F64", "F32", "F16", "BF16")
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt", ".npz", ".h5", ".msgpack", ".onnx", ".gguf")
_SHARDS, _TENSORS = 1_000, 50_000
_NAME = 400


@dataclass(frozen=True)
class ForeignDirectory:
    """A directory that somebody else wrote."""

    path: Path

    def has(self, name: str) -> bool:
        """Whether there is a file of that name, whatever it is."""
        return os.path.lexists(self.path / name)

    def json(self, name: str, limit: int = JSON_LIMIT) -> dict[str, object]:
        """The object in a JSON file; read strictly."""
        return read_json(self.path / name, limit)

    def bytes(self, name: str, limit: int) -> bytes:
        """The content of a file."""
        return read_bounded(self.path / name, limit)

    def settings(self, name: str = CONFIG) -> Settings:
        """A file of settings; empty where there is none, but config.json there must be."""
        if name == CONFIG and not self.has(CONFIG):
            if not self.path.is_dir():
                raise CheckpointError(f"{self.path}: there is no such directory")
            raise CheckpointError(
                f"{self.path}: no {CONFIG} here; is this a model directory of Hugging Face?"
            )
        return Settings(str(self.path / name), self.json(name) if self.has(name) else {})

    @contextmanager
    def tensors(self) -> "Iterator[ForeignTensors]":
        """The headers of all weight files, read and checked; the numbers are not read yet."""
        with ExitStack() as stack:
            index = self._index()
            names = sorted(set(index.values())) if index else [WEIGHTS]
            files = [stack.enter_context(open_tensors(self.path / name)) for name in names]
            found: dict[str, tuple[TensorFile, str]] = {}
            for file in files:
                for name in file.types:
                    self._check_name(name, file)
                    plain = _modern(name)
                    if plain in found:
                        raise CheckpointError(f"{file.path}: tensor {name!r} stands there twice")
                    found[plain] = (file, name)
            self._check_index(index, found)
            yield ForeignTensors(self.path, found)

    def _index(self) -> dict[str, str]:
        """Which shard each tensor is in; nothing where one file has them all."""
        if self.has(WEIGHTS):
            return {}
        if not self.has(INDEX):
            raise self._no_weights()
        table = self.json(INDEX).get("weight_map")
        where = self.path / INDEX
        if not isinstance(table, dict) or not table:
            raise CheckpointError(f"{where}: no weight_map here; the index is damaged")
        for name, shard in table.items():
            if not isinstance(shard, str) or not _is_basename(shard):
                raise CheckpointError(
                    f"{where}: tensor {name[:_NAME]!r} is said to be in {str(shard)[:_NAME]!r}; "
                    "shards are .safetensors files of this directory"
                )
        if len(set(table.values())) > _SHARDS:
            raise CheckpointError(f"{where}: {len(set(table.values()))} shards; {_SHARDS} are read at most")
        return {_modern(name): shard for name, shard in table.items()}

    def _check_index(self, index: Mapping[str, str], found: Mapping[str, tuple[TensorFile, str]]) -> None:
        where = self.path / INDEX
        for name, shard in index.items():
            if name not in found or found[name][0].path.name != shard:
                raise CheckpointError(f"{where}: tensor {name!r} is not in {shard!r} as the index says")
        for name in found if index else ():
            if name not in index:
                raise CheckpointError(f"{where}: tensor {name!r} of a shard is not in the index")

    def _check_name(self, name: str, file: TensorFile) -> None:
        if len(name) > _NAME or not name.isprintable():
            raise CheckpointError(f"{file.path}: {name[:40]!r} is no name of a tensor")
        if len(file.types) > _TENSORS:
            raise CheckpointError(f"{file.path}: {len(file.types)} tensors; {_TENSORS} are read at most")

    def _no_weights(self) -> CheckpointError:
        others = sorted(path.name for path in self.path.iterdir() if path.suffix in _PICKLES)
        if not others:
            return CheckpointError(f"{self.path}: no {WEIGHTS} here, nor {INDEX}")
        return CheckpointError(
            f"{self.path}: only {others[0]!r} here, a format that can run code or that we do not read; "
            "save the model as safetensors with the program that wrote it "
            "(model.save_pretrained(DIR) of transformers does)"
        )


@dataclass(frozen=True)
class ForeignTensors:
    """The tensors of a directory, by name; the numbers are read when asked for, file by file."""

    path: Path
    _found: dict[str, tuple[TensorFile, str]]

    @property
    def types(self) -> dict[str, TensorType]:
        """Type and shape of each."""
        return {name: file.types[stored] for name, (file, stored) in self._found.items()}

    def read(self) -> dict[str, RawTensor]:
        """All numbers."""
        read: dict[Path, dict[str, RawTensor]] = {}
        for file, _ in self._found.values():
            if file.path not in read:
                read[file.path] = file.read()
        return {name: read[file.path][stored] for name, (file, stored) in self._found.items()}


def is_float(kind: TensorType) -> bool:
    """Whether these are numbers that weights may be stored in."""
    return kind.dtype in _FLOATS


def _modern(name: str) -> str:
    """Old files of BERT call the weight of a norm gamma and its bias beta."""
    for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
        if name.endswith(f"LayerNorm{old}"):
            return name.removesuffix(old) + new
    return name


def _is_basename(name: str) -> bool:
    plain = name.isprintable() and len(name) < _NAME and name.isascii()
    return plain and name.endswith(".safetensors") and "/" not in name and "\\" not in name and name[0] != "."
