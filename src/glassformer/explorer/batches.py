"""A padded batch as the model gets it, and what would happen without its mask; scores of given outputs."""

from typing import Any

import torch
from torch import Tensor

from glassformer.decoding import LanguageModel, TextEncoder, Translator
from glassformer.decoding.step import padded_ids
from glassformer.explorer.answers import Problem
from glassformer.explorer.limits import Limits
from glassformer.explorer.requests import BatchRequest, ScoreRequest, check_text
from glassformer.nn import DecoderOnly, Transformer, padding_mask
from glassformer.nn.shapes import PaddingMask
from glassformer.probe import Question, Subject
from glassformer.probe.question import answer, model_of


@torch.inference_mode()
def batched(subject: Subject, request: BatchRequest, limits: Limits) -> dict[str, Any]:
    """Texts beside each other, and how much the padding mask prevents."""
    for text in request.texts:
        check_text(text, limits, "text")
    rows = [list(_ids(subject, text)) for text in request.texts]
    if any(len(row) > limits.tokens for row in rows):
        raise Problem(422, f"a text has more than the {limits.tokens} tokens that the explorer shows")
    model, pad = model_of(subject), subject.tokenizer.pad_id
    left = isinstance(model, DecoderOnly)  # a causal model would never see padding behind
    ids = padded_ids(rows, pad, left=left)
    mask = padding_mask(torch.tensor([len(row) for row in rows]), ids.size(1))
    mask = mask.flip(-1) if left else mask
    own = subject.tokenizer.source if isinstance(subject, Translator) else subject.tokenizer
    return {
        "side": "target" if left else "source",
        "width": ids.size(1),
        "rows": [
            {
                "tokens": [
                    {"id": i, "piece": piece} for i, piece in zip(line, own.pieces(line), strict=True)
                ],
                "padding": (~mask[row, 0, 0]).tolist(),
            }
            for row, line in enumerate(ids.tolist())
        ],
        "difference": {
            "with_mask": _difference(model, rows, ids, mask, mask),
            "without_mask": _difference(model, rows, ids, mask, None),
        },
    }


def scored(subject: Subject, request: ScoreRequest, limits: Limits) -> dict[str, Any]:
    """What the model thinks of an output."""
    check_text(request.source, limits)
    check_text(request.target, limits, "target")
    if isinstance(subject, TextEncoder):
        raise Problem(422, "an encoder-only model gives no probabilities of texts")
    if isinstance(subject, LanguageModel):
        (found,) = subject.score([f"{request.source} {request.target}".strip()])
    else:
        (found,) = subject.score([(request.source, request.target)])
    return {
        "tokens": [
            {"piece": token.piece, "id": token.id, "logp": token.log_probability} for token in found.tokens
        ],
        "words": [{"text": text, "logp": value} for text, value in found.words],
        "logp": found.log_probability,
        "perplexity": found.perplexity,
    }


def _ids(subject: Subject, text: str) -> tuple[int, ...]:
    if isinstance(subject, Translator):
        (source,) = subject.framing.sources([text])
        if not source:
            raise Problem(422, "a text of the batch is blank")
        return source
    found = answer(subject, Question(text, target="" if isinstance(subject, LanguageModel) else None))
    return found.fed if isinstance(subject, LanguageModel) else found.source


def _difference(
    model: Transformer, rows: list[list[int]], ids: Tensor, real: Tensor, mask: PaddingMask | None
) -> float:
    """The largest change of a hidden state against the same text alone."""
    together = _hidden(model, ids, mask)
    most = 0.0
    for row, line in enumerate(rows):
        alone = _hidden(model, torch.tensor([line]), None)[0]
        most = max(most, float((together[row][real[row, 0, 0]] - alone).abs().max()))
    return most


def _hidden(model: Transformer, ids: Tensor, mask: PaddingMask | None) -> Tensor:
    if isinstance(model, DecoderOnly):
        return model.decode(ids, model.remember(), mask)
    return model.encode(ids, mask)
