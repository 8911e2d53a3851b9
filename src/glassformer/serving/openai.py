"""OpenAI's completions, so that its clients work: a language model goes on, a translator translates."""

import secrets
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.responses import Response

from glassformer.serving.asking import Service
from glassformer.serving.events import Streamed, Unrolled, event, server_sent
from glassformer.serving.problems import Problem, shape
from glassformer.serving.requests import CompletionRequest, GenerateRequest, TranslateRequest
from glassformer.serving.translating import Job, read_prompts, read_translation, stream, translate

if TYPE_CHECKING:
    from glassformer.decoding import Translation


def openai_routes(service: Service) -> APIRouter:
    """The route."""
    router = APIRouter(tags=["OpenAI"])

    @router.post("/v1/completions", summary="Complete as OpenAI does")
    async def complete(request: Request, body: CompletionRequest) -> Response:
        """What follows each prompt; ``temperature`` 0 takes the best token each time."""
        if (body.best_of or 1) > (body.n or 1):
            raise Problem(
                "invalid_parameter", "best_of: only as many are drawn as are given back; leave it out"
            )
        job = await _read(service, body)
        about = {
            "id": f"cmpl-{request.state.request_id}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": job.host.name,
        }
        if body.stream:
            return await _streamed(service, job, body, about)
        told = await translate(service, request, job)
        choices = _choices(job, told.texts, body)
        used = told.usage
        total = used.input_tokens + used.output_tokens
        counted = {
            "prompt_tokens": used.input_tokens,
            "completion_tokens": used.output_tokens,
            "total_tokens": total,
        }
        return JSONResponse({**about, "choices": choices, "usage": counted})

    return router


async def _read(service: Service, body: CompletionRequest) -> Job:
    host = service.hosts.find(body.model, "decoder-only", "encoder-decoder")
    temperature = 1.0 if body.temperature is None else body.temperature
    n = body.n or 1
    seed = secrets.randbits(63) if body.seed is None else body.seed  # clients of this route expect chance
    sampling = {"temperature": temperature, "top_p": body.top_p or 1.0, "seed": seed}
    wanted = {
        "text": body.prompt,
        "model": host.name,
        "nbest": n,
        "sampling": sampling,
        "stream": bool(body.stream),
    }
    if body.max_tokens is not None:
        wanted["max_tokens"] = body.max_tokens
    if host.family == "decoder-only":
        return await read_prompts(service, GenerateRequest.model_validate(wanted))
    return await read_translation(service, TranslateRequest.model_validate(wanted))


def _choices(job: Job, texts: "Sequence[Translation]", body: CompletionRequest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for prompt, best in zip(job.texts, texts, strict=True):
        for each in (best, *best.alternatives):
            text = (prompt if body.echo else "") + each.text
            logprobs = _logprobs(each) if body.logprobs is not None else None
            reason = "stop" if each.finished else "length"
            found.append({"text": text, "index": len(found), "logprobs": logprobs, "finish_reason": reason})
    return found


def _logprobs(found: "Translation") -> dict[str, Any]:
    return {
        "tokens": [token.piece for token in found.tokens],
        "token_logprobs": [token.log_probability for token in found.tokens],
        "top_logprobs": None,
        "text_offset": None,
    }


async def _streamed(
    service: Service, job: Job, body: CompletionRequest, about: dict[str, Any]
) -> StreamingResponse:
    """One chunk for each piece of text, an empty one that says why it ends, and ``data: [DONE]``."""

    def chunk(text: str, index: int, reason: str | None) -> bytes:
        choice = {"text": text, "index": index, "logprobs": None, "finish_reason": reason}
        return event(None, {**about, "choices": [choice]})

    def piece(each: Streamed) -> bytes:
        echoed = job.texts[each.text] if body.echo and each.index == 0 else ""
        return chunk(echoed + each.piece, each.text, None)

    def end(done: Unrolled) -> bytes:
        reasons = {key[0]: "stop" if found[0].finished else "length" for key, found in done.results.items()}
        last = [chunk("", i, reasons.get(i, "stop")) for i in range(len(job.texts))]
        return b"".join(last) + b"data: [DONE]\n\n"

    def failed(problem: Problem) -> bytes:
        return event(None, shape(problem, "/v1/completions", "").body)

    progress = await stream(service, job)
    events = server_sent(progress, Unrolled(job), piece, end, failed)
    return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
