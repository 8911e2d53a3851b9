"""Models and runs on disk: safetensors and JSON, written whole or not at all, hashed, never pickle.

Names are loaded on first use, since half of this package is for programs that have no torch: ``reading``,
``manifest``, ``files``, ``lock``, ``tensor_file``, ``storage`` and ``model_files`` do without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glassformer.checkpoint.average import average_checkpoints, average_tensors
    from glassformer.checkpoint.files import require_space, write_directory, write_file_atomic
    from glassformer.checkpoint.lock import RunLock
    from glassformer.checkpoint.manifest import Manifest, verify
    from glassformer.checkpoint.model_directory import LoadedModel, load_model, save_model
    from glassformer.checkpoint.model_files import open_model, resolve_model_directory
    from glassformer.checkpoint.store import Checkpoint, CheckpointStore
    from glassformer.checkpoint.tensors import load_tensors, save_tensors, types_of

__all__ = [
    "Checkpoint",
    "CheckpointStore",
    "LoadedModel",
    "Manifest",
    "RunLock",
    "average_checkpoints",
    "average_tensors",
    "load_model",
    "load_tensors",
    "open_model",
    "require_space",
    "resolve_model_directory",
    "save_model",
    "save_tensors",
    "types_of",
    "verify",
    "write_directory",
    "write_file_atomic",
]

_HOMES = {
    "average": ("average_checkpoints", "average_tensors"),
    "files": ("require_space", "write_directory", "write_file_atomic"),
    "lock": ("RunLock",),
    "manifest": ("Manifest", "verify"),
    "model_directory": ("LoadedModel", "load_model", "save_model"),
    "model_files": ("open_model", "resolve_model_directory"),
    "store": ("Checkpoint", "CheckpointStore"),
    "tensors": ("load_tensors", "save_tensors", "types_of"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
