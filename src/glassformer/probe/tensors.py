"""Any tensor of a trace by its name: ``cross.3.5.weights``, ``x.dec.0.cross.sum``, ``source.embedding``."""

import torch
from torch import Tensor

from glassformer.errors import InputError
from glassformer.nn import MultiHeadAttention
from glassformer.probe.anatomy import Kind, StackName, attentions, stacks
from glassformer.probe.attention_pass import AttentionPass
from glassformer.probe.traced import Trace

OF_A_HEAD = ("weights", "raw", "scaled", "bias", "scores", "norms", "q", "k", "v", "context")
OF_A_LAYER = ("weights", "mean", "norms", "rollout")


class NoTensor(InputError):
    """There is no tensor of that name in this trace."""


@torch.inference_mode()
def tensor(found: Trace, name: str) -> Tensor:
    """The tensor of that name, without the batch."""
    parts, value = stacks(found.model), None
    match name.split("."):
        case ["logits"] if found.output.logits is not None:
            value = found.logits
        case ["x", "enc" | "dec" as stack, "output"] if stack in parts:
            value = found.capture.state(f"{parts[stack].path}.output")[0]
        case ["x", "enc" | "dec" as stack, layer, *site] if stack in parts:
            value = _state(found, stack, layer, ".".join(site), name)
        case ["source" | "target" as side, ("embedding" | "position" | "input") as what]:
            value = _front(found, side, what)
        case ["enc" | "dec" | "cross" as kind, *rest] if kind in found.kinds:
            value = _attention(found, kind, rest, name)
    if value is None:
        raise _missing(name)
    return value


def _attention(found: Trace, kind: Kind, rest: list[str], name: str) -> Tensor | None:
    layers = found.layers(kind)
    match rest:
        case ["mask"]:
            return layers[0].mask
        case [layer, what] if what in OF_A_LAYER:
            return _of_layer(found, kind, _number(layer, len(layers), name), what)
        case [layer, head, what] if what in OF_A_HEAD:
            place = _number(layer, len(layers), name)
            return _of_head(found, (kind, place, _number(head, found.config.n_heads, name)), what)
    return None


def norm_weights(seen: AttentionPass, module: MultiHeadAttention) -> Tensor:
    """‖Σ α·v·W_O‖ over the heads, for each query and key (Kobayashi et al. 2020): (L, P)."""
    values = seen.v[0]  # (H, P, V)
    maps = module.output.weight.view(-1, values.size(0), values.size(2)).permute(1, 2, 0)  # (H, V, D)
    moved = values @ maps  # (H, P, D)
    # The products of heads with each other, since all vectors at once would need L·P·D numbers.
    products = torch.einsum("hpd,gpd->phg", moved, moved)
    weights = seen.weights[0]
    return torch.einsum("hlp,phg,glp->lp", weights, products, weights).clamp(min=0).sqrt()


def rollout(found: Trace, kind: Kind, layer: int) -> Tensor:
    """Where attention leads over several layers, the residual counted as looking at itself: (L, P)."""
    if kind == "cross":
        raise _missing("cross.rollout")
    total: Tensor | None = None
    for attention in found.layers(kind)[: layer + 1]:
        mean = attention.weights.mean(0)
        step = 0.5 * mean + 0.5 * torch.eye(len(mean), dtype=mean.dtype)
        step = step / step.sum(-1, keepdim=True)
        total = step if total is None else step @ total
    if total is None:
        raise _missing(f"{kind}.{layer}.rollout")
    return total


def _of_layer(found: Trace, kind: Kind, layer: int, what: str) -> Tensor:
    attention = found.layers(kind)[layer]
    match what:
        case "weights":
            return attention.weights
        case "mean":
            return attention.weights.mean(0)
        case "norms":
            return norm_weights(attention.seen, _module(found, kind, layer))
        case _:
            return rollout(found, kind, layer)


def _of_head(found: Trace, head: tuple[Kind, int, int], what: str) -> Tensor:
    kind, layer, number = head
    seen = found.layers(kind)[layer].head(number).seen
    match what:
        case "scaled":
            return seen.raw[0, 0] * seen.scale
        case "norms":
            values = seen.v[0, 0]
            width = values.size(-1)
            own = _module(found, kind, layer).output.weight[:, number * width : (number + 1) * width]
            lengths: Tensor = (values @ own.T).norm(dim=-1)
            return seen.weights[0, 0] * lengths
        case _:
            value: Tensor = getattr(seen, what)
            return value[0, 0]


def _state(found: Trace, stack: StackName, layer: str, site: str, name: str) -> Tensor:
    if site not in [*found.sites(stack), "units"]:
        raise _missing(name)
    return found.state(stack, _number(layer, len(stacks(found.model)[stack].blocks), name), site)


def _front(found: Trace, side: str, what: str) -> Tensor | None:
    for part in stacks(found.model).values():
        states = found.capture.states.get(f"{part.front_path}.{what}")
        if part.side == side and states:
            return states[-1][0]
    return None


def _module(found: Trace, kind: Kind, layer: int) -> MultiHeadAttention:
    return next(part.module for part in attentions(found.model) if (part.kind, part.layer) == (kind, layer))


def _number(text: str, limit: int, name: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) < limit):
        raise _missing(name)
    return int(text)


def _missing(name: str) -> NoTensor:
    return NoTensor(f"there is no tensor {name!r} in this trace")
