"""What the page may ask for, read as strictly as a file of settings."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, NonNegativeInt
from starlette.requests import Request

from glassformer.config import DecodeConfig, read
from glassformer.config.strict import S, Strict
from glassformer.explorer.answers import Problem
from glassformer.explorer.limits import Limits
from glassformer.probe.anatomy import Kind, Side
from glassformer.probe.intervention import Intervention

Table = Annotated[dict[str, Any], Field(strict=False)]


class TraceRequest(Strict):
    """``POST /api/traces``."""

    run: str | None = None
    """Which model; unset: the default one."""
    checkpoint: str | None = None
    """Which state of it; unset: the finished model, or the newest checkpoint."""
    source: str
    """The input."""
    target: str | None = None
    """An output to look at instead of the model's own."""
    decode: Table = Field(default_factory=dict)
    """Keys of DecodeConfig."""
    hypothesis: NonNegativeInt = 0
    """Which of the results."""
    interventions: Annotated[
        tuple[Annotated[Intervention, Field(discriminator="type")], ...], Field(strict=False)
    ] = ()
    """What is changed inside."""
    language: str | None = None
    """Target language of a multilingual model."""

    def config(self, base: DecodeConfig, limits: Limits) -> DecodeConfig:
        """Settings of decoding: the model's own, the request's on top, within the limits."""
        table: dict[str, Any] = {**base.model_dump(), **self.decode}
        beam = table["beam"]
        if isinstance(beam, int) and "nbest" not in self.decode and table.get("temperature") is None:
            table["nbest"] = max(1, min(beam, 4))
        if "max_length" not in self.decode or table["max_length"] is None:
            own = table.get("max_length")
            table["max_length"] = min(own, limits.tokens) if isinstance(own, int) else None
        config = read(DecodeConfig, table, "decode")
        most = (("beam", config.beam, limits.beam), ("nbest", config.nbest, limits.beam))
        for name, value, bound in (*most, ("max_length", config.max_length or 0, limits.tokens)):
            if value > bound:
                raise Problem(
                    422, f"decode: {name} = {value} is more than the {bound} that the explorer shows"
                )
        return config


class TokenizeRequest(Strict):
    """``POST /api/tokenize``."""

    run: str | None = None
    text: str
    side: Side = "source"


class ScoreRequest(Strict):
    """``POST /api/score``."""

    run: str | None = None
    checkpoint: str | None = None
    source: str = ""
    target: str


class BatchRequest(Strict):
    """``POST /api/batch``."""

    run: str | None = None
    checkpoint: str | None = None
    texts: Annotated[tuple[str, ...], Field(strict=False, min_length=1, max_length=8)]
    side: Side = "source"


class SweepRequest(Strict):
    """``POST /api/traces/{id}/sweep``."""

    kinds: Annotated[tuple[Kind, ...] | None, Field(strict=False)] = None


async def body_of(cls: type[S], request: Request, limits: Limits) -> S:
    """The body of a request as a table; anything else is refused."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, "the body should be JSON, with Content-Type: application/json")
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > limits.body_bytes:
            raise Problem(413, f"the body is longer than {limits.body_bytes} bytes")
    try:
        table = json.loads(data or b"{}", parse_constant=_refuse)
        json.dumps(table, ensure_ascii=False).encode()  # half characters cannot be written
    except (ValueError, RecursionError):
        raise Problem(400, "the body is not valid JSON") from None
    if not isinstance(table, Mapping):
        raise Problem(400, "the body should be a JSON object")
    return read(cls, table, "request")


def check_text(text: str, limits: Limits, name: str = "source") -> None:
    """Refuse a text before any work is done on it."""
    if len(text) > limits.characters:
        raise Problem(
            422,
            f"a {name} of {len(text)} characters is longer than the {limits.characters} "
            "that the explorer takes; shorten it",
        )


def _refuse(name: str) -> None:
    raise ValueError(name)
