"""The readable part of a trace as plain data: what the page, a JSON file and a test read."""

from dataclasses import asdict
from typing import Any

import torch

from glassformer.config import ModelConfig
from glassformer.decoding import Hypothesis, LanguageModel, TextEncoder, Translator
from glassformer.decoding.penalties import LengthPenalty
from glassformer.decoding.results import Alignment
from glassformer.decoding.step import log_softmax
from glassformer.nn import Transformer
from glassformer.probe.anatomy import Side, attentions, kinds, stacks
from glassformer.probe.beam import finished_nodes
from glassformer.probe.lens import lens_stack
from glassformer.probe.tokens import ShownToken
from glassformer.probe.traced import TOLERANCE, Step, Trace, words_of_side

TOP = 10
MOST_PAIRS = 10_000
"""Pairs of words up to which an alignment is told with all its weights."""


def summary(found: Trace) -> dict[str, Any]:
    """Tokens, steps, result, alignment, fidelity; everything but tensors."""
    sides = [part.side for part in stacks(found.model).values()]
    return {
        "family": found.config.family,
        "architecture": architecture(found.model),
        "kinds": list(found.kinds),
        "shapes": {kind: _shape(found, kind) for kind in found.kinds},
        "tokens": {side: [token_data(token) for token in found.tokens(side)] for side in sides},
        "words": {side: words_of_side(found, side) for side in sides},
        "text": _texts(found, sides),
        "n_given": found.answer.n_given,
        "steps": steps(found),
        "result": result(found),
        "alignment": alignment_data(found),
        "fidelity": {
            "attention": max(found.fidelity.values(), default=0.0),
            "kinds": dict(found.fidelity),
            "incremental": found.incremental,
            "ok": found.faithful,
            "tolerance": TOLERANCE,
        },
        "interventions": [each.model_dump(mode="json") for each in found.question.interventions],
        "blocks": {stack: found.sites(stack) for stack in stacks(found.model)},
        "lens": [stack for stack in [lens_stack(found)] if stack is not None],
        "has_beam": found.answer.beam is not None,
        "has_logits": found.output.logits is not None,
        "warnings": list(found.warnings),
        "timings": {name: round(seconds, 4) for name, seconds in found.timings.items()},
        "bytes": found.n_bytes,
    }


def architecture(model: Transformer) -> dict[str, Any]:
    """What a picture of the model needs to know; nothing about it has to be guessed."""
    config: ModelConfig = model.config
    return {
        "family": config.family,
        "kinds": list(kinds(model)),
        "stacks": list(stacks(model)),
        "sides": [part.side for part in stacks(model).values()],
        "layers": {kind: sum(part.kind == kind for part in attentions(model)) for kind in kinds(model)},
        "heads": config.n_heads,
        "key_heads": config.n_key_heads,
        "d_model": config.d_model,
        "d_k": config.d_key,
        "d_v": config.d_value,
        "d_ff": config.d_ff,
        "vocab_size": config.vocab_size,
        "source_vocab_size": config.n_source_ids,
        "max_length": config.max_length,
        "norm": config.norm,
        "norm_kind": config.norm_kind,
        "final_norm": config.norm != "post",
        "embedding_norm": config.embedding_norm,
        "positions": config.positions,
        "activation": config.activation,
        "gated": config.gated,
        "tying": config.tying,
        "scale_embedding": config.scale_embedding,
        "head": config.head if config.family == "encoder-only" else None,
        "labels": list(config.labels),
    }


def token_data(token: ShownToken) -> dict[str, Any]:
    """A token as plain data."""
    return asdict(token)


def steps(found: Trace) -> list[dict[str, Any]]:
    """What the model thought at each step, with the best few tokens."""
    if not found.steps:
        return []
    tokenizer = found.subject.tokenizer
    rows = torch.tensor([step.step for step in found.steps], dtype=torch.long)
    known = log_softmax(found.logits[rows])
    known = known.index_fill(1, torch.tensor(found.never, dtype=torch.long), float("-inf"))
    best = known.topk(min(TOP, known.size(-1) - len(found.never)), dim=-1)
    data = []
    for place, step in enumerate(found.steps):
        pairs = zip(best.indices[place].tolist(), best.values[place].tolist(), strict=True)
        top = [{"id": i, "piece": tokenizer.pieces([i])[0], "logp": value} for i, value in pairs]
        data.append(_step(found, step, place) | {"entropy": step.entropy, "top": top})
    return data


def _step(found: Trace, step: Step, place: int) -> dict[str, Any]:
    chosen = None
    if step.chosen is not None:
        piece = found.subject.tokenizer.pieces([step.chosen])[0]
        chosen = {"id": step.chosen, "piece": piece, "logp": step.log_probability, "rank": step.rank}
    told = {"step": place, "given": step.given, "forced": step.forced, "chosen": chosen}
    return told if found.dec else told | {"position": step.step}


