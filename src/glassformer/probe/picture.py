"""One attention as a small table for people: words or tokens, weights between, a remark beside each row."""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from glassformer.decoding import Reading, Translator
from glassformer.errors import InputError
from glassformer.probe.anatomy import Kind, key_side, query_side
from glassformer.probe.summary import result, steps
from glassformer.probe.traced import Trace

NAMES = {"enc": "encoder self-attention", "dec": "decoder self-attention", "cross": "cross-attention"}
N_OTHERS = 2
EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn."""

    rows: list[str]
    columns: list[str]
    weights: Tensor
    remarks: list[str]
    """One beside each row: how probable its token was, and what else was."""
    caption: str
    lines: list[str] = field(default_factory=list)
    """What is said below."""


def picture(
    found: Trace, kind: Kind | None = None, layer: int | None = None, head: int | None = None
) -> Picture:
    """The attention that says most about a trace, or the one that is asked for."""
    own = kind or ("cross" if found.cross else "dec" if found.dec else "enc")
    n_layers = len(found.layers(own))
    default = n_layers - 1
    if isinstance(found.subject, Translator) and own == "cross":
        default = found.subject.reading.layer
    place = default if layer is None else layer
    if place >= n_layers or (head is not None and head >= found.config.n_heads):
        raise InputError(
            f"this model has {n_layers} layers of {own} attention with {found.config.n_heads} heads each, "
            "counted from 0"
        )
    heads = f"mean of {found.config.n_heads} heads" if head is None else f"head {head}"
    caption = f"{NAMES[own]}, layer {place} of 0–{n_layers - 1}, {heads}"
    if own == "cross":
        return _words(found, place, head, caption)
    attention = found.layers(own)[place]
    weights = attention.weights.mean(0) if head is None else attention.head(head).weights[0]
    rows = [token.piece for token in found.tokens(query_side(own))]
    columns = [token.piece for token in found.tokens(key_side(own))]
    remarks = [""] * len(rows)
    if own == "dec":
        remarks = [_remark(step) for step in steps(found)]
    return Picture(rows, columns, weights, remarks, caption, _lines(found))


def bars(value: float) -> str:
    """A weight in at most three characters."""
    if value < 0.05:
        return "·"
    if value < 0.15:
        return "░"
    if value < 0.30:
        return "▒"
    eighths = round(min(value, 1.0) * 24)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def _words(found: Trace, layer: int, head: int | None, caption: str) -> Picture:
    fed = found.subject.reading.fed if isinstance(found.subject, Translator) else False
    told = found.alignment(Reading(layer, fed), head)
    weights = torch.tensor(told.weights).reshape(len(told.target), len(told.source))
    remarks = _word_remarks(found, len(told.target))
    return Picture(list(told.target), list(told.source), weights, remarks, caption)


def _word_remarks(found: Trace, n_words: int) -> list[str]:
    """How probable each word was, from its tokens, and what else its first token could have been."""
    told, words = steps(found), [token.word for token in found.target[1:]]
    chances, others = [0.0] * n_words, [""] * n_words
    seen: set[int] = set()
    for step, word in zip(told, words, strict=False):
        if word is None or step["chosen"] is None:
            continue
        chances[word] += step["chosen"]["logp"]
        if word not in seen:
            seen.add(word)
            others[word] = _others(step)
    return [f"p={math.exp(chance):.2f}   {other}" for chance, other in zip(chances, others, strict=True)]


def _remark(step: dict[str, object]) -> str:
    chosen = step["chosen"]
    if not isinstance(chosen, dict) or step["given"]:
        return ""
    return f"→ {chosen['piece']} p={math.exp(chosen['logp']):.2f}   {_others(step)}"


def _others(step: dict[str, object]) -> str:
    chosen, top = step["chosen"], step["top"]
    if not isinstance(chosen, dict) or not isinstance(top, list):
        return ""
    rivals = [each for each in top if each["id"] != chosen["id"]][:N_OTHERS]
    return "  ".join(f"{each['piece'].replace('▁', '')} {math.exp(each['logp']):.2f}" for each in rivals)


def _lines(found: Trace) -> list[str]:
    if found.dec:
        return []
    told = result(found)
    match told["kind"]:
        case "fill":
            return [
                f" blank {n}  "
                + "  ".join(f"{guess['text']} {guess['p']:.2f}" for guess in blank["guesses"][:5])
                for n, blank in enumerate(told["blanks"], start=1)
            ]
        case "classify":
            return [" " + "  ".join(f"{label['name']} {label['p']:.2f}" for label in told["labels"][:5])]
        case _:
            return []
