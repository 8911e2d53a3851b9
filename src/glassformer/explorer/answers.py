"""What the explorer answers: JSON, numbers, or a problem that says what is wrong."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal
from uuid import uuid4

import numpy as np
import torch
from starlette.responses import Response
from torch import Tensor

from glassformer.errors import ConfigError, GlassformerError

Dtype = Literal["f16", "f32", "u8"]
_TYPES: dict[Dtype, Any] = {"f16": np.dtype("<f2"), "f32": np.dtype("<f4"), "u8": np.dtype("u1")}

FOREVER = "private, max-age=31536000, immutable"


class Problem(Exception):
    """A request that cannot be answered, with the status that says so."""

    def __init__(self, status: int, detail: str, hint: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.hint = status, detail, hint


class Missing(Problem):
    """There is no such thing."""

    def __init__(self, detail: str) -> None:
        super().__init__(404, detail)


@dataclass(frozen=True, slots=True)
class Json:
    """Plain data."""

    data: Any
    forever: bool = False
    """Whether the same path always has the same answer."""

    def content(self) -> bytes:
        """As it is sent: JSON has no infinities, null stands for them."""
        return json.dumps(
            finite(self.data), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()


@dataclass(frozen=True, slots=True)
class Binary:
    """Numbers in C order, little-endian."""

    tensor: Tensor
    dtype: Dtype = "f32"
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def shape(self) -> list[int]:
        """The shape, for the header."""
        return list(self.tensor.shape)

    def content(self) -> bytes:
        """As it is sent. Half precision keeps what is too small for it as its smallest number."""
        values = self.tensor.detach().to(torch.uint8 if self.dtype == "u8" else torch.float32).cpu().numpy()
        return np.ascontiguousarray(values.astype(_TYPES[self.dtype])).tobytes()


Answer = Json | Binary


def response(answer: Answer, status: int = 200) -> Response:
    """An answer as HTTP."""
    if isinstance(answer, Json):
        headers = {"Cache-Control": FOREVER if answer.forever else "no-store"}
        return Response(answer.content(), status, headers, "application/json")
    headers = {
        "Cache-Control": FOREVER,
        "X-Dtype": answer.dtype,
        "X-Shape": ",".join(map(str, answer.shape)),
        **answer.headers,
    }
    return Response(answer.content(), status, headers, "application/octet-stream")


def problem_response(problem: Problem) -> Response:
    """A problem as RFC 9457 has it."""
    title = HTTPStatus(problem.status).phrase
    body = {
        "type": "about:blank",
        "title": title,
        "status": problem.status,
        "detail": problem.detail,
        "hint": problem.hint,
        "request_id": uuid4().hex[:8],
    }
    headers = {"Cache-Control": "no-store"}
    if problem.status == 429:
        headers["Retry-After"] = "1"
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    content = json.dumps(body, ensure_ascii=False).encode(errors="replace")
    return Response(content, problem.status, headers, "application/problem+json")


def problem_of(error: GlassformerError) -> Problem:
    """A mistake of the user, as a problem."""
    status = 400 if isinstance(error, ConfigError) else 422
    return Problem(status, str(error), error.hint)


def finite(value: Any) -> Any:
    """The same without NaN and infinities, which become None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return value
