"""What every request goes through before a route sees it: who asks, from where, and with how much."""

import json
import logging
import re
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glassformer.serving.asking import Service
from glassformer.serving.forms import FORM, read_form
from glassformer.serving.messages import Post, texts_of
from glassformer.serving.problems import OUR_MISTAKE, Problem, shape
from glassformer.serving.rate import RateLimit
from glassformer.serving.settings import ServerSettings
from glassformer.serving.strict_json import read_json, write_json
from glassformer.serving.telemetry import about_texts, log

OPEN = frozenset({"/livez", "/readyz", "/health", "/docs", "/openapi.json"})
"""Routes that need no key: they say nothing that a key protects."""

FORM_ROUTES = frozenset({"/translate", "/detect"})
"""Routes of LibreTranslate, whose clients send forms."""

SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
_POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_START, _NUMBERS = secrets.token_hex(8), count(1)
"""Requests are named by the start of the process and a number: that is unique, and costs no random bits."""


@dataclass
class Visit:
    """One request, while it is answered."""

    headers: Mapping[bytes, list[bytes]]
    path: str
    method: str
    server: tuple[str, int]
    client: str
    id: str = field(default_factory=lambda: f"{_START}-{next(_NUMBERS):x}")
    started: float = field(default_factory=time.perf_counter)
    status: int = 0
    n_bytes: int = 0
    route: str = ""
    """The path of the route that took the message."""
    texts: Sequence[str] = ()

    @classmethod
    def of(cls, scope: Scope) -> "Visit":
        """The request that a scope describes."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        server, client = scope.get("server") or ("", 0), scope.get("client") or ("", 0)
        visit = cls(headers, scope["path"], scope["method"], (server[0], server[1] or 0), client[0])
        given = visit.one(b"x-request-id")
        if _REQUEST_ID.fullmatch(given):
            visit.id = given.decode()
        return visit

    def one(self, name: bytes) -> bytes:
        """The value of a header; nothing if it is missing."""
        return self.headers.get(name, [b""])[0]


class Guard:
    """The outermost application."""

    def __init__(
        self, app: ASGIApp, settings: ServerSettings, service: Service, posts: Mapping[str, Post]
    ) -> None:
        self._app, self._settings, self.posts = app, settings, posts
        self.service = service
        self._metrics = service.metrics
        self._known_hosts: dict[tuple[str, int], frozenset[str]] = {}
        self.n_requests = 0
        self.metrics_port: int | None = None
        """The port that serves /metrics and nothing else; None: there is no port for that alone."""
        self._limits = settings.limits
        self._rate = RateLimit(settings.limits.rate, settings.limits.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        self.n_requests += 1
        visit = Visit.of(scope)
        scope.setdefault("state", {})["request_id"] = visit.id
        try:
            await self._answer(visit, scope, receive, self._marked(visit, send))
        finally:
            self._record(visit, scope)

    async def _answer(self, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._check_origin(visit, scope)
            self._check_port(visit)
            if visit.method == "OPTIONS" and visit.one(b"origin").decode("latin-1") in self._settings.cors:
                await self._preflight(send)
                return
            if visit.method not in ("POST", "PUT", "PATCH"):
                self._check_key(visit, {})
                await self._app(scope, receive, send)
                return
            value = await self._body(visit, receive)
            visit.texts = texts_of(value)
            post = self.posts.get(visit.path)
            if post is not None and visit.method == "POST":
                visit.route = post.path
                response = await post.answer(value, Request(scope, receive))
                await response(scope, receive, send)
                return
            scope["headers"] = _as_json(scope["headers"])
            await self._app(scope, _replay(_write_for_us(value), receive), send)
        except Problem as problem:
            await self._tell(problem, visit, send)
        except Exception:
            log("failed", level=logging.ERROR, exc_info=True, id=visit.id)
            await self._tell(Problem("internal", OUR_MISTAKE), visit, send)

    def _check_origin(self, visit: Visit, scope: Scope) -> None:
        """Whether the headers are acceptable, and the server is called by a name of its own."""
        size = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        size += sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        if size > self._limits.max_header_bytes:
            most = self._limits.max_header_bytes
            raise Problem("headers_too_large", f"request line and headers have {size} bytes; {most} are read")
        if not visit.path.startswith("/"):
            raise Problem("invalid_request", "the request target should be a path that begins with /")
        hosts = visit.headers.get(b"host", [])
        host = hosts[0].decode("latin-1") if len(hosts) == 1 else ""
        if host not in self._hosts(visit.server):
            raise Problem(
                "forbidden",
                "the Host header does not name this server",
                hint="if this name is right, start the server with --allow-host NAME",
            )
        origin = visit.one(b"origin").decode("latin-1")
        own = (f"http://{host}", f"https://{host}")
        allowed = origin in self._settings.cors
        if origin and not allowed and origin not in own:
            raise Problem("forbidden", "pages of other origins may not call this server", hint="see --cors")
        if visit.one(b"sec-fetch-site") == b"cross-site" and not allowed:
            raise Problem("forbidden", "pages of other sites may not call this server", hint="see --cors")

    def _check_port(self, visit: Visit) -> None:
        """Metrics on their own port alone, where they have one, and nothing else there."""
        own = visit.server[1] == self.metrics_port
        if self.metrics_port is not None and own != (visit.path == "/metrics"):
            raise Problem("not_found", "there is no such route on this port")

    def _hosts(self, server: tuple[str, int]) -> frozenset[str]:
        """How the server may be called where it is called at this address of its own."""
        if server not in self._known_hosts:
            self._known_hosts[server] = self._own_names(*server)
        return self._known_hosts[server]

    def _own_names(self, address: str, port: int) -> frozenset[str]:
        names = {*_LOOPBACK, f"[{address}]" if ":" in address else address}
        if self._settings.local:
            names = set(_LOOPBACK)
        hosts = {f"{name}:{port}" for name in names} | set(self._settings.allowed_hosts)
        return frozenset(hosts | names if port == 80 else hosts)

    async def _body(self, visit: Visit, receive: Receive) -> dict[str, Any]:
        """The body, read and checked; whoever may not ask is told so before it is read."""
        form = visit.path in FORM_ROUTES and _media_type(visit) == FORM
        if not form and _media_type(visit) != "application/json":
            raise Problem(
                "unsupported_media",
                "the body should be of type application/json",
                hint="-H 'Content-Type: application/json'",
            )
        if visit.one(b"content-encoding") not in (b"", b"identity"):
            raise Problem("unsupported_media", "compressed bodies are not read here")
        if visit.path not in FORM_ROUTES:
            self._check_key(visit, {})
        data = await self._read(visit, receive)
        self._check_room(visit)
        if not data:
            raise Problem("invalid_json", "body: there is none", hint='send {"text": "Hello."}')
        value = read_form(data) if form else read_json(data, self._limits)
        if not isinstance(value, dict):
            raise Problem("invalid_json", "body: should be an object in braces")
        if visit.path in FORM_ROUTES:
            self._check_key(visit, value)
        return value

    async def _read(self, visit: Visit, receive: Receive) -> bytes:
        most = self._limits.max_body_bytes
        declared = visit.one(b"content-length")
        if declared.isdigit() and int(declared[:12]) > most:
            raise Problem("too_large", f"the body has {int(declared[:12])} bytes; {most} are read")
        data = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Problem("client_closed", "the client has gone")
            data += message.get("body", b"")
            visit.n_bytes = len(data)
            if len(data) > most:
                raise Problem("too_large", f"the body has more than {most} bytes")
            if not message.get("more_body"):
                return bytes(data)

    def _check_room(self, visit: Visit) -> None:
        """Refuse while the queue is full before anything is parsed: what is too much must cost little."""
        post = self.posts.get(visit.path)
        known = visit.path not in FORM_ROUTES or not self._settings.keys  # else the body has the key
        if post is not None and post.asks and known:
            self.service.worker.check_room()

    def _check_key(self, visit: Visit, body: Mapping[str, Any]) -> None:
        """Whether the client may ask at all, and now."""
        if visit.path in OPEN or visit.server[1] == self.metrics_port:
            return
        given = visit.one(b"authorization").removeprefix(b"Bearer ").removeprefix(b"DeepL-Auth-Key ")
        if not given and isinstance(body.get("api_key"), str):
            given = body["api_key"].encode()
        if self._settings.keys and not self._settings.known_key(given):
            raise Problem("unauthorized", "a valid key is needed", hint="-H 'Authorization: Bearer KEY'")
        wait = self._rate.wait(given if self._settings.keys else visit.client.encode())
        if wait:
            raise Problem(
                "rate_limited", f"at most {self._limits.rate:g} requests a second", retry_after=wait
            )

    async def _preflight(self, send: Send) -> None:
        headers = [
            (b"access-control-allow-methods", b"GET, POST"),
            (b"access-control-allow-headers", b"authorization, content-type"),
            (b"access-control-max-age", b"600"),
        ]
        await send({"type": "http.response.start", "status": 204, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def _tell(self, problem: Problem, visit: Visit, send: Send) -> None:
        if visit.status:  # an answer was begun: all that is left is to break it off
            return
        status, content_type, members = shape(problem, visit.path, visit.id)
        body = write_json(members)
        headers = {"content-type": content_type, "content-length": str(len(body)), **problem.headers()}
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        if problem.status in (408, 431, 499):  # what is still to come is not worth reading
            raw.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": body})

    def _marked(self, visit: Visit, send: Send) -> Send:
        """Every answer carries the request's id and the headers that keep browsers careful."""
        origin = visit.one(b"origin")
        cors = origin.decode("latin-1") in self._settings.cors

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                headers = [
                    *message.get("headers", []),
                    *SECURITY_HEADERS,
                    (b"x-request-id", visit.id.encode()),
                ]
                if not any(name == _POLICY[0] for name, _ in headers):
                    headers.append(_POLICY)
                if cors:
                    headers += [(b"access-control-allow-origin", origin), (b"vary", b"origin")]
                message = {**message, "headers": headers}
            await send(message)

        return marked

    def _record(self, visit: Visit, scope: Scope) -> None:
        route = visit.route or getattr(scope.get("route"), "path", "other")
        seconds = time.perf_counter() - visit.started
        status = visit.status or 499
        self._metrics.requests.labels(route, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        log(
            "request",
            id=visit.id,
            method=visit.method if visit.method in ("GET", "POST", "HEAD", "OPTIONS") else "other",
            route=route,
            status=status,
            ms=round(seconds * 1e3, 1),
            bytes=visit.n_bytes,
            **about_texts(visit.texts, whole=self._settings.log_text),
        )


def _write_for_us(value: Any) -> bytes:
    """JSON for our own reader, which refuses what is not finite by the name of its field."""
    return json.dumps(value, ensure_ascii=False).encode()


def _as_json(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Headers for a body that is JSON now, whatever it was."""
    return [each for each in headers if each[0] != b"content-type"] + [(b"content-type", b"application/json")]


def _media_type(visit: Visit) -> str:
    return visit.one(b"content-type").split(b";")[0].strip().lower().decode("latin-1")


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body once more, in one piece; then whatever comes, which can only be that the client goes."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
