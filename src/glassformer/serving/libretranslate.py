"""LibreTranslate's routes, so that its many clients work: /translate, /languages, /detect, /health."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from starlette.responses import Response

from glassformer.serving.asking import Service
from glassformer.serving.hosting import host_for
from glassformer.serving.problems import Problem
from glassformer.serving.requests import DetectRequest, LibreTranslateRequest, TranslateRequest
from glassformer.serving.translating import read_translation, translate

_NAMES = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian",
    "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "tr": "Turkish", "uk": "Ukrainian",
    "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


def libretranslate_routes(service: Service) -> APIRouter:
    """The routes."""
    router = APIRouter(tags=["LibreTranslate"])

    @router.post("/translate", summary="Translate as LibreTranslate does")
    async def translate_texts(request: Request, body: LibreTranslateRequest) -> Response:
        """Paragraphs are translated sentence by sentence; ``source`` may be ``auto``."""
        source = None if body.source == "auto" else body.source
        host = host_for(service.hosts, source, body.target)
        wanted = {
            "text": body.q,
            "model": host,
            "source": source,
            "target": body.target,
            "split": True,
            "nbest": 1 + body.alternatives,
        }
        if body.alternatives:
            wanted["beam"] = max(
                1 + body.alternatives, service.hosts.find(host, "encoder-decoder").tool.decode.beam
            )
        job = await read_translation(service, TranslateRequest.model_validate(wanted))
        told = await translate(service, request, job)
        texts = [found.text for found in told.texts]
        alternatives = [[other.text for other in found.alternatives] for found in told.texts]
        several = isinstance(body.q, list)
        reply: dict[str, Any] = {"translatedText": texts if several else texts[0]}
        if body.alternatives:
            reply["alternatives"] = alternatives if several else alternatives[0]
        if body.source == "auto":
            detected = {
                "confidence": 0,
                "language": job.host.languages[0][0] if job.host.languages else "auto",
            }
            reply["detectedLanguage"] = [detected] * len(texts) if several else detected
        return JSONResponse(reply)

    @router.get("/languages", summary="List the languages")
    async def languages() -> Response:
        """Every source language with the targets it can be translated to."""
        pairs = sorted({pair for host in service.hosts for pair in host.languages})
        sources = sorted({source for source, _ in pairs})
        return JSONResponse(
            [
                {
                    "code": code,
                    "name": _NAMES.get(code, code),
                    "targets": [target for source, target in pairs if source == code],
                }
                for code in sources
            ]
        )

    @router.post("/detect", summary="Not done here", include_in_schema=False)
    async def detect(body: DetectRequest) -> Response:  # noqa: ARG001 - read, so that a wrong one is told
        """No model here tells languages apart."""
        raise Problem("not_implemented", "no model here detects languages; name the source language")

    @router.get("/health", summary="LibreTranslate's sign of life")
    async def health() -> Response:
        """The same as /readyz, in LibreTranslate's shape."""
        if not service.hosts.ready or service.worker.draining:
            raise Problem("loading", "not ready", retry_after=2)
        return JSONResponse({"status": "ok"})

    return router
