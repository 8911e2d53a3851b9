"""TensorBoard, for those who have it: the same events as everywhere, in its files."""

from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

from glassformer.errors import ConfigError
from glassformer.training.events import Silent, Validation
from glassformer.training.step import Update


class TensorBoard(Silent):
    """Writes curves and a sample to a folder that ``tensorboard --logdir`` reads."""

    def __init__(self, folder: Path, log_every: int) -> None:
        self.require()
        from torch.utils.tensorboard import SummaryWriter  # late: an extra

        self.log_every = log_every
        self.writer = SummaryWriter(str(folder))

    @staticmethod
    def require() -> None:
        """Say what is missing before anything is trained."""
        if find_spec("tensorboard") is None:
            raise ConfigError(
                "--track needs TensorBoard, which is not installed", "pip install 'glassformer[track]'"
            )

    def __enter__(self) -> "TensorBoard":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.writer.close()

    def stepped(self, step: int, total: int, update: Update, tokens_per_second: float) -> None:  # noqa: ARG002  # the protocol has it
        """Training figures."""
        if step % self.log_every == 0:
            figures = {"nll": update.nll, "lr": update.rate, "gnorm": update.gradient_norm}
            for name, value in (figures | {"tok_s": tokens_per_second}).items():
                self.writer.add_scalar(f"train/{name}", value, step)

    def validated(self, validation: Validation) -> None:
        """Validation figures and the first sample."""
        for name, value in validation.scores.items():
            self.writer.add_scalar(f"valid/{name}", value, validation.step)
        for sample in validation.samples[:1]:
            self.writer.add_text("sample", f"{sample.source} → {sample.hypothesis}", validation.step)
