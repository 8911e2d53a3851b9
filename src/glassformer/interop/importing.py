"""A foreign model directory as one of ours: read, checked, written whole or not at all."""

from dataclasses import dataclass
from pathlib import Path

from glassformer.checkpoint import save_model
from glassformer.config import ModelConfig
from glassformer.errors import CheckpointError
from glassformer.interop.directory import ForeignDirectory
from glassformer.interop.hugging_face import read_model
from glassformer.interop.tokenizer_files import read_tokenizer
from glassformer.nn import Transformer, parameter_count
from glassformer.text.imported import ImportedTokenizer


@dataclass(frozen=True)
class Imported:
    """A foreign model and its tokenizer, ready for use or for saving."""

    origin: Path
    architecture: str
    model: Transformer
    tokenizer: ImportedTokenizer
    notes: tuple[str, ...]

    @property
    def config(self) -> ModelConfig:
        """Its architecture in our words."""
        return self.model.config

    def summary(self) -> dict[str, object]:
        """What was read, as plain data."""
        config = self.config
        return {
            "architecture": self.architecture,
            "family": config.family,
            "parameters": parameter_count(self.model),
            "d_model": config.d_model,
            "n_heads": config.n_heads,
            "n_encoder_layers": config.n_encoder_layers if config.family != "decoder-only" else 0,
            "n_decoder_layers": config.n_decoder_layers if config.family != "encoder-only" else 0,
            "vocab_size": config.vocab_size,
            "tokenizer": self.tokenizer.kind,
            "tokens": self.tokenizer.size,
            "notes": list(self.notes),
        }

    def save(self, out: Path | str) -> None:
        """Write the model directory that ``from_pretrained`` reads."""
        save_model(Path(out), self.model, self.tokenizer, card=self._card())

    def _card(self) -> str:
        rows = [f"| {key} | {value} |" for key, value in self.summary().items() if key != "notes"]
        notes = [f"- {note}" for note in self.notes]
        lines = [f"# {self.origin.name}", "", f"Imported from a {self.architecture} model.", ""]
        return "\n".join([*lines, "| | |", "|---|---|", *rows, "", *notes, ""])


def import_hugging_face(directory: Path | str) -> Imported:
    """The model and the tokenizer of a Hugging Face directory; nothing but data is read."""
    path = Path(directory)
    if (path / "manifest.json").is_file():
        raise CheckpointError(
            f"{path}: this is a model directory of glassformer already; use it as it is",
            hint=f"glassformer info {path}",
        )
    found = read_model(path)
    tokenizer = read_tokenizer(ForeignDirectory(path), found.model.config, found.settings)
    kind = str(found.settings.table["model_type"])
    return Imported(path, kind, found.model, tokenizer, found.notes)
