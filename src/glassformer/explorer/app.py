"""The explorer as a web application: routes in, answers out, the model on a thread of its own."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from glassformer import __version__
from glassformer.errors import GlassformerError
from glassformer.explorer.answers import (
    Json,
    Missing,
    Problem,
    finite,
    problem_of,
    problem_response,
    response,
)
from glassformer.explorer.batches import batched, scored
from glassformer.explorer.comparing import difference, difference_tensor
from glassformer.explorer.library import Library
from glassformer.explorer.limits import Limits
from glassformer.explorer.page_files import PageFiles
from glassformer.explorer.requests import (
    BatchRequest,
    ScoreRequest,
    SweepRequest,
    TokenizeRequest,
    TraceRequest,
    body_of,
)
from glassformer.explorer.run_views import metrics, run_view
from glassformer.explorer.tokenizing import tokenized
from glassformer.explorer.trace_views import meta, number, trace_view
from glassformer.explorer.worker import Worker
from glassformer.probe.importance import Importance, measure_importance

EXAMPLES = ("The cat chased the mouse.",)
BEAT = 10.0
"""Seconds after which a stream without news says that it lives."""


def create_app(models: Sequence[Path | str], *, limits: Limits | None = None) -> FastAPI:
    """The explorer of some runs or model directories; who may ask is for ``Guard`` or a server around it."""
    library = Library([Path(each) for each in models], limits)
    worker = Worker(library.limits.waiting)
    page = PageFiles()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        worker.close()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(GlassformerError, _mistake)
    app.add_exception_handler(HTTPException, _refused)
    _add_run_routes(app, library, worker)
    _add_text_routes(app, library, worker)
    _add_trace_routes(app, library, worker)
    _add_comparing_routes(app, library, worker)

    @app.get("/{name:path}", include_in_schema=False)
    async def file(name: str, request: Request) -> Response:
        if name.startswith("api/"):
            raise Missing(f"there is no route /{name}")
        return page.response(name, request)

    return app


def about(library: Library, *, live: bool = True) -> dict[str, Any]:
    """What the server is and what it takes."""
    return {
        "name": "glassformer",
        "version": __version__,
        "live": live,
        "default_run": library.default,
        "examples": list(EXAMPLES),
        "limits": library.limits.shown(),
    }


def _add_run_routes(app: FastAPI, library: Library, worker: Worker) -> None:
    @app.get("/api/about")
    async def get_about() -> Response:
        return response(Json(about(library)))

    @app.get("/api/runs")
    async def get_runs() -> Response:
        runs = await worker.run(lambda: [run.summary() for run in library.runs.values()])
        return response(Json({"runs": runs}))

    @app.get("/api/runs/{name}/metrics/stream")
    async def stream_metrics(name: str, request: Request) -> Response:
        run, after = library.run(name), number(request.query_params, "after", 0, 0, 1 << 40)
        return _events(_new_metrics(lambda place: metrics(run, place), after))

    @app.get("/api/runs/{name}")
    @app.get("/api/runs/{name}/{path:path}")
    async def get_run(name: str, request: Request, path: str = "") -> Response:
        query = dict(request.query_params)
        return response(await worker.run(lambda: run_view(library, library.run(name), path, query)))


def _add_text_routes(app: FastAPI, library: Library, worker: Worker) -> None:
    @app.post("/api/tokenize")
    async def tokenize(request: Request) -> Response:
        asked = await body_of(TokenizeRequest, request, library.limits)

        def answer() -> Any:
            run = library.run(asked.run)
            return tokenized(library.tokenizer(run), asked, run.config.family, library.limits)

        return response(Json(await worker.run(answer)))

    @app.post("/api/batch")
    async def batch(request: Request) -> Response:
        asked = await body_of(BatchRequest, request, library.limits)

        def answer() -> Any:
            run = library.run(asked.run)
            return batched(library.subject(run, run.checkpoint(asked.checkpoint)), asked, library.limits)

        return response(Json(await worker.run(answer)))

    @app.post("/api/score")
    async def score(request: Request) -> Response:
        asked = await body_of(ScoreRequest, request, library.limits)

        def answer() -> Any:
            run = library.run(asked.run)
            return scored(library.subject(run, run.checkpoint(asked.checkpoint)), asked, library.limits)

        return response(Json(await worker.run(answer)))


def _add_trace_routes(app: FastAPI, library: Library, worker: Worker) -> None:
    @app.post("/api/traces")
    async def make_trace(request: Request) -> Response:
        asked = await body_of(TraceRequest, request, library.limits)

        def answer() -> tuple[dict[str, Any], bool]:
            kept, new = library.trace(asked)
            return {"id": kept.id, "meta": meta(kept)}, new

        told, new = await worker.run(answer)
        return response(Json(told), 201 if new else 200)

    @app.delete("/api/traces/{name}")
    async def drop_trace(name: str) -> Response:
        library.traces.get(name)
        library.traces.drop(name)
        return Response(status_code=204)

    @app.get("/api/traces/{name}/export.html")
    async def export(name: str, request: Request) -> Response:
        from glassformer.explorer.export import exported

        query = dict(request.query_params)
        kept = library.traces.get(name)
        full = query.get("full") == "true"
        heads = [each for each in query.get("heads", "").split(",") if each]
        text = await worker.run(lambda: exported(kept, library, full=full, heads=heads))
        headers = {"Content-Disposition": f'attachment; filename="trace-{kept.id}.html"'}
        return HTMLResponse(text, headers=headers)

    @app.get("/api/traces/{name}/{path:path}")
    async def get_trace(name: str, path: str, request: Request) -> Response:
        query = dict(request.query_params)
        kept = library.traces.get(name)
        return response(await worker.run(lambda: trace_view(kept, path, query)))


def _add_comparing_routes(app: FastAPI, library: Library, worker: Worker) -> None:
    @app.post("/api/traces/{name}/sweep")
    async def sweep(name: str, request: Request) -> Response:
        asked = await body_of(SweepRequest, request, library.limits)
        found = library.traces.get(name).trace
        kinds = found.kinds if asked.kinds is None else list(asked.kinds)
        for kind in kinds:
            if kind not in found.kinds:
                raise Problem(422, f"this model has no attention of kind {kind!r}")
        total = sum(len(found.layers(kind)) for kind in kinds) * found.config.n_heads
        measured = measure_importance(found, kinds)
        return _events(_sweep(worker, measured, total, found.log_probability))

    @app.get("/api/diff/{a}/{b}")
    async def get_difference(a: str, b: str) -> Response:
        one, other = library.traces.get(a), library.traces.get(b)
        return response(Json(await worker.run(lambda: difference(one, other))))

    @app.get("/api/diff/{a}/{b}/t/{name}")
    async def get_difference_tensor(a: str, b: str, name: str) -> Response:
        one, other = library.traces.get(a), library.traces.get(b)
        return response(await worker.run(lambda: difference_tensor(one, other, name)))


async def _new_metrics(
    read: Callable[[int], dict[str, Any]], after: int
) -> AsyncIterator[tuple[str, dict[str, Any]] | None]:
    """New lines as they are written, until the run has ended; None now and then, to show that it lives."""
    quiet = 0.0
    while True:
        found = await asyncio.to_thread(read, after)
        after = found["next"]
        if found["lines"]:
            quiet = 0.0
            yield "metrics", found
        if found["done"]:
            yield "end", {}
            return
        await asyncio.sleep(1.0)
        quiet += 1.0
        if quiet >= BEAT:
            quiet = 0.0
            yield None


async def _sweep(
    worker: Worker, measured: Any, total: int, baseline: float
) -> AsyncIterator[tuple[str, dict[str, Any]] | None]:
    """One event for each head; other requests get their turn between two of them."""
    done = 0
    while True:
        each: Importance | None = await worker.run(lambda: next(measured, None))
        if each is None:
            break
        done += 1
        figures = {"importance": each.importance, "logp": each.log_probability, "done": done, "total": total}
        yield "head", {"kind": each.kind, "layer": each.layer, "head": each.head, **figures}
    yield "end", {"baseline": baseline}


def _events(source: AsyncIterator[tuple[str, dict[str, Any]] | None]) -> Response:
    """Server-sent events."""

    async def lines() -> AsyncIterator[str]:
        async for each in source:
            if each is None:
                yield ": beat\n\n"
            else:
                name, data = each
                text = json.dumps(finite(data), ensure_ascii=False, allow_nan=False)
                yield f"event: {name}\ndata: {text}\n\n"

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(lines(), media_type="text/event-stream", headers=headers)


async def _problem(_: Request, error: Exception) -> Response:
    return problem_response(error if isinstance(error, Problem) else Problem(500, "this is our mistake"))


async def _mistake(_: Request, error: Exception) -> Response:
    return problem_response(
        problem_of(error) if isinstance(error, GlassformerError) else Problem(500, "this is our mistake")
    )


async def _refused(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return problem_response(Problem(status, "this route does not know that method"))
