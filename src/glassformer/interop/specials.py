"""What the settings of a foreign directory say about the special tokens of its model."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from glassformer.config import ModelConfig
from glassformer.interop.directory import ForeignDirectory
from glassformer.interop.settings import Settings


@dataclass(frozen=True)
class ForeignSpecials:
    """What the settings of a foreign model say about its special tokens."""

    directory: ForeignDirectory
    config: ModelConfig
    model: Settings
    generation: Settings
    tokenizer: Settings

    @classmethod
    def of(cls, directory: ForeignDirectory, config: ModelConfig, settings: Settings) -> "ForeignSpecials":
        """Read from config.json, generation_config.json and tokenizer_config.json."""
        generation = directory.settings("generation_config.json")
        return cls(directory, config, settings, generation, directory.settings("tokenizer_config.json"))

    def id(self, name: str) -> int | None:
        """The id under this key of the model's or the generation's settings."""
        size = self.config.vocab_size
        found = self.model.token(name, size)
        return self.generation.token(name, size) if found is None else found

    def name(self, role: str, default: str) -> str:
        """The text of the token in a role such as ``eos_token``."""
        value = self.tokenizer.table.get(role)
        if isinstance(value, dict):
            value = value.get("content")
        return value if isinstance(value, str) else default


def place_of(pieces: Iterable[str], name: str) -> int:
    """The id of a special token; ``ValueError`` where there is none."""
    found = next((i for i, piece in enumerate(pieces) if piece == name), None)
    if found is None:
        raise ValueError(f"the special token {json.dumps(name[:40])} is not in the vocabulary")
    return found
