"""A whole run: the tables of ``glassformer.toml``."""

import json
from collections.abc import Mapping
from typing import Self

from pydantic import model_validator

from glassformer.config.data import DataConfig
from glassformer.config.decode import DecodeConfig
from glassformer.config.model import ModelConfig
from glassformer.config.preset import preset_table
from glassformer.config.strict import Strict, read
from glassformer.config.tokenizer import TokenizerConfig
from glassformer.config.train import TrainConfig
from glassformer.errors import ConfigError

DEFAULT_PRESET = "small"


class RunConfig(Strict):
    """A file of settings, fully resolved: every default written out, no preset left."""

    data: DataConfig
    """Where text comes from."""
    tokenizer: TokenizerConfig = TokenizerConfig()
    """How it becomes ids."""
    model: ModelConfig
    """The architecture."""
    train: TrainConfig = TrainConfig()
    """How it learns."""
    decode: DecodeConfig = DecodeConfig()
    """How it is asked."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.tokenizer.joint and self.model.tying == "three-way":
            raise ValueError(
                "tokenizer.joint = false gives two vocabularies, "
                'which model.tying = "three-way" cannot share; '
                'set model.tying = "two-way"'
            )
        if not self.tokenizer.joint and self.model.family != "encoder-decoder":
            raise ValueError("tokenizer.joint = false is for encoder-decoder models, which have two sides")
        return self


def resolve(table: Mapping[str, object], where: str) -> RunConfig:
    """A run from the tables a user wrote: the preset is filled in, the vocabulary size taken over.

    ``model.vocab_size`` follows ``tokenizer.vocab_size`` until a tokenizer has been trained and the
    real number is known.
    """
    tables = {name: dict(value) if isinstance(value, Mapping) else value for name, value in table.items()}
    model = tables.setdefault("model", {})
    if isinstance(model, dict):
        preset = model.pop("preset", DEFAULT_PRESET)
        if not isinstance(preset, str):
            raise ConfigError(
                f"{where} [model]: preset = {json.dumps(preset, default=str)} should be a name in quotes"
            )
        tokenizer = tables.get("tokenizer", {})
        wanted = tokenizer.get("vocab_size") if isinstance(tokenizer, dict) else None
        # What is no size is told once, as a mistake of [tokenizer].
        size = wanted if type(wanted) is int and wanted > 0 else TokenizerConfig().vocab_size
        tables["model"] = preset_table(preset) | {"vocab_size": size} | model
    return read(RunConfig, tables, where)
