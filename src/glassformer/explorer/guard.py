"""What every request goes through first: the server's own name, the page's own origin, the token."""

import hmac
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glassformer.explorer.answers import Problem, problem_response

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask."""

    hosts: tuple[str, ...] = ()
    """Names by which the server may be called besides those of this machine itself."""
    token: str | None = None


class Guard:
    """Refuses what does not come from the page itself, and marks every answer with the policy."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access
        self._names = {*_LOOPBACK, *access.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or pass on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            self._check(scope)
        except Problem as problem:
            await problem_response(problem)(scope, receive, _marked(send))
            return
        await self._app(scope, receive, _marked(send))

    def _check(self, scope: Scope) -> None:
        headers = _headers(scope["headers"])
        hosts = headers.get("host", [])
        host = hosts[0].lower() if len(hosts) == 1 else ""
        if _name(host) not in self._names:
            raise Problem(
                403, "the Host header does not name this server", "open the address that was printed"
            )
        origin = headers.get("origin", [""])[0].lower()
        if origin and origin not in (f"http://{host}", f"https://{host}"):
            raise Problem(403, "pages of other origins may not ask here")
        asks = "/api/" in scope["path"]
        if asks and headers.get("sec-fetch-site", [""])[0] in ("cross-site", "same-site"):
            raise Problem(403, "pages of other sites may not ask here")
        if asks and self._access.token is not None:
            given = headers.get("authorization", [""])[0]
            wanted = f"Bearer {self._access.token}"
            if not hmac.compare_digest(given.encode(), wanted.encode()):
                raise Problem(401, "a token is needed", "open the whole address that was printed, # and all")


def _name(host: str) -> str:
    """The host without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in raw:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _marked(send: Send) -> Send:
    async def marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [
                *message["headers"],
                *((k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in present),
            ]
        await send(message)

    return marked