def result(found: Trace) -> dict[str, Any]:
    """What the model was asked for, by family and head."""
    if isinstance(found.subject, TextEncoder):
        return _reading(found, found.subject)
    answer, config = found.answer, found.answer.config or found.subject.decode
    penalty = LengthPenalty(config)
    shown = [_hypothesis(found, index, each) for index, each in enumerate(answer.hypotheses)]
    if not shown:
        length = len([step for step in found.steps if not step.given])
        logp = found.log_probability
        score = logp / penalty(max(length, 1))
        finished = isinstance(found.subject, Translator)
        shown = [
            {
                "index": 0,
                "text": found.text,
                "score": score,
                "logp": logp,
                "length": length,
                "finished": finished,
            }
        ]
    own = shown[found.question.hypothesis] if answer.decoded else shown[0]
    return {
        "kind": "text",
        **{key: own[key] for key in ("text", "score", "logp", "finished", "length")},
        "decoded": answer.decoded,
        "alpha": config.alpha,
        "length_penalty": config.length_penalty,
        "divisor": penalty(max(own["length"], 1)),
        "hypotheses": shown,
    }


def beam_data(found: Trace) -> dict[str, Any] | None:
    """The search as a tree; None where nothing was searched."""
    log, config = found.answer.beam, found.answer.config
    if log is None or config is None or isinstance(found.subject, TextEncoder):
        return None
    tokenizer, penalty = found.subject.tokenizer, LengthPenalty(config)
    end, best = found.subject.specials.end, found.answer.hypotheses[found.question.hypothesis]
    finished: list[dict[str, Any]] = []
    for node in finished_nodes(log):
        length = max(node.step - best.n_forced, 1)
        text = tokenizer.decode([token for token in log.path(node.id) if token != end])
        finished.append(
            {
                "node": node.id,
                "text": text,
                "logp": node.total,
                "length": length,
                "score": node.total / penalty(length),
            }
        )
    finished.sort(key=lambda each: -each["score"])
    return {
        "beam": config.beam,
        "alpha": config.alpha,
        "length_penalty": config.length_penalty,
        "end": end,
        "limit": len(found.answer.source or found.answer.fed[: found.answer.n_given]) + config.max_extra
        if config.max_length is None
        else config.max_length,
        "truncated": log.truncated,
        "chosen": log.node_of(best, end),
        "nodes": [
            {
                "id": node.id,
                "parent": node.parent,
                "step": node.step,
                "token": node.token,
                "piece": "" if node.token is None else tokenizer.pieces([node.token])[0],
                "logp": node.log_probability,
                "total": node.total,
                "status": node.status,
            }
            for node in log.nodes
        ],
        "finished": finished,
    }


def alignment_data(found: Trace, alignment: Alignment | None = None) -> dict[str, Any] | None:
    """An alignment as plain data; that of the translator's own reading where none is given."""
    if not isinstance(found.subject, Translator):
        return None
    told = found.alignment() if alignment is None else alignment
    return {
        "layer": found.subject.reading.layer,
        "fed": found.subject.reading.fed,
        "source": list(told.source),
        "target": list(told.target),
        "links": [list(link) for link in told.links],
        "weights": _rounded(told) if len(told.source) * len(told.target) <= MOST_PAIRS else None,
    }


def _rounded(told: Alignment) -> list[list[float]]:
    return [[round(value, 5) for value in row] for row in told.weights]


def _shape(found: Trace, kind: Any) -> dict[str, Any]:
    seen = found.layers(kind)[0].seen
    return {
        "layers": len(found.layers(kind)),
        "heads": seen.n_heads,
        "queries": seen.shared_q.size(2),
        "keys": seen.shared_k.size(2),
        "d_k": seen.shared_q.size(3),
        "d_v": seen.shared_v.size(3),
        "scale": seen.scale,
    }


def _texts(found: Trace, sides: list[Side]) -> dict[str, str]:
    texts = {"source": found.answer.text} if "source" in sides or not found.enc else {}
    return texts | ({"target": found.text} if "target" in sides else {})


def _hypothesis(found: Trace, index: int, each: Hypothesis) -> dict[str, Any]:
    tokenizer = found.subject.tokenizer
    before = found.answer.fed[: found.answer.n_given] if isinstance(found.subject, LanguageModel) else ()
    stream = tokenizer.stream(before)
    return {
        "index": index,
        "text": "".join(stream.feed(token) for token in each.ids) + stream.finish(),
        "score": each.score,
        "logp": each.log_probability,
        "length": each.length,
        "finished": each.finished,
    }


def _reading(found: Trace, subject: TextEncoder) -> dict[str, Any]:
    if found.output.classes is not None:
        ranked = found.output.classes.float().softmax(-1).sort(descending=True, stable=True)
        pairs = zip(ranked.indices.tolist(), ranked.values.tolist(), strict=True)
        return {"kind": "classify", "labels": [{"name": subject.labels[i], "p": p} for i, p in pairs]}
    if found.output.vector is not None:
        vector = found.output.vector
        return {"kind": "embed", "norm": float(vector.norm()), "vector": vector.tolist()}
    blanks = []
    for step in steps(found):
        allowed = found.logits[step["position"]].index_fill(0, torch.tensor(found.never), float("-inf"))
        chances = allowed.float().softmax(-1)
        guesses = [
            {
                "id": each["id"],
                "piece": each["piece"],
                "text": subject.tokenizer.decode([each["id"]]),
                "p": float(chances[each["id"]]),
            }
            for each in step["top"]
        ]
        blanks.append({"position": step["position"], "guesses": guesses})
    return {"kind": "fill", "blanks": blanks}
