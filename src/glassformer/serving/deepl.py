"""DeepL's route, so that its clients work: /v2/translate."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from starlette.responses import Response

from glassformer.serving.asking import Service
from glassformer.serving.hosting import host_for
from glassformer.serving.requests import DeepLRequest, TranslateRequest
from glassformer.serving.translating import read_translation, translate


def deepl_routes(service: Service) -> APIRouter:
    """The route."""
    router = APIRouter(tags=["DeepL"])

    @router.post("/v2/translate", summary="Translate as DeepL does")
    async def translate_texts(request: Request, body: DeepLRequest) -> Response:
        """Languages are named as ``EN`` or ``EN-GB``; the region makes no difference."""
        source = None if body.source_lang is None else _code(body.source_lang)
        target = _code(body.target_lang)
        wanted = {
            "text": body.text,
            "model": host_for(service.hosts, source, target),
            "source": source,
            "target": target,
            "split": body.split_sentences != "0",
        }
        job = await read_translation(service, TranslateRequest.model_validate(wanted))
        told = await translate(service, request, job)
        read = source or (job.host.languages[0][0] if job.host.languages else "")
        replies: list[dict[str, Any]] = [
            {"detected_source_language": read.upper(), "text": found.text} for found in told.texts
        ]
        if body.show_billed_characters:
            replies = [
                {**each, "billed_characters": len(text)}
                for each, text in zip(replies, body.text, strict=True)
            ]
        return JSONResponse({"translations": replies})

    return router


def _code(language: str) -> str:
    """A code of ours for one of DeepL's."""
    return language.partition("-")[0].lower()
