"""The application: routes behind a guard, with models that are loaded while the port is already open."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glassformer import __version__
from glassformer.serving.asking import Service
from glassformer.serving.deepl import deepl_routes
from glassformer.serving.guard import Guard
from glassformer.serving.hosting import Hosts, Tool
from glassformer.serving.libretranslate import libretranslate_routes
from glassformer.serving.messages import posts
from glassformer.serving.openai import openai_routes
from glassformer.serving.pages import POLICY, documentation
from glassformer.serving.problems import OUR_MISTAKE, Problem, shape
from glassformer.serving.reading import Reader
from glassformer.serving.routes import routes
from glassformer.serving.settings import ServerSettings
from glassformer.serving.strict_json import write_json
from glassformer.serving.telemetry import CONTENT_TYPE, Metrics
from glassformer.serving.text_routes import text_routes
from glassformer.serving.worker import Worker


class Explorer(NamedTuple):
    """A page to be served beside the API, and what its browser may load for it."""

    app: FastAPI
    policy: str


def create_app(
    settings: ServerSettings,
    *,
    tools: Mapping[str, Tool] | None = None,
    explorer: "Explorer | None" = None,
) -> Guard:
    """The application of a server; ``tools`` are models that are in memory already."""
    metrics = Metrics()
    worker = Worker(settings.limits, metrics)
    hosts = (
        Hosts(settings.models, worker, metrics, quantize=settings.quantize is not None)
        if tools is None
        else Hosts.ready_made(dict(tools), worker, metrics)
    )
    service = Service(hosts, worker, Reader(settings.limits), settings.limits, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.open()
        worker.start()
        hosts.load()
        async with AsyncExitStack() as stack:
            stack.callback(service.reader.close)
            stack.callback(worker.stop)
            if explorer is not None:
                await stack.enter_async_context(explorer.app.router.lifespan_context(explorer.app))
            yield

    app = FastAPI(
        title="Glassformer",
        version=__version__,
        summary="Transformers over HTTP",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.add_exception_handler(Problem, _told)
    app.add_exception_handler(HTTPException, _http_problem)
    app.add_exception_handler(Exception, _our_mistake)
    imitated = {"deepl": deepl_routes, "openai": openai_routes}
    routers = [routes(service), text_routes(service), libretranslate_routes(service)]
    routers += [imitated[each](service) for each in settings.compat]
    for router in routers:
        app.include_router(router)
    _add_signs(app, service)
    if explorer is not None:
        app.mount("/", _with_policy(explorer))
    return Guard(app, settings, service, posts(routers))


def _with_policy(explorer: Explorer) -> ASGIApp:
    """The explorer with its own policy; the guard's default would let it load nothing."""
    policy = (b"content-security-policy", explorer.policy.encode())

    async def mounted(scope: Scope, receive: Receive, send: Send) -> None:
        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), policy]}
            await send(message)

        await explorer.app(scope, receive, marked)

    return mounted


def _add_signs(app: FastAPI, service: Service) -> None:
    """Signs of life, metrics, and the description of all routes."""

    @app.get("/livez", summary="Whether the process lives")
    async def livez() -> Response:
        """Never asks a model."""
        return JSONResponse({"status": "alive"})

    @app.get("/readyz", summary="Whether requests are answered")
    async def readyz() -> Response:
        """503 while models are loaded, while the queue is full and while the server is about to stop."""
        if service.worker.draining:
            raise Problem("draining", "the server is about to stop", retry_after=5)
        failed = [host.name for host in service.hosts if host.state == "failed"]
        if failed:
            raise Problem("model_failed", f"not loaded: {', '.join(failed)}; see the log", retry_after=30)
        if not service.hosts.ready:
            raise Problem("loading", "the models are being loaded", retry_after=2)
        if service.worker.n_waiting >= service.limits.max_queue:
            raise Problem("no_memory", "the queue is full", retry_after=1)
        return JSONResponse({"status": "ready"})

    @app.get("/metrics", summary="Metrics for Prometheus", include_in_schema=False)
    async def metrics() -> Response:
        return Response(service.metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return JSONResponse(app.openapi())

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        headers = {"Content-Security-Policy": POLICY}
        return HTMLResponse(documentation(app.openapi()), headers=headers)


async def _told(request: Request, error: Exception) -> Response:
    """A problem in the shape that the route's clients expect."""
    problem = error if isinstance(error, Problem) else Problem("internal", OUR_MISTAKE)
    status, content_type, members = shape(problem, request.url.path, request.state.request_id)
    headers = {**problem.headers(), "Content-Type": content_type}
    return Response(write_json(members), status, headers)


async def _our_mistake(request: Request, _: Exception) -> Response:
    """A bug; the guard writes it into the log."""
    return await _told(request, Problem("internal", OUR_MISTAKE))


async def _http_problem(request: Request, error: Exception) -> Response:
    """What the router itself refuses."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 404:
        return await _told(request, Problem("not_found", "there is no such route", hint="see /docs"))
    if status != 405:
        return await _told(request, Problem("invalid_request", "the request cannot be read"))
    allowed = (getattr(error, "headers", None) or {}).get("Allow", "")
    response = await _told(request, Problem("method_not_allowed", f"this route knows {allowed}"))
    response.headers["Allow"] = allowed
    return response
