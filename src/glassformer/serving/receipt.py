"""HTTP/1.1 by uvicorn's own protocol, with what it lacks: a time by which a request has to have arrived."""

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from glassformer.serving.limits import Limits
from glassformer.serving.problems import Problem


class Gathering(asyncio.Transport):
    """A transport that sends what is written in one go at once: the head of an answer with its body."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport, self._loop = transport, loop
        self._parts: list[bytes | bytearray | memoryview] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send soon."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def _flush(self) -> None:
        if self._parts:
            parts, self._parts = self._parts, []
            self._transport.write(b"".join(parts))

    def close(self) -> None:
        """Send what was written, and close."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close, whatever was written."""
        self._parts.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether nothing more is sent."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """What the transport knows about its connection."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Take nothing more from the connection."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Go on taking."""
        self._transport.resume_reading()


class PunctualProtocol(H11Protocol):
    """Closes a connection whose request trickles in, and one that is too many."""

    limits = Limits()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for headers."""
        super().connection_made(Gathering(transport, self.loop))
        self._receipt: asyncio.TimerHandle | None = None
        if len(self.connections) > self.limits.max_connections:
            self.connections.discard(self)
            transport.abort()
            return
        self._expect(self.limits.header_seconds)

    def data_received(self, data: bytes) -> None:
        """Read on; the first byte of a request starts its clock, later ones do not start it again."""
        if self._receipt is None and self._waiting_for_request():
            self._expect(self.limits.header_seconds)
        before = self.cycle
        super().data_received(data)
        if self.transport.is_closing():
            self._arrived()
        elif self.cycle is not before and self.cycle.more_body:  # headers are here, the body is not
            self._expect(self.limits.request_seconds)
        elif self._has_arrived():
            self._arrived()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._arrived()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """What could not be read as HTTP; ``msg`` is uvicorn's."""
        too_large = self.conn.their_state is h11.ERROR and self._buffered() > self.limits.max_header_bytes
        if too_large:
            detail = f"request line and headers have more than {self.limits.max_header_bytes} bytes"
            self._refuse(Problem("headers_too_large", detail))
        else:
            self._refuse(Problem("invalid_request", f"this is no HTTP/1.1 request: {msg}"))

    def _buffered(self) -> int:
        return len(self.conn.trailing_data[0])

    def _has_arrived(self) -> bool:
        """Whether all of a request is here, and nothing of the next one."""
        state = self.conn.their_state
        return state is not h11.SEND_BODY and not (state is h11.IDLE and self._buffered())

    def _waiting_for_request(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _expect(self, seconds: float) -> None:
        self._arrived()
        self._receipt = self.loop.call_later(seconds, self._too_late)

    def _arrived(self) -> None:
        if self._receipt is not None:
            self._receipt.cancel()
            self._receipt = None

    def _too_late(self) -> None:
        self._receipt = None
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # whoever waits for the body hears that it will not come
            self.cycle.message_event.set()
        self._refuse(Problem("timeout", "the request did not arrive in time; send it in one go"))

    def _refuse(self, problem: Problem) -> None:
        """Answer without asking the application, if an answer can still be begun, and close."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            for event in _answer(problem):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def _answer(problem: Problem) -> list[Any]:
    body = json.dumps(problem.to_dict("-")).encode()
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    reason = STATUS_PHRASES[problem.status]
    start = h11.Response(status_code=problem.status, headers=headers, reason=reason)
    return [start, h11.Data(data=body), h11.EndOfMessage()]
