"""Every answer about one trace, by the path that asks for it; the server and the exported file share them."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.decoding import Reading
from glassformer.explorer.answers import Answer, Binary, Json, Missing, Problem
from glassformer.explorer.traces import Kept
from glassformer.probe import Trace
from glassformer.probe.anatomy import Kind, stacks
from glassformer.probe.cell import cell
from glassformer.probe.lens import LensCell, depths, lens_cells, lens_stack
from glassformer.probe.streams import stream
from glassformer.probe.summary import alignment_data, beam_data
from glassformer.probe.tensors import NoTensor, tensor

Query = Mapping[str, str]

SIDE = 64
"""An atlas has at most so many cells each way."""
_HALF = ("weights", "mean", "norms", "rollout")


def trace_view(kept: Kept, path: str, query: Query) -> Answer:
    """The answer to ``GET /api/traces/{id}/{path}``."""
    if path == "meta":
        return Json(meta(kept))
    if path == "heads":  # importance comes later
        return Json(heads(kept.trace))
    told = _plain(kept.trace, path, query)
    return _numbers(kept.trace, path, query) if told is None else Json(told, forever=True)


def _plain(found: Trace, path: str, query: Query) -> dict[str, Any] | None:
    """Answers in JSON; None where the path is none of theirs."""
    told: dict[str, Any] | None = None
    match path.split("/"):
        case ["masks"]:
            told = masks(found)
        case ["layers"]:
            told = layers(found)
        case ["beam"]:
            told = _there(beam_data(found), "nothing was searched for this trace")
        case ["alignment"]:
            told = alignment(found, query)
        case ["lens"]:
            told = lens(found, number(query, "k", 5, 1, 20))
        case ["lens", depth, token]:
            told = lens_cell(found, depth, token, number(query, "k", 10, 1, 50))
        case ["cell", head, row, column]:
            told = one_cell(found, head, row, column)
    return told


def _numbers(found: Trace, path: str, query: Query) -> Binary:
    match path.split("/"):
        case ["atlas", kind]:
            return Binary(atlas(found, kind_of(found, kind)), "u8")
        case ["t", name]:
            return named(found, name, query)
        case ["logits", step]:
            return logits(found, step)
        case _:
            raise Missing(f"there is no {path!r} of a trace")


def meta(kept: Kept) -> dict[str, Any]:
    """What the page must know before anything else."""
    told = kept.trace.to_dict()
    for side, tokens in told["tokens"].items():
        text = "".join(_decoded(kept.trace, side))
        utf16 = list(accumulate((1 + (ord(char) > 0xFFFF) for char in text), initial=0))
        for token in tokens:
            token["start"], token["end"] = utf16[token["start"]], utf16[token["end"]]
    return {
        "id": kept.id,
        "run": kept.run,
        "checkpoint": kept.checkpoint,
        "step": kept.step,
        "request": kept.request,
        **told,
    }


def heads(found: Trace) -> dict[str, Any]:
    """Figures and labels of all heads."""
    told = []
    for each in found.heads:
        place = (each.kind, each.layer, each.head)
        told.append(
            {
                "kind": each.kind,
                "layer": each.layer,
                "head": each.head,
                "entropy": each.entropy,
                "entropy_share": each.entropy_share,
                "distance": each.distance,
                "offset": each.offset,
                "max": each.largest,
                "confidence": each.confidence,
                "label": each.label,
                "statistic": each.statistic,
                "value": each.value,
                "shares": each.shares,
                "fidelity": each.fidelity,
                "importance": found.importance.get(place),
            }
        )
    return {"heads": told}


def masks(found: Trace) -> dict[str, Any]:
    """Which masks there are, in words."""
    told = []
    for kind in found.kinds:
        layer = found.layers(kind)[0]
        causal = layer.seen.sight.causal
        n_queries, n_keys = layer.mask.shape
        sentence = (
            "each position sees itself and what stands before it"
            if causal
            else "each target position sees the whole source"
            if kind == "cross"
            else "each position sees every other"
        )
        told.append(
            {
                "kind": kind,
                "queries": n_queries,
                "keys": n_keys,
                "causal": causal,
                "padding": layer.seen.sight.mask is not None,
                "allowed": int(layer.mask.sum()),
                "total": n_queries * n_keys,
                "sentence": sentence,
            }
        )
    return {"kinds": told}


def layers(found: Trace) -> dict[str, Any]:
    """Lengths, directions, updates and units, stack by stack."""
    told = {}
    for stack in stacks(found.model):
        one = stream(found, stack)
        told[stack] = {
            "depths": len(one.norms),
            "tokens": len(one.norms[0]),
            "norm": one.norms,
            "cosine": one.cosines,
            "sublayers": one.sublayers,
            "updates": [
                {"layer": each.layer, "sublayer": each.sublayer, "norm": each.norm, "share": each.share}
                for each in one.updates
            ],
            "feed_forward": [
                {
                    "layer": each.layer,
                    "active": each.active,
                    "units": each.n_units,
                    "top": [[{"unit": unit, "value": value} for unit, value in row] for row in each.top],
                }
                for each in one.units
            ],
        }
    return {"stacks": told}


def alignment(found: Trace, query: Query) -> dict[str, Any]:
    """The alignment that another layer or head gives."""
    if not found.cross:
        raise Missing("only an encoder-decoder has an alignment")
    layer = number(query, "layer", default_layer(found), 0, len(found.cross) - 1)
    head = number(query, "head", 0, 0, found.config.n_heads - 1) if "head" in query else None
    reading = Reading(layer, query.get("fed") == "true")
    told = _there(alignment_data(found, found.alignment(reading, head)), "there is no alignment")
    return told | {"layer": layer, "fed": reading.fed}


def default_layer(found: Trace) -> int:
    """Where the translator itself reads alignments."""
    reading = getattr(found.subject, "reading", Reading(0))
    return int(reading.layer)


def lens(found: Trace, k: int) -> dict[str, Any]:
    """The best few words of every depth and position."""
    stack = lens_stack(found)
    if stack is None:
        raise Missing("this model has no output over the vocabulary")
    n_depths = len(depths(found, stack))
    cells = [[_lens_data(found, each) for each in lens_cells(found, depth, k)] for depth in range(n_depths)]
    return {"stack": stack, "depths": n_depths, "tokens": len(cells[0]), "k": k, "cells": cells}


def lens_cell(found: Trace, depth: str, token: str, k: int) -> dict[str, Any]:
    """One depth of one position."""
    stack = lens_stack(found)
    if stack is None:
        raise Missing("this model has no output over the vocabulary")
    states = depths(found, stack)
    place = position(depth, len(states), "depth")
    row = torch.tensor([position(token, len(states[0]), "token")])
    return _lens_data(found, lens_cells(found, place, k, row)[0])


def logits(found: Trace, step: str) -> Binary:
    """One whole row."""
    if found.output.logits is None:
        raise Missing("this model has no logits over the vocabulary")
    row = found.logits[position(step, len(found.logits), "step")]
    return Binary(row, "f32", {"X-Never": ",".join(map(str, found.never[:2000]))})


def one_cell(found: Trace, head: str, row: str, column: str) -> dict[str, Any]:
    """The arithmetic of one query and one key."""
    parts = head.split(".")
    if len(parts) != 3:
        raise Missing(f"there is no head {head!r}; write kind.layer.head")
    kind = kind_of(found, parts[0])
    layer = position(parts[1], len(found.layers(kind)), "layer")
    one = position(parts[2], found.config.n_heads, "head")
    n_queries, n_keys = found.layers(kind)[0].mask.shape
    return cell(found, (kind, layer, one), position(row, n_queries, "query"), position(column, n_keys, "key"))


def named(found: Trace, name: str, query: Query) -> Binary:
    """A tensor by its name; heat maps in half precision unless asked otherwise."""
    try:
        value = tensor(found, name)
    except NoTensor as error:
        raise Missing(str(error)) from None
    last = name.rpartition(".")[2]
    if last == "mask":
        return Binary(value, "u8")
    if "rows" in query:
        axis = 1 if value.dim() == 3 else 0
        start, stop = rows_of(query["rows"], value.size(axis))
        value = value.narrow(axis, start, stop - start)
    wanted = query.get("dtype", "f16" if last in _HALF else "f32")
    if wanted not in ("f16", "f32"):
        raise Problem(400, f"dtype = {wanted!r} should be f16 or f32")
    return Binary(value, "f16" if wanted == "f16" else "f32")


def atlas(found: Trace, kind: Kind) -> Tensor:
    """Thumbnails of all heads of a kind, √-coded: (layers, heads, R, C)."""
    pictures = []
    for layer in found.layers(kind):
        weights = layer.weights
        size = (min(weights.size(1), SIDE), min(weights.size(2), SIDE))
        pooled = F.adaptive_max_pool2d(weights[None], size)[0]
        pictures.append((pooled.clamp(0, 1).sqrt() * 255).round().to(torch.uint8))
    return torch.stack(pictures)


def kind_of(found: Trace, name: str) -> Kind:
    """A kind that this model has."""
    for kind in found.kinds:
        if kind == name:
            return kind
    raise Missing(f"this model has no attention of kind {name!r}; it has {', '.join(found.kinds)}")


def position(text: str, size: int, name: str) -> int:
    """A place in a path."""
    if text.isascii() and text.isdecimal() and len(text) < 10 and int(text) < size:
        return int(text)
    raise Missing(f"there is no {name} {text!r}; they run from 0 to {size - 1}")


def number(query: Query, name: str, default: int, low: int, high: int) -> int:
    """A number in a query, within bounds."""
    text = query.get(name)
    if text is None:
        return default
    if text.isascii() and text.isdecimal() and len(text) < 12 and low <= int(text) <= high:
        return int(text)
    raise Problem(400, f"{name} = {text!r} should be a number from {low} to {high}")


def rows_of(text: str, size: int) -> tuple[int, int]:
    """``a:b``; more rows than there are is no mistake."""
    first, colon, last = text.partition(":")
    if not colon or any(part and not (part.isascii() and part.isdecimal()) for part in (first, last)):
        raise Problem(400, f"rows = {text!r} should be written a:b")
    start = min(int(first or 0), size)
    return start, max(start, min(int(last) if last else size, size))


def _lens_data(found: Trace, each: LensCell) -> dict[str, Any]:
    pieces = found.subject.tokenizer.pieces([min(i, found.subject.tokenizer.size - 1) for i, _ in each.top])
    chosen = None if each.chosen is None else {"p": each.chosen[0], "rank": each.chosen[1]}
    top = [{"id": i, "piece": piece, "p": p} for (i, p), piece in zip(each.top, pieces, strict=True)]
    return {"top": top, "entropy": each.entropy, "chosen": chosen}


def _decoded(found: Trace, side: str) -> Sequence[str]:
    tokens = found.source if side == "source" else found.target
    tokenizer = found.subject.tokenizer
    own = tokenizer.source if side == "source" and found.dec else tokenizer
    return own.decode([min(token.id, own.size - 1) for token in tokens])


def _there(value: dict[str, Any] | None, otherwise: str) -> dict[str, Any]:
    if value is None:
        raise Missing(otherwise)
    return value
