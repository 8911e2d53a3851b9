"""What a run or a model directory is, as plain data."""

from dataclasses import asdict, dataclass
from pathlib import Path

from glassformer.checkpoint import load_model, resolve_model_directory
from glassformer.nn import parameter_count
from glassformer.training import RunDirectory
from glassformer.workflow.card import describe


@dataclass(frozen=True)
class Description:
    """A model, its size, where it comes from and how well it does."""

    path: str
    model: str
    architecture: str
    parameters: int
    vocabulary: int
    tokenizer: str
    languages: list[str]
    labels: list[str]
    max_length: int
    memory_bytes: int
    """Of the weights, loaded."""
    files: dict[str, int]
    """Bytes of each file of the model directory."""
    status: str
    step: int
    scores: dict[str, float]

    def to_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        return asdict(self)


def describe_model(path: Path) -> Description:
    """Look at a run directory, a model directory or a name under ``runs/``."""
    directory = resolve_model_directory(path)
    loaded = load_model(directory)
    run = RunDirectory(directory.parent)
    trained = directory.name == "model" and run.config.is_file()
    info = run.read_info() if trained else {}
    best, step = info.get("best"), info.get("step")
    size = parameter_count(loaded.model)
    return Description(
        path=str(run.path if trained else directory),
        model=str(directory),
        architecture=describe(loaded.config),
        parameters=size,
        vocabulary=loaded.config.vocab_size,
        tokenizer="none" if loaded.tokenizer is None else loaded.tokenizer.kind,
        languages=list(run.settings().data.langs) if trained else [],
        labels=list(loaded.config.labels),
        max_length=loaded.config.max_length,
        memory_bytes=4 * size,
        files={file.name: file.stat().st_size for file in sorted(directory.iterdir())},
        status=str(info.get("status", "a model directory")),
        step=step if isinstance(step, int) else 0,
        scores=dict(best) if isinstance(best, dict) else {},
    )
