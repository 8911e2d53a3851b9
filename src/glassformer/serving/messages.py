"""Messages to routes: read as the model of their route, or refused in words that never repeat the value."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from inspect import signature
from typing import Any, NamedTuple

from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from glassformer.serving.problems import Problem


class Post(NamedTuple):
    """A route that takes a message."""

    path: str
    model: type[BaseModel]
    endpoint: Callable[..., Awaitable[Response]]
    asks: bool
    """Whether it wants the request as well, since it waits for a model."""

    async def answer(self, value: Any, request: Request) -> Response:
        """What the route says to a message that has been read as JSON."""
        body = read_message(self.model, value)
        return await (self.endpoint(request, body) if self.asks else self.endpoint(body))


def posts(routers: Iterable[APIRouter]) -> dict[str, Post]:
    """The routes that take messages, by their paths.

    They are called directly: what FastAPI would do for each of them, read the JSON again and look for
    dependencies, costs more than everything else on the way. Its description of them stays true.
    """
    found = {}
    for router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute) and "POST" in (route.methods or ()):
                wanted = signature(route.endpoint).parameters
                model = wanted["body"].annotation
                found[route.path] = Post(route.path, model, route.endpoint, "request" in wanted)
    return found


def read_message(model: type[BaseModel], value: Any) -> BaseModel:
    """A message as its model has it."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        detail = "; ".join(dict.fromkeys(map(_sentence, details)))
        raise Problem("invalid_parameter", detail) from None


def texts_of(value: Mapping[str, Any]) -> list[str]:
    """The texts of a message to any route, whether it is right or not."""
    found: list[Any] = []
    for name in ("text", "q", "prompt"):
        given = value.get(name, [])
        found += given if isinstance(given, list) else [given]
    pairs = value.get("pairs", [])
    for pair in pairs if isinstance(pairs, list) else []:
        found += [pair.get("source"), pair.get("target")] if isinstance(pair, dict) else []
    return [text for text in found if isinstance(text, str)]


def _sentence(detail: Mapping[str, Any]) -> str:
    where = ".".join(str(part)[:40] for part in detail["loc"] if part not in ("str", "list[str]"))
    if detail["type"] == "value_error":
        wrong = str(detail["ctx"]["error"])
    elif detail["type"] == "missing":
        wrong = "is required"
    else:
        wrong = str(detail["msg"]).removeprefix("Input ")
    return f"{where}: {wrong}" if where else wrong
