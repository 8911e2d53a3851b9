"""The paper in float64: its formulas as written, position by position and head by head.

Nothing here uses torch but ``numbers``, which takes the weights over. Slow and plain on purpose: it is
what the package is compared with.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import nn

Array = np.ndarray[Any, np.dtype[np.float64]]
Numbers = Mapping[str, Array]
Allowed = Sequence[Sequence[bool]]


def numbers(module: nn.Module) -> dict[str, Array]:
    """The parameters of a module by name."""
    return {name: np.asarray(value.detach().double()) for name, value in module.state_dict().items()}


def part(of: Numbers, name: str) -> dict[str, Array]:
    """The parameters whose names begin with ``name.``, without it."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in of.items() if key.startswith(prefix)}


def linear(x: Array, of: Numbers) -> Array:
    """One position through W and b."""
    return of["weight"] @ x + of.get("bias", np.zeros(len(of["weight"])))


def softmax(scores: Sequence[float]) -> list[float]:
    """e^s over the sum of all e^s."""
    largest = max(scores)
    powers = [math.exp(score - largest) for score in scores]
    return [power / math.fsum(powers) for power in powers]


def attend(query: Array, keys: Sequence[Array], values: Sequence[Array], allowed: Sequence[bool]) -> Array:
    """Equation 1 for one query; zeros where it may look nowhere."""
    seen = [i for i, may_look in enumerate(allowed) if may_look]
    if not seen:
        return np.zeros_like(values[0])
    scores = [sum(a * b for a, b in zip(query, keys[i], strict=True)) / math.sqrt(len(query)) for i in seen]
    weighted = [weight * values[i] for weight, i in zip(softmax(scores), seen, strict=True)]
    total: Array = np.sum(weighted, axis=0)
    return total


def multi_head(
    x: Sequence[Array],
    memory: Sequence[Array],
    of: Numbers,
    allowed: Allowed,
    n_heads: int,
    n_key_heads: int | None = None,
) -> list[Array]:
    """Section 3.2.2: Concat(head_1, …, head_h) W_O, the queries from x, keys and values from memory."""
    groups = n_key_heads or n_heads
    queries = [np.split(linear(row, part(of, "query")), n_heads) for row in x]
    keys = [np.split(linear(row, part(of, "key")), groups) for row in memory]
    values = [np.split(linear(row, part(of, "value")), groups) for row in memory]
    result = []
    for i, row in enumerate(queries):
        heads = []
        for head in range(n_heads):
            group = head * groups // n_heads
            k, v = [key[group] for key in keys], [value[group] for value in values]
            heads.append(attend(row[head], k, v, allowed[i]))
        result.append(linear(np.concatenate(heads), part(of, "output")))
    return result


def feed_forward(x: Array, of: Numbers) -> Array:
    """Equation 2."""
    return linear(np.maximum(0.0, linear(x, part(of, "expand"))), part(of, "contract"))


def layer_norm(x: Array, of: Numbers, epsilon: float = 1e-5) -> Array:
    """Mean 0 and variance 1 over the features, then gain and bias."""
    mean = math.fsum(x) / len(x)
    variance = math.fsum((value - mean) ** 2 for value in x) / len(x)
    return (x - mean) / math.sqrt(variance + epsilon) * of["weight"] + of["bias"]


def position(at: int, d_model: int) -> Array:
    """Section 3.5: sines at even features, cosines at odd ones."""
    wave = [math.sin, math.cos]
    return np.array([wave[j % 2](at / 10_000 ** ((j - j % 2) / d_model)) for j in range(d_model)])


def embed(ids: Sequence[int], table: Array) -> list[Array]:
    """Section 3.4: embeddings times √d_model, and where each stands."""
    d_model = table.shape[1]
    return [table[token] * math.sqrt(d_model) + position(at, d_model) for at, token in enumerate(ids)]


def _add_and_norm(x: Sequence[Array], y: Sequence[Array], of: Numbers) -> list[Array]:
    return [layer_norm(a + b, part(of, "norm")) for a, b in zip(x, y, strict=True)]


def encoder_layer(x: Sequence[Array], of: Numbers, allowed: Allowed, n_heads: int) -> list[Array]:
    """Figure 1, left: the norm after each residual sum."""
    y = multi_head(x, x, part(of, "attention"), allowed, n_heads)
    x = _add_and_norm(x, y, part(of, "attention_residual"))
    y = [feed_forward(row, part(of, "feed_forward")) for row in x]
    return _add_and_norm(x, y, part(of, "feed_forward_residual"))


def decoder_layer(x: Sequence[Array], memory: Sequence[Array], of: Numbers, n_heads: int) -> list[Array]:
    """Figure 1, right: no position looks ahead, and every one looks at the memory."""
    past = [[j <= i for j in range(len(x))] for i in range(len(x))]
    y = multi_head(x, x, part(of, "attention"), past, n_heads)
    x = _add_and_norm(x, y, part(of, "attention_residual"))
    everywhere = [[True] * len(memory)] * len(x)
    y = multi_head(x, memory, part(of, "cross_attention"), everywhere, n_heads)
    x = _add_and_norm(x, y, part(of, "cross_attention_residual"))
    y = [feed_forward(row, part(of, "feed_forward")) for row in x]
    return _add_and_norm(x, y, part(of, "feed_forward_residual"))


def transformer(source: Sequence[int], target: Sequence[int], of: Numbers, n_heads: int) -> Array:
    """Figure 1: logits of the token after each target position, with the one shared matrix."""
    table = of["target_embedding.weight"]
    memory = embed(source, table)
    everywhere = [[True] * len(source)] * len(source)
    for i in range(_depth(of, "encoder")):
        memory = encoder_layer(memory, part(of, f"encoder.blocks.{i}"), everywhere, n_heads)
    x = embed(target, table)
    for i in range(_depth(of, "decoder")):
        x = decoder_layer(x, memory, part(of, f"decoder.blocks.{i}"), n_heads)
    return np.stack([table @ row for row in x])


def _depth(of: Numbers, stack: str) -> int:
    return len({name.split(".")[2] for name in of if name.startswith(f"{stack}.blocks.")})
