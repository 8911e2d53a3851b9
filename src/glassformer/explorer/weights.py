"""The parameters of a model: a tree that adds up, histograms, spectra."""

from typing import Any

import torch
from torch import Tensor, nn

from glassformer.explorer.answers import Missing, Problem
from glassformer.explorer.trace_views import Query, position, rows_of
from glassformer.nn import MultiHeadAttention
from glassformer.probe import Subject
from glassformer.probe.anatomy import attentions
from glassformer.probe.question import model_of

WIDEST = 1100
"""Larger matrices have no spectrum: it would take too long."""
N_SINGULAR = 64


def weight_tree(subject: Subject) -> dict[str, Any]:
    """Every parameter once, where it first stands."""
    model = model_of(subject)
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    root: dict[str, Any] = {"name": "", "path": "", "parameters": 0, "children": []}
    for name, parameter in model.named_parameters():
        _add(root, name, parameter, names[id(parameter)][1:])
    ties = [each for each in names.values() if len(each) > 1]
    return {"total": root["parameters"], "tree": root, "ties": ties}


@torch.inference_mode()
def weight_stats(subject: Subject, name: str, bins: int) -> dict[str, Any]:
    """A parameter in figures."""
    value = _parameter(subject, name).float()
    low, high = float(value.min()), float(value.max())
    room = (low, high) if high > low else (low - 0.5, high + 0.5)
    counts = torch.histc(value, bins, *room)
    edges = torch.linspace(*room, bins + 1)
    small = value.dim() == 2 and min(value.shape) <= WIDEST
    return {
        "path": name,
        "shape": list(value.shape),
        "count": value.numel(),
        "mean": float(value.mean()),
        "deviation": float(value.std(correction=0)),
        "min": low,
        "max": high,
        "norm": float(value.norm()),
        "zeros": int((value == 0).sum()),
        "histogram": {"edges": edges.tolist(), "counts": counts.long().tolist()},
        "singular_values": _singular(value)[:N_SINGULAR] if small else [],
    }


def weight_values(subject: Subject, name: str, query: Query, most: int) -> Tensor:
    """Rows of a parameter."""
    value = _parameter(subject, name).detach().float()
    if "rows" in query:
        start, stop = rows_of(query["rows"], value.size(0))
        value = value[start:stop]
    if value.numel() > most:
        raise Problem(422, f"{value.numel()} numbers at once are more than {most}; ask for rows=a:b")
    return value


@torch.inference_mode()
def spectrum(subject: Subject, name: str) -> dict[str, Any]:
    """Singular values of W_Q W_Kᵀ and W_V W_O, head by head."""
    kind, _, number = name.partition(".")
    parts = [part for part in attentions(model_of(subject)) if part.kind == kind]
    if not parts:
        raise Missing(f"this model has no attention of kind {kind!r}")
    layer = position(number, len(parts), "layer")
    module = parts[layer].module
    return {"kind": kind, "layer": layer, "d_k": module.d_k, "heads": _heads(module)}


def _heads(module: MultiHeadAttention) -> list[dict[str, Any]]:
    told = []
    for head in range(module.n_heads):
        group = head * module.n_key_heads // module.n_heads
        query, key = _rows(module.query, head, module.d_k), _rows(module.key, group, module.d_k)
        value = _rows(module.value, group, module.d_v)
        output = module.output.weight[:, head * module.d_v : (head + 1) * module.d_v].T
        told.append({"head": head, "qk": _product(query, key), "ov": _product(value, output)})
    return told


def _product(one: Tensor, other: Tensor) -> list[float]:
    """Singular values of oneᵀ · other, from the small factors: neither product is ever made."""
    _, left = torch.linalg.qr(one.T.float())
    _, right = torch.linalg.qr(other.T.float())
    return _singular(left @ right.T)


def _singular(value: Tensor) -> list[float]:
    values: list[float] = torch.linalg.svdvals(value).tolist()
    return values


def _rows(part: nn.Linear, head: int, width: int) -> Tensor:
    return part.weight[head * width : (head + 1) * width]


def _parameter(subject: Subject, name: str) -> Tensor:
    for known, parameter in model_of(subject).named_parameters(remove_duplicate=False):
        if known == name:
            return parameter
    raise Missing(f"this model has no parameter {name!r}")


def _add(root: dict[str, Any], name: str, parameter: nn.Parameter, shared: list[str]) -> None:
    at, path = root, ""
    root["parameters"] += parameter.numel()
    for part in name.split("."):
        path = f"{path}.{part}" if path else part
        child = next((each for each in at["children"] if each["name"] == part), None)
        if child is None:
            child = {"name": part, "path": path, "parameters": 0, "children": []}
            at["children"].append(child)
        child["parameters"] += parameter.numel()
        at = child
    at["shape"], at["shared"] = list(parameter.shape), shared
