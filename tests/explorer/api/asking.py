"""Asking the explorer and reading its numbers."""

from typing import Any

import numpy as np
import torch
from fastapi.testclient import TestClient

TYPES = {"f16": "<f2", "f32": "<f4", "u8": "u1"}


def traced(
    client: TestClient, run: str = "ed", source: str = "The cat sat on the mat.", **more: Any
) -> dict[str, Any]:
    """The meta of a trace."""
    decode = {} if run in ("mlm", "cls", "emb") else {"decode": {"max_length": 6}}
    reply = client.post("/api/traces", json={"run": run, "source": source, **decode, **more})
    assert reply.status_code in (200, 201), reply.text
    meta: dict[str, Any] = reply.json()["meta"]
    assert meta["id"] == reply.json()["id"]
    return meta


def get(client: TestClient, path: str, status: int = 200) -> Any:
    """The JSON of a path."""
    reply = client.get(f"/api/{path}")
    assert reply.status_code == status, (path, reply.status_code, reply.text[:300])
    return reply.json()


def numbers(client: TestClient, path: str) -> torch.Tensor:
    """The tensor of a path, as its headers describe it."""
    reply = client.get(f"/api/{path}")
    assert reply.status_code == 200, (path, reply.status_code, reply.text[:300])
    assert reply.headers["content-type"] == "application/octet-stream"
    shape = [int(part) for part in reply.headers["x-shape"].split(",")]
    data = np.frombuffer(reply.content, dtype=TYPES[reply.headers["x-dtype"]]).reshape(shape)
    return torch.from_numpy(data.astype(np.float32))
