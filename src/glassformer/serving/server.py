"""Running the application: sockets, signals, and an end that loses nothing."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn

from glassformer.errors import ConfigError
from glassformer.serving.guard import Guard
from glassformer.serving.receipt import PunctualProtocol
from glassformer.serving.settings import ServerSettings
from glassformer.serving.telemetry import log, log_to_stderr

_BACKLOG = 512
_SWITCH_SECONDS = 0.0005
"""How long the event loop may hold up the model thread; the 5 ms of Python itself are as long as a step."""
_QUIET_SECONDS = 0.3
_LATE_SECONDS = 5.0


def serve(settings: ServerSettings, app: Guard, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; what is running then is finished, a second signal ends at once."""
    settings.check()
    log_to_stderr(settings.log_format)
    sys.setswitchinterval(_SWITCH_SECONDS)
    listeners = open_ports(settings, app)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    announce(f"http://{host}:{listeners[0].getsockname()[1]}")
    if app.metrics_port is not None:
        log("metrics", url=f"http://{host}:{app.metrics_port}/metrics")
    DrainingServer(settings, app).run(listeners)


def open_ports(settings: ServerSettings, app: Guard) -> list[socket.socket]:
    """The socket that clients connect to, and that of the metrics where they have one."""
    listeners = [_listen(settings, settings.port)]
    if settings.metrics_port is not None:
        listeners.append(_listen(settings, settings.metrics_port))
        app.metrics_port = listeners[1].getsockname()[1]
    return listeners


def _listen(settings: ServerSettings, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol is named: asyncio sends small answers at once only where it is sure that this is TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, port))
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"--host {settings.host}: port {port}: {error.strerror}", "glassformer serve --port 0"
        ) from None
    listener.listen(_BACKLOG)
    return listener


class DrainingServer(uvicorn.Server):
    """uvicorn, with the end that a server with a queue needs."""

    def __init__(self, settings: ServerSettings, app: Guard) -> None:
        limits = settings.limits
        protocol = type("Protocol", (PunctualProtocol,), {"limits": limits})
        super().__init__(
            uvicorn.Config(
                app,
                http=protocol,
                ws="none",
                lifespan="on",
                loop="asyncio",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=int(limits.keep_alive_seconds),
                timeout_graceful_shutdown=int(limits.drain_seconds),
                h11_max_incomplete_event_size=limits.max_header_bytes,
                backlog=_BACKLOG,
            )
        )
        self._guard = app

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take signals for as long as the server runs; afterwards the process ends with 0, not by them."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {each: signal.signal(each, self.handle_exit) for each in signals}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a handler's signature
        """The first signal begins the end, the second one is it."""
        if self.should_exit:
            os._exit(1)
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse what waits, finish what runs, then close."""
        log("draining", running=self._guard.service.worker.n_running)
        self._guard.service.worker.drain()
        await self._late_comers()
        await super().shutdown(sockets)
        log("stopped")

    async def _late_comers(self) -> None:
        """Until no request arrives any more: those already on their way are told 503, not cut off."""
        end, seen = self._clock() + _LATE_SECONDS, -1
        while self._clock() < end and seen != self._guard.n_requests:
            seen = self._guard.n_requests
            await asyncio.sleep(_QUIET_SECONDS)

    @staticmethod
    def _clock() -> float:
        return asyncio.get_running_loop().time()
