"""Whether a model says the same here and elsewhere: what is asked of both, and how far they differ."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from glassformer.checkpoint.files import write_file
from glassformer.checkpoint.reading import json_bytes
from glassformer.config import ModelConfig
from glassformer.errors import CheckFailed, GlassformerError
from glassformer.nn import EncoderDecoder, padding_mask

FILE = "parity.json"
FLOAT32 = 1e-4
"""The largest difference of a logit or a log-probability that rounding may make."""

_SOURCES, _LENGTH, _TARGET = 8, 12, 10


@dataclass(frozen=True)
class Parity:
    """How far the answers of a model elsewhere are from ours."""

    format: str
    measured_with: str
    """The program that ran the other model, and its version."""
    compared: str
    """What was compared."""
    numbers: int
    largest_difference: float
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether the difference is one of rounding."""
        return self.largest_difference <= self.allowed

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {**asdict(self), "holds": self.holds}

    def __str__(self) -> str:
        return (
            f"{self.compared}, ours against {self.measured_with}: at most {self.largest_difference:.1e} "
            f"apart in {self.numbers:,} numbers ({self.allowed:.0e} allowed)"
        )

    def write(self, folder: Path) -> None:
        """Write parity.json; refuse to be done where the difference is no rounding."""
        if not self.holds:
            raise CheckFailed(
                f"{self.format}: the exported model differs from ours by {self.largest_difference:.2e} "
                f"in its {self.compared}, more than {self.allowed:.0e}; nothing was written"
            )
        write_file(folder / FILE, [json_bytes(self.to_dict())])


@dataclass(frozen=True)
class Probe:
    """Random sources of several lengths and random targets, the same for both sides."""

    source: Tensor
    lengths: Tensor
    target: Tensor

    @classmethod
    def of(cls, config: ModelConfig, n_control: int) -> "Probe":
        """Ids that stand for text, within the vocabularies of both sides."""
        generator = torch.Generator().manual_seed(1)
        first = min(n_control, config.vocab_size - 1, config.n_source_ids - 1)
        length, target = min(_LENGTH, config.max_length), min(_TARGET, config.max_length)
        shape, other = (_SOURCES, length), (_SOURCES, target)
        lengths = torch.tensor([max(1, length - i) for i in range(_SOURCES)])
        return cls(
            torch.randint(first, config.n_source_ids, shape, generator=generator),
            lengths,
            torch.randint(first, config.vocab_size, other, generator=generator),
        )

    @property
    def mask(self) -> Tensor:
        """True where a source has a token."""
        return padding_mask(self.lengths, self.source.size(1))

    @torch.inference_mode()
    def logits(self, model: EncoderDecoder) -> Tensor:
        """What our model says."""
        return model(self.source, self.target, self.mask)


def difference(ours: Tensor, theirs: Tensor) -> float:
    """The largest difference; what is not finite differs endlessly."""
    found = float((ours - theirs).abs().max())
    return found if found == found else float("inf")


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """Without the other library's progress bars and advice."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def missing(package: str, job: str) -> GlassformerError:
    """The error where the program is absent that would read the exported files."""
    return GlassformerError(
        f"{job} is checked with {package}, which is not installed", hint="pip install 'glassformer[export]'"
    )
