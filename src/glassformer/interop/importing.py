"""A foreign model directory as one of ours: read, checked, written whole or not at all."""

from dataclasses import dataclass
from pathlib import Path

from glassformer.checkpoint import save_model
from glassformer.checkpoint.reading import json_bytes
from glassformer.config import DecodeConfig, ModelConfig
from glassformer.errors import CheckFailed, CheckpointError
from glassformer.interop.census import Census
from glassformer.interop.directory import ForeignDirectory
from glassformer.interop.generation import read_generation
from glassformer.interop.hugging_face import read_model
from glassformer.interop.original import measure_original
from glassformer.interop.parity import Parity
from glassformer.interop.tokenizer_files import read_tokenizer
from glassformer.nn import Transformer, parameter_count
from glassformer.text.imported import ImportedTokenizer

REPORT, DECODE = "import.json", "decode.json"


@dataclass(frozen=True)
class Imported:
    """A foreign model and its tokenizer, ready for use or for saving."""

    origin: Path
    architecture: str
    model: Transformer
    tokenizer: ImportedTokenizer
    census: Census
    decode: DecodeConfig | None
    """How the directory asks to be decoded; None where it does not say."""
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
            "tensors": self.census.to_dict(),
            "decode": None if self.decode is None else self.decode.model_dump(exclude_defaults=True),
            "notes": list(self.notes),
        }

    def measure(self) -> Parity | None:
        """How far the answers are from those of the original; None where transformers is not installed."""
        return measure_original(self.origin, self.model, self.tokenizer.n_control)

    def save(self, out: Path | str, parity: Parity | None = None) -> None:
        """Write the model directory that ``from_pretrained`` reads; one that differs is not written."""
        if parity is not None and not parity.holds:
            raise CheckFailed(
                f"{self.origin}: the imported model differs from the original by "
                f"{parity.largest_difference:.2e} in its {parity.compared}, more than {parity.allowed:.0e}; "
                "nothing was written"
            )
        report = {**self.summary(), "parity": None if parity is None else parity.to_dict()}
        extras = {REPORT: json_bytes(report)}
        if self.decode is not None:
            extras[DECODE] = json_bytes({"decode": self.decode.model_dump(exclude_none=True)})
        save_model(Path(out), self.model, self.tokenizer, card=self._card(parity), extras=extras)

    def lines(self, parity: Parity | None) -> list[tuple[str, str]]:
        """What was read, as a table for people."""
        found = {key: str(value) for key, value in self.summary().items() if key != "notes"}
        found |= {"parameters": f"{parameter_count(self.model):,}", "tensors": str(self.census)}
        if self.decode is None:
            del found["decode"]
        else:
            given = self.decode.model_dump(exclude_defaults=True)
            found["decode"] = ", ".join(f"{key} = {value}" for key, value in given.items())
        found["parity"] = "not measured: transformers is not installed" if parity is None else str(parity)
        return list(found.items())

    def _card(self, parity: Parity | None) -> str:
        rows = [f"| {key} | {value} |" for key, value in self.lines(parity)]
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
    found, foreign = read_model(path), ForeignDirectory(path)
    tokenizer = read_tokenizer(foreign, found.model.config, found.settings)
    generation = read_generation(
        foreign.settings("generation_config.json"),
        found.settings,
        found.model.config,
        len(tokenizer.target_before),
    )
    kind = str(found.settings.table["model_type"])
    notes = (*found.notes, *generation.notes)
    return Imported(path, kind, found.model, tokenizer, found.census, generation.decode, notes)
