"""Training from Python: a corpus in, a run directory out. It is the run that ``glassformer train`` makes."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.checkpoint import resolve_model_directory
from glassformer.config import CorpusFiles, resolve
from glassformer.errors import GlassformerError
from glassformer.text import Corpus, Labelled, Lines, Pairs
from glassformer.training import Progress, RunDirectory, Silent
from glassformer.workflow.starting import architecture
from glassformer.workflow.template import fitting_model
from glassformer.workflow.training import start_run

CORPORA = ".corpora"
"""The folder beside runs for text that was given as a list: a run can be resumed only from text on disk."""


def fit(
    corpus: Pairs | Lines | Labelled,
    valid: Pairs | Lines | Labelled | None = None,
    *,
    out: Path | str = "runs/fit",
    steps: int | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    init_from: Path | str | None = None,
    progress: Progress | None = None,
) -> RunDirectory:
    """Train on pairs, lines or labelled texts: a translator, a language model or a classifier.

    ``settings`` are the tables of ``glassformer.toml``, such as ``{"model": {"preset": "tiny"}}``. The run is
    ``out`` with a number, since no run is ever overwritten; ``init_from`` is a model to go on from.
    """
    runs, name = Path(out).parent, Path(out).name
    files = corpus_files(corpus, runs)
    tables: dict[str, Any] = {table: dict(values) for table, values in (settings or {}).items()}
    data: dict[str, Any] = {"train": files.model_dump(exclude_none=True)}
    if valid is not None:
        data["valid"] = corpus_files(valid, runs).model_dump(exclude_none=True)
    tables["data"] = tables.get("data", {}) | data
    if steps is not None:
        tables["train"] = tables.get("train", {}) | {"steps": steps}
    origin = None if init_from is None else resolve_model_directory(init_from)
    tables["model"] = _model(files, tables.get("model", {}), origin)
    shown = contextlib.nullcontext(Silent() if progress is None else progress)
    return start_run(resolve(tables, "fit"), runs, name, init_from=origin, progress=lambda _: shown)


def corpus_files(corpus: Pairs | Lines | Labelled, folder: Path) -> CorpusFiles:
    """The files of a corpus; of one in memory the file in ``folder`` that it is written to."""
    paths = [str(path.absolute()) for path in corpus.paths] or [str(_written(corpus, folder / CORPORA))]
    match corpus:
        case Pairs():
            return CorpusFiles(src=paths[0], tgt=paths[1]) if len(paths) == 2 else CorpusFiles(pairs=paths[0])
        case Lines():
            return CorpusFiles(text=paths[0])
        case Labelled():
            return CorpusFiles(labelled=paths[0])


def _written(corpus: Corpus, folder: Path) -> Path:
    """A file of the rows of a corpus, named after its content."""
    plain = isinstance(corpus, Lines)
    path = folder.absolute() / f"{corpus.fingerprint[:24]}.{'txt' if plain else 'jsonl'}"
    lines = (
        " ".join(row[0].splitlines()) if plain else json.dumps(corpus.named(row)) for row in corpus.rows()
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise GlassformerError(f"{path}: cannot be written ({error.strerror})") from None
    return path


def _model(files: CorpusFiles, given: Mapping[str, Any], origin: Path | None) -> dict[str, Any]:
    """The [model] table: what was given, and what the corpus or the model to go on from asks for."""
    fitting: dict[str, Any] = dict(fitting_model(files))
    if origin is not None and "preset" not in given:
        fitting = architecture(origin, head=fitting.get("head"))
    elif "family" in given or ("preset" in given and "head" not in fitting):
        fitting = {}
    return fitting | dict(given)
