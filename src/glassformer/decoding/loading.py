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
    directory: Path | str,
    *,
    engine: EngineChoice = "auto",
    precision: Precision = "auto",
    any_language: bool = False,
) -> "Translator | LanguageModel | TextEncoder":
    """What a model or run directory is for, by its family; an encoder is always PyTorch's.

    With ``any_language`` a translator into several languages that has no default takes the first of them.
    """
    match family_of(directory):
        case "encoder-decoder":
            from glassformer.decoding.translator import Translator

            found = Translator.from_pretrained(directory, engine=engine, precision=precision)
            languages = found.tokenizer.languages
            unsaid = any_language and languages and found.framing.language is None
            return found.into(languages[0]) if unsaid else found
        case "decoder-only":
            from glassformer.decoding.language_model import LanguageModel

            return LanguageModel.from_pretrained(directory, engine=engine, precision=precision)
        case "encoder-only":
            from glassformer.decoding.text_encoder import TextEncoder

            return TextEncoder.from_pretrained(directory)
