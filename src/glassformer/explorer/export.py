"""A trace as one HTML file: the page itself, and everything about the trace that fits."""

from collections.abc import Iterator, Sequence
from typing import Any

from glassformer import __version__
from glassformer.decoding import TextEncoder
from glassformer.explorer.answers import Answer, Binary, Json, Problem
from glassformer.explorer.blob import Blob
from glassformer.explorer.bundle import join_page
from glassformer.explorer.embeddings import pca, position_table, positions
from glassformer.explorer.library import Library
from glassformer.explorer.limits import Limits
from glassformer.explorer.page_files import PageFiles
from glassformer.explorer.run_views import subject_details
from glassformer.explorer.trace_views import default_layer, trace_view
from glassformer.explorer.traces import Kept
from glassformer.explorer.weights import weight_tree
from glassformer.probe import Trace
from glassformer.probe.question import model_of

ROOM = 4_500_000
"""Bytes that the data of a file may take unless all of it is asked for; the page comes on top."""
TITLE = "Glassformer trace"
MOST_CELLS = 400
ENOUGH = 6
"""When so many answers in a row did not fit, the file is full."""


def html_of(trace: Trace, *, full: bool = False) -> str:
    """One HTML page that shows a trace by itself."""
    subject = trace.subject
    request: dict[str, Any] = {
        "run": "model",
        "checkpoint": "model",
        "source": trace.question.text,
        "target": trace.question.target,
        "decode": {} if trace.answer.config is None else trace.answer.config.model_dump(mode="json"),
        "hypothesis": trace.question.hypothesis,
        "interventions": [each.model_dump(mode="json") for each in trace.question.interventions],
        "language": trace.question.language,
    }
    kept = Kept("0000000000000000", "model", "model", 0, request, trace)
    shown: dict[str, Any] = {
        "id": "model",
        "name": "model",
        "kind": "model",
        "family": trace.config.family,
        "parameters": sum(parameter.numel() for parameter in trace.model.parameters()),
        "languages": list(subject.tokenizer.languages),
        "status": "in a file",
        "step": 0,
        "scores": {},
        "has_metrics": False,
        "has_model": True,
        "checkpoints": 1,
        "error": None,
    }
    return _page(kept, shown, Limits(), full=full, heads=())


def exported(kept: Kept, library: Library, *, full: bool, heads: Sequence[str]) -> str:
    """The same of a trace that a server keeps."""
    shown = library.run(kept.run).summary()
    return _page(kept, shown, library.limits, full=full, heads=heads)


def _page(kept: Kept, shown: dict[str, Any], limits: Limits, *, full: bool, heads: Sequence[str]) -> str:
    blob = Blob(kept.id, kept.run)
    room = None if full else ROOM
    about = {
        "name": "glassformer",
        "version": __version__,
        "live": False,
        "default_run": kept.run,
        "examples": [],
        "limits": limits.shown(),
    }
    run = f"/api/runs/{kept.run}"
    blob.add("/api/about", Json(about))
    blob.add("/api/runs", Json({"runs": [shown]}))
    blob.add(run, Json(shown | subject_details(kept.trace.subject) | {"settings": None, "info": None}))
    for route, answer in _run_answers(kept, run):
        blob.add(route, answer)
    refused = 0
    for path in _paths(kept.trace, heads):
        route = f"/api/traces/{kept.id}/{path}"
        found = None if route in blob else _answer(kept, path)
        if found is not None:
            added = blob.add(route, found, None if path in _ALWAYS else room)
            refused = 0 if added else refused + 1
        if refused >= ENOUGH:
            break
    pages = PageFiles()
    files = {name: pages.get(name).content.decode() for name in pages if not name.endswith((".png", ".ico"))}
    return join_page(files, blob.to_base64(), TITLE)


_ALWAYS = ("meta", "heads", "atlas/enc", "atlas/dec", "atlas/cross")


def _answer(kept: Kept, path: str) -> Answer | None:
    """An answer, or None where this model has no such thing."""
    try:
        return trace_view(kept, path, {})
    except Problem:
        return None


def _run_answers(kept: Kept, run: str) -> Iterator[tuple[str, Answer]]:
    found = kept.trace
    tokenizer = found.subject.tokenizer
    pieces = tokenizer.pieces(range(tokenizer.size))
    yield f"{run}/vocabulary", Json({"side": "target", "pieces": pieces})
    one = {"id": kept.checkpoint, "step": kept.step, "origin": "model", "best": False, "metrics": {}}
    yield f"{run}/checkpoints", Json({"checkpoints": [one]})
    yield f"{run}/weights", Json(weight_tree(found.subject))
    if not isinstance(found.subject, TextEncoder) or model_of(found.subject).config.patches is None:
        ids = ",".join(str(token.id) for token in (*found.target, *found.source) if not token.special)
        yield f"{run}/pca", Json(pca(found.subject, {"tokens": ids}))
    yield f"{run}/positions", Json(positions(found.subject, {}))
    if model_of(found.subject).config.positions in ("sinusoidal", "learned"):
        yield f"{run}/positions/table", Binary(position_table(found.subject, {}))


def _paths(found: Trace, heads: Sequence[str]) -> Iterator[str]:
    """What to put into a file, most important first."""
    yield from ("meta", "heads", *(f"atlas/{kind}" for kind in found.kinds))
    yield from ("masks", "alignment", "layers", "lens", "beam")
    for head in heads:
        yield from _of_head(head)
    yield from (f"t/{kind}.mask" for kind in found.kinds)
    chosen = {kind: default_layer(found) if kind == "cross" else 0 for kind in found.kinds}
    for kind, layer in chosen.items():
        yield from (f"t/{kind}.{layer}.{head}.weights" for head in range(found.config.n_heads))
    if found.output.logits is not None:
        yield from (f"logits/{row}" for row in range(len(found.logits)))
    every = [(kind, layer) for kind in found.kinds for layer in range(len(found.layers(kind)))]
    for kind, layer in every:
        yield from (f"t/{kind}.{layer}.{head}.weights" for head in range(found.config.n_heads))
    for side in ("source", "target"):
        yield from (f"t/{side}.{what}" for what in ("embedding", "position", "input"))
    for kind, layer in every:
        yield from (f"t/{kind}.{layer}.{what}" for what in ("mean", "norms", "rollout"))
    for kind, layer in chosen.items():
        yield from _cells(found, kind, layer)
        yield from (
            each for head in range(found.config.n_heads) for each in _of_head(f"{kind}.{layer}.{head}")
        )
    for kind, layer in every:
        yield from (
            each for head in range(found.config.n_heads) for each in _of_head(f"{kind}.{layer}.{head}")
        )


def _of_head(head: str) -> Iterator[str]:
    for what in ("weights", "q", "k", "v", "context", "scaled", "raw", "scores", "norms"):
        yield f"t/{head}.{what}"


def _cells(found: Trace, kind: Any, layer: int) -> Iterator[str]:
    """The arithmetic of one head's cells, where they are few."""
    n_queries, n_keys = found.layers(kind)[layer].mask.shape
    if n_queries * n_keys <= MOST_CELLS:
        for query in range(n_queries):
            yield from (f"cell/{kind}.{layer}.0/{query}/{key}" for key in range(n_keys))
