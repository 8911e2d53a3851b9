"""Routes that need one pass through a model, or none: score, embed, classify, fill, tokenize."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from starlette.responses import Response

from glassformer.serving.asking import Answered, Service
from glassformer.serving.hosting import Host
from glassformer.serving.problems import Problem
from glassformer.serving.reading import place
from glassformer.serving.replies import ClassifyReply, EmbedReply, FillReply, ScoreReply, TokenizeReply
from glassformer.serving.requests import (
    Asking,
    ClassifyRequest,
    EmbedRequest,
    FillRequest,
    ScoreRequest,
    TokenizeRequest,
)
from glassformer.serving.routes import PROBLEMS
from glassformer.serving.tickets import Call
from glassformer.serving.translating import most_tokens, tokens_of


def text_routes(service: Service) -> APIRouter:
    """The routes."""
    router = APIRouter(responses=PROBLEMS)

    @router.post("/v1/score", response_model=ScoreReply, summary="Score given texts")
    async def score(request: Request, body: ScoreRequest) -> Response:
        """The log-probability of each target, given its source; or of each text, by a language model."""
        host = service.hosts.find(body.model, "encoder-decoder", "decoder-only")
        sources = service.reader.texts([pair.source for pair in body.pairs])
        texts = [*sources, *service.reader.texts([pair.target for pair in body.pairs])]
        items = [(pair.source, pair.target) for pair in body.pairs]
        function = _score_pairs if host.family == "encoder-decoder" else _score_texts
        call = Call(("score", host.name, body.target), partial(function, host, body.target), items)
        answered, n_tokens = await _call(service, request, host, texts, call, body)
        found = [
            {"logprob": each.log_probability, "perplexity": each.perplexity, "tokens": tokens_of(each)}
            for each in answered.results
        ]
        return _reply(host, {"scores": found}, n_tokens, answered)

    @router.post("/v1/embed", response_model=EmbedReply, summary="Turn texts into vectors")
    async def embed(request: Request, body: EmbedRequest) -> Response:
        """One vector for each text; that of a blank text is 0."""
        host = service.hosts.find(body.model, "encoder-only")
        texts = service.reader.texts(body.text)
        function = partial(_embed, host, body.pool, body.normalize)
        call = Call(("embed", host.name, body.pool, body.normalize), function, texts)
        answered, n_tokens = await _call(service, request, host, texts, call, body)
        return _reply(host, {"embeddings": answered.results}, n_tokens, answered)

    @router.post("/v1/classify", response_model=ClassifyReply, summary="Name the class of texts")
    async def classify(request: Request, body: ClassifyRequest) -> Response:
        """The labels of each text with their probabilities, best first."""
        host = _with_head(service, body.model, "classifier")
        texts = service.reader.texts(body.text)
        call = Call(("classify", host.name), host.text_encoder.classify, texts)
        answered, n_tokens = await _call(service, request, host, texts, call, body)
        return _reply(host, {"labels": [_plain(each) for each in answered.results]}, n_tokens, answered)

    @router.post("/v1/fill", response_model=FillReply, summary="Fill in blanks")
    async def fill(request: Request, body: FillRequest) -> Response:
        """Candidates for each blank of each text."""
        host = _with_head(service, body.model, "masked-lm")
        texts = service.reader.texts(body.text)
        for i, text in enumerate(texts):
            if body.mask not in text:
                where = place(i, len(texts))
                raise Problem("invalid_parameter", f"{where}there is no {body.mask} to fill")
        function = partial(host.text_encoder.fill, top=body.top, marker=body.mask)
        call = Call(("fill", host.name, body.top, body.mask), function, texts)
        answered, n_tokens = await _call(service, request, host, texts, call, body)
        found = [[_plain(blank) for blank in each] for each in answered.results]
        return _reply(host, {"blanks": found}, n_tokens, answered)

    @router.post("/v1/tokenize", response_model=TokenizeReply, summary="Cut texts into tokens")
    async def tokenize(body: TokenizeRequest) -> Response:
        """Ids, pieces and places of the tokens of each text."""
        host = service.hosts.find(body.model, "encoder-decoder", "decoder-only", "encoder-only")
        texts = service.reader.texts(body.text)
        found = await service.reader.run(texts, _tokenize, host, body.side, texts)
        return JSONResponse({"model": host.name, "tokens": found})

    return router


async def _call(
    service: Service, request: Request, host: Host, texts: Sequence[str], call: Call, body: Asking
) -> tuple[Answered, int]:
    """What a call gives, and how many tokens it read; a text that is too long is refused before."""
    deadline = service.deadline(body.timeout)
    counts = await service.reader.run(texts, _count, host, texts)
    service.reader.check_tokens(counts, most_tokens(service, host))
    return await service.call(request, call, sum(counts), deadline), sum(counts)


def _count(host: Host, texts: Sequence[str]) -> list[int]:
    return [len(ids) for ids in host.tool.tokenizer.source.encode_batch(list(texts))]


def _score_pairs(host: Host, language: str | None, items: list[tuple[str, str]]) -> Sequence[Any]:
    return host.translator.score(items, language=language)


def _score_texts(host: Host, language: str | None, items: list[tuple[str, str]]) -> Sequence[Any]:  # noqa: ARG001
    return host.language_model.score([target for _, target in items])


def _embed(host: Host, pool: Any, normalize: bool, texts: list[str]) -> list[list[float]]:
    vectors: list[list[float]] = host.text_encoder.embed(texts, pool=pool, normalize=normalize).tolist()
    return vectors


def _with_head(service: Service, name: str | None, head: str) -> Host:
    """An encoder that was made for a job."""
    host = service.hosts.find(name, "encoder-only")
    if name is None:
        fitting = [each for each in service.hosts if _head(each) == head]
        host = fitting[0] if fitting else host
    if _head(host) != head:
        raise Problem("not_found", f'this route needs an encoder with head = "{head}"; {host.name} has none')
    return host


def _head(host: Host) -> str | None:
    return host.tool.model.config.head if host.family == "encoder-only" else None


def _tokenize(host: Host, side: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    tokenizer = host.tool.tokenizer.source if side == "source" else host.tool.tokenizer
    return [
        {
            "ids": ids,
            "pieces": tokenizer.pieces(ids),
            "offsets": tokenizer.offsets(ids),
            "text": tokenizer.decode(ids),
        }
        for ids in tokenizer.encode_batch(list(texts))
    ]


def _plain(values: Sequence[Any]) -> list[dict[str, Any]]:
    return [asdict(value) for value in values]


def _reply(host: Host, found: dict[str, Any], n_tokens: int, answered: Answered) -> JSONResponse:
    used = {"input_tokens": n_tokens, "output_tokens": 0}
    return JSONResponse({"model": host.name, **found, "usage": used, "timing": answered.timing.model_dump()})
