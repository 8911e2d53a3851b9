"""A server in a thread of this process, on a port of its own."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Self

import httpx

from glassformer.decoding import Translator
from glassformer.serving.app import create_app
from glassformer.serving.limits import Limits
from glassformer.serving.server import DrainingServer, open_ports
from glassformer.serving.settings import ServerSettings
from glassformer.serving.worker import Worker
from tests.unit.decoding.texts import language_model, text_encoder, translator

COPY = Path(__file__).parents[1] / "data" / "models" / "copy"


PATIENT = {"deadline_seconds": 120.0}
"""What is asked of a server that may have to share its machine."""


@cache
def copier(engine: str = "pytorch") -> Translator:
    """A translator that gives back what it is given."""
    return Translator.from_pretrained(COPY, engine=engine)  # type: ignore[arg-type]  # one of the choices


@cache
def tiny_tools() -> dict[str, Any]:
    """One small random model of each kind."""
    return {
        "en-fr": translator(),
        "lm": language_model(),
        "masked": text_encoder(),
        "classes": text_encoder(head="classifier"),
    }


class Running:
    """A server that answers until it is left."""

    def __init__(self, tools: Mapping[str, Any] | None = None, **settings: Any) -> None:
        limits = settings.pop("limits", {})
        models = settings.pop("models", (("en-fr", None),))
        self.settings = ServerSettings(models, port=0, limits=Limits(**PATIENT | limits), **settings)
        self.app = create_app(self.settings, tools=tools)
        self._listeners = open_ports(self.settings, self.app)
        self.port: int = self._listeners[0].getsockname()[1]
        self.server = DrainingServer(self.settings, self.app)
        self._thread = threading.Thread(target=self.server.run, args=(self._listeners,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def worker(self) -> Worker:
        return self.app.service.worker

    def __enter__(self) -> Self:
        self._thread.start()
        wait_until(lambda: self.server.started)
        self.client = httpx.Client(base_url=self.url, timeout=120)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.server.should_exit = True
        self._thread.join(60)
        self.worker.join(60)
        assert not self._thread.is_alive()
        assert not self.worker.is_alive()

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.client.post(path, json=body)

    def text(self, text: str, **body: Any) -> str:
        """The translation of a text."""
        reply = self.post("/v1/translate", text=text, **body)
        assert reply.status_code == 200, reply.text
        found: str = reply.json()["translations"][0]["text"]
        return found

    @contextlib.contextmanager
    def socket(self) -> Iterator[socket.socket]:
        """A bare connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=120) as connection:
            yield connection

    def raw(self, data: bytes) -> tuple[int, bytes]:
        """Status and body of the answer to bytes sent as they are; 0 if there was none."""
        with self.socket() as connection:
            connection.sendall(data)
            return answer(connection)

    def head(self, *lines: str, host: str | None = None) -> bytes:
        """A request line and headers."""
        first, *others = lines
        return "\r\n".join([first, f"Host: {host or f'127.0.0.1:{self.port}'}", *others, "", ""]).encode(
            "latin-1"
        )


def answer(connection: socket.socket) -> tuple[int, bytes]:
    """What comes until the other side closes or an answer is whole."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while chunk := connection.recv(65536):
            data += chunk
            head, _, body = data.partition(b"\r\n\r\n")
            length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            if length and len(body) >= int(length[0].split(b":")[1]):
                break
    head, _, body = data.partition(b"\r\n\r\n")
    return (int(head.split()[1]) if head else 0), body


def wait_until(there: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def events(text: str) -> list[tuple[str, Any]]:
    """Server-sent events: name and data; comments are left out."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if "data" in fields:
            data = fields["data"]
            found.append((fields.get("event", ""), data if data == "[DONE]" else json.loads(data)))
    return found
