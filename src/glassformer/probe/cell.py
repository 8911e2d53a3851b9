"""One query and one key, from their dot product to the state they help to make, number by number."""

from typing import Any

import torch
from torch import Tensor

from glassformer.errors import InputError
from glassformer.probe.anatomy import Kind, StackName, attentions, key_side, query_side, stacks
from glassformer.probe.capture import sublayers
from glassformer.probe.traced import Trace


@torch.inference_mode()
def cell(found: Trace, head: tuple[Kind, int, int], query: int, key: int) -> dict[str, Any]:
    """Every number between one query and one key; lists are over dimensions or over keys."""
    kind, layer, number = head
    seen = found.layers(kind)[layer].head(number).seen
    n_queries, n_keys = seen.shared_q.size(2), seen.shared_k.size(2)
    if not (0 <= query < n_queries and 0 <= key < n_keys):
        raise InputError(
            f"there is no cell ({query}, {key}); there are {n_queries} queries and {n_keys} keys"
        )
    q, k, v = seen.q[0, 0, query], seen.k[0, 0, key], seen.v[0, 0]
    scores, weights = seen.scores[0, 0, query], seen.weights[0, 0, query]
    dot, bias = float(q @ k), float(seen.bias[0, 0, query, key])
    row = _row(scores, weights)
    divided = _row((seen.raw[0, 0, query] + seen.bias[0, 0, query]).masked_fill(scores.isneginf(), _NEVER))
    width, n_heads = v.size(-1), found.config.n_heads
    before, after = _way(found, head, query, seen.context[0, 0, query])
    return {
        "kind": kind,
        "layer": layer,
        "head": number,
        "query": query,
        "key": key,
        "query_token": found.tokens(query_side(kind))[query].piece,
        "key_token": found.tokens(key_side(kind))[key].piece,
        "d_k": q.size(-1),
        "d_v": width,
        "d_model": found.config.d_model,
        "scale": seen.scale,
        "q": q.tolist(),
        "k": k.tolist(),
        "products": (q * k).tolist(),
        "dot": dot,
        "scaled": dot * seen.scale,
        "bias": bias,
        "allowed": bool(seen.mask[0, query, key]),
        "score": _finite(float(scores[key])),
        "row": row,
        "exponential": row["exponentials"][key],
        "weight": row["weights"][key],
        "v": v[key].tolist(),
        "contribution": (weights[key] * v[key]).tolist(),
        "context": seen.context[0, 0, query].tolist(),
        "saturation": {"weights": divided["weights"], "weight": divided["weights"][key]},
        "concat": {"start": number * width, "stop": (number + 1) * width, "width": n_heads * width},
        "before": before,
        "after": after,
        "fidelity": float(seen.fidelity()[0]),
        "intervened": seen.intervened,
    }


_NEVER = float("-inf")


def _row(scores: Tensor, weights: Tensor | None = None) -> dict[str, Any]:
    """A softmax with everything it is made of."""
    most = scores.max()
    somewhere = not bool(most.isneginf())
    exponentials = (scores - most).exp() if somewhere else torch.zeros_like(scores)
    total = exponentials.sum()
    used = exponentials / total if weights is None and somewhere else weights
    return {
        "scores": [_finite(value) for value in scores.tolist()],
        "weights": (torch.zeros_like(scores) if used is None else used).tolist(),
        "max": float(most) if somewhere else None,
        "exponentials": exponentials.tolist(),
        "denominator": float(total),
    }


def _way(
    found: Trace, head: tuple[Kind, int, int], query: int, context: Tensor
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """From the block's state to the query, and from the heads back into the state, in the model's order."""
    kind, layer, number = head
    stack: StackName = "enc" if kind == "enc" else "dec"
    sub = "cross" if kind == "cross" else "attention"
    block = stacks(found.model)[stack].blocks[layer]
    residual = next(way for name, _, way in sublayers(block) if name == sub)
    module = next(part.module for part in attentions(found.model) if (part.kind, part.layer) == (kind, layer))
    entry = "input" if sub == "attention" else _last(found, stack, "attention")
    x, where = found.state(stack, layer, entry)[query], f"x.{stack}.{layer}"
    weight = module.output.weight[:, number * len(context) : (number + 1) * len(context)]
    projected: dict[str, Any] = {
        "op": "project",
        "label": "concat · W_O",
        "tensor": f"{where}.{sub}.output",
        "value": found.state(stack, layer, f"{sub}.output")[query].tolist(),
        "share": (weight @ context).tolist(),
        "bias": found.config.bias,
    }
    before: list[dict[str, Any]] = [
        {"op": "input", "label": "x", "tensor": f"{where}.{entry}", "value": x.tolist()}
    ]
    after = [projected]
    summed: dict[str, Any] = {
        "op": "add",
        "label": "x + attention",
        "tensor": f"{where}.{sub}.sum",
        "value": found.state(stack, layer, f"{sub}.sum")[query].tolist(),
    }
    normed = found.state(stack, layer, f"{sub}.normed")[query]
    first = f"{where}.{sub}.normed"
    match residual.placement:
        case "post":
            total = found.state(stack, layer, f"{sub}.sum")[query]
            after += [summed, _norm(found, total, normed, ("norm(x + attention)", first))]
        case "pre":
            before.append(_norm(found, x, normed, ("norm(x)", first)))
            after.append(summed)
        case "sandwich":
            before.append(_norm(found, x, normed, ("norm(x)", first)))
            after += [_after_norm(found, (stack, layer, sub), query), summed]
    return before, after


def _after_norm(found: Trace, where: tuple[StackName, int, str], query: int) -> dict[str, Any]:
    stack, layer, sub = where
    given = found.state(stack, layer, f"{sub}.output")[query]
    normed = found.state(stack, layer, f"{sub}.normed_after")[query]
    return _norm(found, given, normed, ("norm(attention)", f"x.{stack}.{layer}.{sub}.normed_after"))


def _norm(found: Trace, given: Tensor, normed: Tensor, names: tuple[str, str]) -> dict[str, Any]:
    """A norm with its figures; ``names``: what it is called, and its tensor."""
    rms = found.config.norm_kind == "rms"
    mean = 0.0 if rms else float(given.mean())
    return {
        "op": "norm",
        "label": names[0],
        "tensor": names[1],
        "value": normed.tolist(),
        "mean": mean,
        "deviation": float((given - mean).square().mean().sqrt()),
        "epsilon": found.config.norm_epsilon,
        "norm": found.config.norm_kind,
    }


def _last(found: Trace, stack: StackName, sub: str) -> str:
    return [site for site in found.sites(stack) if site.startswith(f"{sub}.")][-1]


def _finite(value: float) -> float | None:
    return None if value == _NEVER else value
