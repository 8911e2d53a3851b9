"""How a model is best asked, as its own directory says it: ``decode.json``, which may be missing."""

from pathlib import Path
from typing import Self

from pydantic import NonNegativeInt, PositiveInt

from glassformer.checkpoint.model_files import read_extra
from glassformer.checkpoint.reading import json_bytes, json_object
from glassformer.config import DecodeConfig, ModelConfig, Strict, read
from glassformer.decoding.alignment import Reading, default_reading
from glassformer.errors import CheckpointError, ConfigError

FILE = "decode.json"

_LIMITS = {  # what a model may ask for by itself; who wants more says so
    "beam": 128,
    "nbest": 128,
    "batch_tokens": 1 << 20,
    "max_extra": 1 << 16,
}


class AlignmentLayer(Strict):
    """Where alignments are read; see ``decoding.alignment.Reading``."""

    layer: NonNegativeInt
    fed: bool = False


class Defaults(Strict):
    """What a model is asked with where its user says nothing."""

    decode: DecodeConfig = DecodeConfig()
    reading: AlignmentLayer | None = None
    """Where alignments are read; unset: the layer below the last."""
    language: str | None = None
    """The target language of a multilingual model."""
    context: PositiveInt | None = None
    """Tokens that a language model was trained to see at once."""

    def alignment(self, config: ModelConfig, where: str) -> Reading:
        """Where alignments of a model of this architecture are read."""
        if self.reading is None:
            return default_reading(config)
        if self.reading.layer >= config.n_decoder_layers:
            raise CheckpointError(
                f"{where}/{FILE}: layer = {self.reading.layer}, but the decoder has "
                f"{config.n_decoder_layers} layers, counted from 0"
            )
        return Reading(self.reading.layer, self.reading.fed)

    def to_bytes(self) -> bytes:
        """The file."""
        return json_bytes(self.model_dump(exclude_none=True))

    @classmethod
    def of(cls, directory: Path) -> Self:
        """Those of a model directory; the package's own where it has none."""
        data = read_extra(directory, FILE)
        if data is None:
            return cls()
        path = directory / FILE
        try:
            found = read(cls, json_object(data, str(path)), str(path))
        except ConfigError as error:
            raise CheckpointError(str(error)) from None
        for name, limit in _LIMITS.items():
            if getattr(found.decode, name) > limit:
                value = getattr(found.decode, name)
                raise CheckpointError(
                    f"{path}: {name} = {value} is more than the {limit} a model may ask for"
                )
        return found
