"""Our own routes, /v1/…: read a message, ask the service, answer."""

import time
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.responses import Response

from glassformer.serving.asking import Service
from glassformer.serving.events import Streamed, Unrolled, event, server_sent
from glassformer.serving.hosting import limits_of
from glassformer.serving.problems import Problem
from glassformer.serving.replies import GenerateReply, ModelsReply, ProblemReply, Timing, TranslateReply
from glassformer.serving.requests import Decoding, GenerateRequest, TranslateRequest
from glassformer.serving.translating import (
    Job,
    joined,
    read_prompts,
    read_translation,
    reply_of,
    stream,
    text_result,
    translate,
    usage,
)

PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {
        "model": ProblemReply,
        "content": {"application/problem+json": {}},
        "description": "A problem, told as RFC 9457 has it.",
    }
    for code in (400, 401, 403, 404, 408, 413, 415, 422, 429, 431, 500, 503, 504)
}
EVENT_STREAM = "text/event-stream"


def routes(service: Service) -> APIRouter:
    """The routes that decode, and the list of models."""
    router = APIRouter(responses=PROBLEMS)

    @router.post("/v1/translate", response_model=TranslateReply, summary="Translate texts")
    async def translate_texts(request: Request, body: TranslateRequest) -> Response:
        """Each text into the language that a model was trained for."""
        job = await read_translation(service, body)
        if body.stream:
            return await _streamed(service, request, job, body, "translations", body.wanted)
        told = await translate(service, request, job, alignment="alignment" in body.wanted)
        found = [reply_of(each, body.wanted, body) for each in told.texts]
        return _reply(job, {"translations": found}, told.usage.model_dump(), told.timing)

    @router.post("/v1/generate", response_model=GenerateReply, summary="Go on with texts")
    async def generate_texts(request: Request, body: GenerateRequest) -> Response:
        """What follows each text, by a language model."""
        job = await read_prompts(service, body)
        if body.stream:
            return await _streamed(service, request, job, body, "generations", body.wanted)
        told = await translate(service, request, job)
        found = [reply_of(each, body.wanted, body) for each in told.texts]
        return _reply(job, {"generations": found}, told.usage.model_dump(), told.timing)

    @router.get("/v1/models", response_model=ModelsReply, summary="List the models")
    async def models() -> Response:
        """Every model with its family, its languages and its limits; a superset of OpenAI's shape."""
        return JSONResponse({"object": "list", "data": [_entry(service, host) for host in service.hosts]})

    return router


def _entry(service: Service, host: Any) -> dict[str, Any]:
    return {
        "id": host.name,
        "object": "model",
        "created": host.created,
        "owned_by": "glassformer",
        "family": host.family,
        "languages": [list(pair) for pair in host.languages],
        "limits": limits_of(host, service.limits),
        "params": host.n_parameters,
        "engine": host.engine,
        "state": host.state,
    }


def _reply(job: Job, found: dict[str, Any], used: dict[str, int], timing: Timing) -> JSONResponse:
    return JSONResponse({"model": job.host.name, **found, "usage": used, "timing": timing.model_dump()})


async def _streamed(
    service: Service, request: Request, job: Job, body: Decoding, name: str, wanted: Any
) -> StreamingResponse:
    """``event: token`` for each, then ``event: done`` with the whole reply, or ``event: error``."""
    started = time.monotonic()
    unrolled = Unrolled(job)
    request_id: str = request.state.request_id

    def piece(each: Streamed) -> bytes:
        data = {"i": each.text, "index": each.index, "text": each.piece, "logprob": each.log_probability}
        return event("token", data)

    def end(done: Unrolled) -> bytes:
        results = [done.results[key] for key in job.queries]
        told = {key: text_result(job, key, done.results[key]) for key in job.queries}
        ms = round((time.monotonic() - started) * 1e3, 2)
        reply = {
            "model": job.host.name,
            name: [reply_of(each, wanted, body) for each in joined(job, told)],
            "usage": usage(job, results).model_dump(),
            "timing": {"queue_ms": 0.0, "total_ms": ms},
        }
        return event("done", reply)

    failed = partial(_failed, request_id)
    progress = await stream(service, job)
    events = server_sent(progress, unrolled, piece, end, failed)
    return StreamingResponse(events, media_type=EVENT_STREAM, headers={"Cache-Control": "no-store"})


def _failed(request_id: str, problem: Problem) -> bytes:
    return event("error", problem.to_dict(request_id))
