"""What a directory is for."""

from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.decoding.engines import EngineChoice
from glassformer.decoding.pretrained import family_of
from glassformer.engine import Precision

if TYPE_CHECKING:
    from glassformer.decoding.language_model import LanguageModel
    from glassformer.decoding.text_encoder import TextEncoder
    from glassformer.decoding.translator import Translator


def load(
    directory: Path | str, *, engine: EngineChoice = "auto", precision: Precision = "auto"
) -> "Translator | LanguageModel | TextEncoder":
    """What a model or run directory is for, by its family; an encoder is always PyTorch's."""
    match family_of(directory):
        case "encoder-decoder":
            from glassformer.decoding.translator import Translator

            return Translator.from_pretrained(directory, engine=engine, precision=precision)
        case "decoder-only":
            from glassformer.decoding.language_model import LanguageModel

            return LanguageModel.from_pretrained(directory, engine=engine, precision=precision)
        case "encoder-only":
            from glassformer.decoding.text_encoder import TextEncoder

            return TextEncoder.from_pretrained(directory)
