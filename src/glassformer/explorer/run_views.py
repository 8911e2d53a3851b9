"""Every answer about one run, by the path that asks for it."""

from collections.abc import Mapping
from typing import Any

from glassformer.config import DecodeConfig
from glassformer.decoding import TextEncoder
from glassformer.explorer.answers import Answer, Binary, Json, Missing
from glassformer.explorer.embeddings import neighbours, pca, position_table, positions
from glassformer.explorer.library import Library
from glassformer.explorer.metrics import samples, tail
from glassformer.explorer.runs import Run
from glassformer.explorer.trace_views import Query, number
from glassformer.explorer.weights import spectrum, weight_stats, weight_tree, weight_values
from glassformer.probe import Subject
from glassformer.probe.question import model_of
from glassformer.probe.summary import architecture
from glassformer.text import Tokenizer


def run_view(library: Library, run: Run, path: str, query: Query) -> Answer:
    """The answer to ``GET /api/runs/{run}/{path}``."""
    told: dict[str, Any] | None = None
    match path.split("/"):
        case [""]:
            told = details(library, run, query)
        case ["checkpoints"]:
            told = {"checkpoints": checkpoints(run)}
        case ["metrics"]:
            told = metrics(run, number(query, "after", 0, 0, 1 << 40))
        case ["samples"]:
            told = {"samples": [] if run.run is None else samples(run.run.samples)}
        case ["diff", other]:
            told = differences(run, library.run(other))
        case ["vocabulary"]:
            return Json(vocabulary(library, run, query), forever=True)
        case ["tokens"]:
            told = {"tokens": search(library, run, query)}
    if told is None:
        return _model_view(library, run, path, query)
    return Json(told)


def _model_view(library: Library, run: Run, path: str, query: Query) -> Answer:
    """Answers that need the weights."""
    subject = subject_of(library, run, query)
    match path.split("/"):
        case ["positions", "table"]:
            return Binary(position_table(subject, query))
        case ["weights", name, "values"]:
            return Binary(weight_values(subject, name, query, library.limits.numbers))
        case ["neighbours"]:
            told = neighbours(subject, query)
        case ["pca"]:
            told = pca(subject, query)
        case ["positions"]:
            told = positions(subject, query)
        case ["weights"]:
            told = weight_tree(subject)
        case ["weights", name]:
            told = weight_stats(subject, name, number(query, "bins", 64, 4, 512))
        case ["spectrum", layer]:
            told = spectrum(subject, layer)
        case _:
            raise Missing(f"there is no {path!r} of a run")
    return Json(told)


def subject_of(library: Library, run: Run, query: Query) -> Subject:
    """The model of a run at the checkpoint that is asked for."""
    return library.subject(run, run.checkpoint(query.get("checkpoint")))


def details(library: Library, run: Run, query: Query) -> dict[str, Any]:
    """Everything about a run that is not a curve."""
    told = run.summary() | subject_details(subject_of(library, run, query))
    settings = None if run.run is None else flat(run.run.settings().model_dump(mode="json"))
    return told | {"settings": settings, "info": None if run.run is None else run.info()}


def subject_details(subject: Subject) -> dict[str, Any]:
    """What a model is and how it is asked."""
    model = model_of(subject)
    decode = DecodeConfig() if isinstance(subject, TextEncoder) else subject.decode
    return {
        "config": model.config.model_dump(mode="json"),
        "architecture": architecture(model),
        "tokenizer": tokenizer_data(subject.tokenizer),
        "decode": decode.model_dump(mode="json"),
    }


def tokenizer_data(tokenizer: Tokenizer) -> dict[str, Any]:
    """What the page must know about a tokenizer."""
    return {
        "kind": tokenizer.kind,
        "size": tokenizer.size,
        "source_size": tokenizer.source.size,
        "joint": tokenizer.joint,
        "lowercase": tokenizer.vocabulary.lowercase,
        "languages": list(tokenizer.languages),
        "specials": {
            "pad": tokenizer.pad_id,
            "bos": tokenizer.bos_id,
            "eos": tokenizer.eos_id,
            "unk": tokenizer.unk_id,
            "mask": tokenizer.mask_id,
        },
        "n_control": len(tokenizer.control_ids),
    }


def checkpoints(run: Run) -> list[dict[str, Any]]:
    """States of a model, each with the newest validation before it."""
    lines = run.validations()
    told = []
    for each in run.checkpoints():
        before = [line for line in lines if line["step"] <= each.step]
        scores = before[-1] if before else {}
        figures = {k: v for k, v in scores.items() if k not in ("t", "step", "split")}
        told.append(
            {"id": each.id, "step": each.step, "origin": each.origin, "best": each.best, "metrics": figures}
        )
    return told


def metrics(run: Run, after: int) -> dict[str, Any]:
    """Lines of metrics behind a place."""
    lines, end = ([], 0) if run.run is None else tail(run.run.metrics, after)
    return {"lines": lines, "next": end, "done": run.ended}


def differences(run: Run, other: Run) -> dict[str, Any]:
    """Settings in which two runs differ; of the architecture alone where one is only a model."""
    if run.run is not None and other.run is not None:
        one, two = (flat(each.settings().model_dump(mode="json")) for each in (run.run, other.run))
    else:
        one, two = (flat({"model": each.config.model_dump(mode="json")}) for each in (run, other))
    keys = sorted(key for key in one.keys() | two.keys() if one.get(key) != two.get(key))
    return {"differences": [{"key": key, "a": one.get(key), "b": two.get(key)} for key in keys]}


def vocabulary(library: Library, run: Run, query: Query) -> dict[str, Any]:
    """What each id is called."""
    side, tokenizer = side_of(library.tokenizer(run), query)
    return {"side": side, "pieces": tokenizer.pieces(range(tokenizer.size))}


def search(library: Library, run: Run, query: Query) -> list[dict[str, Any]]:
    """Tokens whose piece is, begins with or contains a text."""
    _, tokenizer = side_of(library.tokenizer(run), query)
    wanted = query.get("q", "")[:100].strip()
    limit = number(query, "limit", 20, 1, 200)
    if not wanted:
        return []
    pieces = tokenizer.pieces(range(tokenizer.size))
    plain = [piece.replace("▁", "").lower() for piece in pieces]
    text = wanted.replace("▁", "").lower()
    ranks = (
        (i, 0 if text == each else 1 if each.startswith(text) else 2)
        for i, each in enumerate(plain)
        if text in each
    )
    best = sorted(ranks, key=lambda pair: (pair[1], len(plain[pair[0]]), pair[0]))[:limit]
    return [{"id": i, "piece": pieces[i]} for i, _ in best]


def side_of(tokenizer: Tokenizer, query: Query) -> tuple[str, Tokenizer]:
    """The tokenizer of a side; the target's where none is named."""
    side = "source" if query.get("side") == "source" else "target"
    return side, tokenizer.source if side == "source" else tokenizer


def flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested tables as ``train.steps``."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{before}{key}"
        found |= flat(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
    return found
