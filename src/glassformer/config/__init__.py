"""Settings: strict, frozen, and read in one way wherever they come from."""

from glassformer.config.data import CorpusFiles, DataConfig
from glassformer.config.decode import DecodeConfig
from glassformer.config.files import load, read_toml, save, to_toml
from glassformer.config.model import ModelConfig, PatchConfig
from glassformer.config.preset import preset_names, preset_table
from glassformer.config.run import RunConfig, resolve
from glassformer.config.strict import Strict, read
from glassformer.config.tokenizer import TokenizerConfig
from glassformer.config.train import TrainConfig

__all__ = [
    "CorpusFiles",
    "DataConfig",
    "DecodeConfig",
    "ModelConfig",
    "PatchConfig",
    "RunConfig",
    "Strict",
    "TokenizerConfig",
    "TrainConfig",
    "load",
    "preset_names",
    "preset_table",
    "read",
    "read_toml",
    "resolve",
    "save",
    "to_toml",
]
