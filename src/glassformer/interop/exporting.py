"""Our model directories in other programs' formats: written whole, with a report of parity, or not at all."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

from glassformer.checkpoint import load_model, resolve_model_directory, write_directory
from glassformer.checkpoint.model_directory import LoadedModel
from glassformer.errors import CheckpointError, ConfigError, suggest
from glassformer.interop.ctranslate2 import write_ctranslate2
from glassformer.interop.export_hugging_face import write_hugging_face
from glassformer.interop.export_onnx import write_onnx
from glassformer.interop.parity import Parity
from glassformer.nn import EncoderDecoder
from glassformer.text import Tokenizer

Format = Literal["hf", "ctranslate2", "ctranslate2-int8", "onnx"]
FORMATS: tuple[Format, ...] = get_args(Format)

Writer = Callable[[Path, EncoderDecoder, Tokenizer], Parity]


def export_model(directory: Path | str, out: Path | str, format: str) -> Parity:
    """Write a model in another format; an export whose answers differ from ours leaves nothing behind."""
    writer = _writer(format)
    place = resolve_model_directory(directory)
    found = load_model(place)
    model, tokenizer = _exportable(place, found)
    reports: list[Parity] = []

    def write(folder: Path) -> None:
        parity = writer(folder, model, tokenizer)
        parity.write(folder)
        reports.append(parity)

    write_directory(Path(out), write)
    return reports[0]


def _writer(format: str) -> Writer:
    match format:
        case "hf":
            return write_hugging_face
        case "ctranslate2":
            return write_ctranslate2
        case "ctranslate2-int8":
            return lambda folder, model, tokenizer: write_ctranslate2(folder, model, tokenizer, "int8")
        case "onnx":
            return write_onnx
        case _:
            raise ConfigError(
                f"--to {format}: should be one of {', '.join(FORMATS)}{suggest(format, FORMATS)}"
            )


def _exportable(place: Path, found: LoadedModel) -> tuple[EncoderDecoder, Tokenizer]:
    if not isinstance(found.model, EncoderDecoder):
        raise CheckpointError(
            f'{place}: this is a model of family = "{found.config.family}"; '
            "only encoder-decoders are exported"
        )
    if found.tokenizer is None:
        raise CheckpointError(f"{place}: no tokenizer.json here; an export needs its special tokens")
    return found.model, found.tokenizer
