"""What can go wrong with a request, as RFC 9457 has it; routes that imitate others keep the others' shape."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """A sort of problem."""

    status: int
    title: str


KINDS = {
    "invalid_request": Kind(400, "The request cannot be read"),
    "invalid_json": Kind(400, "The body is not the JSON that is needed"),
    "unauthorized": Kind(401, "A key is needed"),
    "forbidden": Kind(403, "The request comes from where none is accepted"),
    "not_found": Kind(404, "There is no such thing here"),
    "method_not_allowed": Kind(405, "The route does not know this method"),
    "timeout": Kind(408, "The request took too long to arrive"),
    "too_large": Kind(413, "The body is too large"),
    "too_many_inputs": Kind(413, "There are too many texts in one request"),
    "unsupported_media": Kind(415, "The body is not of a type that is read here"),
    "invalid_parameter": Kind(422, "A parameter has a wrong value"),
    "input_too_long": Kind(422, "A text is too long"),
    "queue_full": Kind(429, "There is too much to do at the moment"),
    "rate_limited": Kind(429, "There are too many requests from this client"),
    "headers_too_large": Kind(431, "The headers are too large"),
    "client_closed": Kind(499, "The client has gone"),
    "internal": Kind(500, "The server has made a mistake"),
    "not_implemented": Kind(501, "This server cannot do that"),
    "loading": Kind(503, "The model is not loaded yet"),
    "model_failed": Kind(503, "The model could not be loaded"),
    "draining": Kind(503, "The server is about to stop"),
    "no_memory": Kind(503, "The server is short of memory"),
    "deadline": Kind(504, "The answer was not ready in time"),
}

OUR_MISTAKE = "this is our mistake, not yours; the log of the server has the details"

TOO_LATE = "the answer was not ready in time; ask for less, or later"

LONGEST_DETAIL = 400
"""Characters of a detail: what a client sent may be quoted in it."""


class Problem(Exception):
    """The reason why a request is not answered as its sender wished."""

    def __init__(
        self, kind: str, detail: str, *, hint: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(detail)
        self.kind, self.hint, self.retry_after = kind, hint, retry_after
        self.detail = detail if len(detail) <= LONGEST_DETAIL else detail[: LONGEST_DETAIL - 1] + "…"

    @property
    def status(self) -> int:
        """The HTTP status."""
        return KINDS[self.kind].status

    def headers(self) -> dict[str, str]:
        """What the answer says besides its body."""
        found = {"Retry-After": str(self.retry_after)} if self.retry_after is not None else {}
        if self.status == 401:
            found["WWW-Authenticate"] = 'Bearer realm="glassformer"'
        return found

    def to_dict(self, request_id: str) -> dict[str, Any]:
        """The members of ``application/problem+json``."""
        members = {
            "type": f"/docs#{self.kind}",
            "title": KINDS[self.kind].title,
            "status": self.status,
            "detail": self.detail,
            "hint": self.hint,
            "request_id": request_id,
        }
        return {name: value for name, value in members.items() if value is not None}


class Shape(NamedTuple):
    """How an answer looks that tells a problem."""

    status: int
    content_type: str
    body: Mapping[str, Any]


def shape(problem: Problem, path: str, request_id: str) -> Shape:
    """The problem as the clients of a route expect it."""
    if path in ("/translate", "/languages", "/detect", "/health"):  # LibreTranslate
        status = {401: 403, 413: 400, 422: 400}.get(problem.status, problem.status)
        return Shape(status, "application/json", {"error": problem.detail})
    if path == "/v1/completions":  # OpenAI
        error = {"message": problem.detail, "type": problem.kind, "param": None, "code": problem.kind}
        return Shape(problem.status, "application/json", {"error": error})
    if path == "/v2/translate":  # DeepL
        status = {401: 403, 422: 400}.get(problem.status, problem.status)
        return Shape(status, "application/json", {"message": problem.detail})
    return Shape(problem.status, "application/problem+json", problem.to_dict(request_id))
