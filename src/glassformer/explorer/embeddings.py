"""Token vectors and positions of a model: neighbours, a map of the vocabulary, waves and biases."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.explorer.answers import Missing, Problem
from glassformer.explorer.trace_views import Query, number
from glassformer.nn.embedding import TokenEmbedding
from glassformer.nn.positions import AlibiBias, RelativeBias
from glassformer.probe import Subject
from glassformer.probe.anatomy import StackPart, stacks
from glassformer.probe.question import model_of
from glassformer.text import Tokenizer

SAMPLE = 1500
"""The axes of the map are those of so many tokens."""


@torch.inference_mode()
def neighbours(subject: Subject, query: Query) -> dict[str, Any]:
    """The tokens whose vectors point most in the same direction."""
    part, tokenizer = _side(subject, query)
    vectors = _vectors(part, tokenizer)
    token = number(query, "token", 0, 0, tokenizer.size - 1)
    k = number(query, "k", 10, 1, 50)
    cosines = F.cosine_similarity(vectors, vectors[token][None], dim=-1)
    cosines[token] = -2.0
    best = cosines.topk(min(k, len(vectors) - 1))
    ids = best.indices.tolist()
    pieces = tokenizer.pieces(ids)
    return {
        "token": {"id": token, "piece": tokenizer.pieces([token])[0]},
        "norm": float(vectors[token].norm()),
        "neighbours": [
            {"id": i, "piece": piece, "cosine": value}
            for i, piece, value in zip(ids, pieces, best.values.tolist(), strict=True)
        ],
    }


@torch.inference_mode()
def pca(subject: Subject, query: Query) -> dict[str, Any]:
    """A sample of the vocabulary on its two main axes, the tokens asked for among it."""
    part, tokenizer = _side(subject, query)
    vectors = _vectors(part, tokenizer)
    asked = _ids(query.get("tokens", ""), tokenizer.size)
    n = number(query, "n", 400, 2, 4000)
    generator = torch.Generator().manual_seed(0)  # the same sample each time
    order = [
        i
        for i in torch.randperm(tokenizer.size, generator=generator).tolist()
        if i not in tokenizer.control_ids
    ]
    shown = list(dict.fromkeys([*asked, *order[: max(0, n - len(asked))]]))
    basis = vectors[order[:SAMPLE] or shown]
    mean = basis.mean(0)
    _, spread, axes = torch.linalg.svd(basis - mean, full_matrices=False)
    points = (vectors[shown] - mean) @ axes[:2].T
    total = spread.square().sum().clamp(min=1e-30)
    return {
        "side": part.side,
        "ids": shown,
        "pieces": tokenizer.pieces(shown),
        "points": F.pad(points, (0, 2 - points.size(1))).tolist(),
        "explained": (spread[:2].square() / total).tolist(),
        "marked": list(range(len(dict.fromkeys(asked)))),
    }


@torch.inference_mode()
def positions(subject: Subject, query: Query) -> dict[str, Any]:
    """How tokens know their place, as this model has it."""
    part, _ = _side(subject, query, "source")
    config, length = model_of(subject).config, number(query, "length", 64, 1, 512)
    told: dict[str, Any] = {"kind": config.positions, "length": length, "table": False}
    match config.positions:
        case "sinusoidal" | "learned":
            table = _table(subject, part, length)
            n = min(len(table), length)
            products = table[:n] @ table[:n].T
            dots = [float(products.diagonal(offset).mean()) for offset in range(n)]
            waves = [
                2 * math.pi * 10_000 ** (2 * i / config.d_model) for i in range((config.d_model + 1) // 2)
            ]
            return told | {
                "d_model": config.d_model,
                "length": n,
                "wavelengths": waves if config.positions == "sinusoidal" else [],
                "dots": dots,
                "table": True,
            }
        case "rotary":
            frequencies = [config.rotary_base ** (-2 * i / config.d_key) for i in range(config.d_key // 2)]
            return told | {"d_k": config.d_key, "base": config.rotary_base, "frequencies": frequencies}
        case "alibi" | "relative":
            return told | _bias(part, length)
        case "none":
            return told


@torch.inference_mode()
def position_table(subject: Subject, query: Query) -> Tensor:
    """What is added to each position: (length, d_model)."""
    part, _ = _side(subject, query, "source")
    return _table(subject, part, number(query, "length", 64, 1, 512))


def _bias(part: StackPart, length: int) -> dict[str, Any]:
    module = part.stack.sight.bias
    if isinstance(module, AlibiBias):
        return {"slopes": module.slopes.tolist()}
    if not isinstance(module, RelativeBias):
        raise Missing("this model has no bias for distance")
    every = module(length, length, torch.zeros(1))[0]  # (H, L, L)
    offsets = list(range(-(length - 1), length))
    by_offset = [[float(head[max(0, -o), max(0, -o) + o]) for o in offsets] for head in every]
    return {"offsets": offsets, "bias": by_offset}


def _table(subject: Subject, part: StackPart, length: int) -> Tensor:
    module = part.front.positions
    if module is None:
        raise Missing("this model adds nothing to its embeddings for position")
    config = model_of(subject).config
    if config.positions == "learned":
        length = min(length, config.max_length)
    table: Tensor = module(torch.arange(length)[None], torch.zeros(1, length, config.d_model))[0]
    return table


def _side(subject: Subject, query: Query, default: str = "target") -> tuple[StackPart, Tokenizer]:
    parts = {part.side: part for part in stacks(model_of(subject)).values()}
    wanted = query.get("side", default)
    if wanted not in ("source", "target"):
        raise Problem(400, f"side = {wanted!r} should be source or target")
    part = (
        parts["source" if wanted == "source" else "target"] if wanted in parts else next(iter(parts.values()))
    )
    own = subject.tokenizer.source if part.side == "source" and len(parts) > 1 else subject.tokenizer
    return part, own


def _vectors(part: StackPart, tokenizer: Tokenizer) -> Tensor:
    if not isinstance(part.embedding, TokenEmbedding):
        raise Missing("this model reads images; it has no vectors of tokens")
    return part.embedding.weight[: tokenizer.size].float()


def _ids(text: str, size: int) -> list[int]:
    parts = [part for part in text.split(",") if part][:600]
    if any(
        not (part.isascii() and part.isdecimal() and len(part) < 9 and int(part) < size) for part in parts
    ):
        raise Problem(400, f"tokens = {text[:60]!r} should be ids below {size}, divided by commas")
    return [int(part) for part in parts]
