"""Serving the explorer from this machine: a port, a guard, an address to open."""

import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from glassformer.errors import ConfigError, GlassformerError
from glassformer.explorer.app import create_app
from glassformer.explorer.guard import Access, Guard

PORT = 7860
_SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Place:
    """Where the explorer listens, and who may ask there."""

    host: str = "127.0.0.1"
    port: int | None = None
    """Unset: the usual one, or any that is free."""
    token: str | None = None
    names: tuple[str, ...] = ()
    """Names of this machine by which browsers may call it."""


def explore(models: Sequence[Path], place: Place, opened: Callable[[str], None]) -> None:
    """Serve until interrupted; ``opened`` is told the address once it can be asked."""
    import uvicorn

    _check(place)
    with _socket(place) as listening:
        host, port = listening.getsockname()[:2]
        app = create_app(models)
        access = Access((_shown(host), *place.names), place.token)
        config = uvicorn.Config(
            Guard(app, access),
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=2,
        )
        opened(_address(host, port, place.token))
        uvicorn.Server(config).run(sockets=[listening])


def is_loopback(host: str) -> bool:
    """Whether a host is this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check(place: Place) -> None:
    if not is_loopback(place.host) and place.token is None:
        raise ConfigError(
            f"--host {place.host}: others could reach this, and whoever can may read the models; set a token",
            f"glassformer explore --host {place.host} --token $(openssl rand -hex 16)",
        )
    if place.token is not None and not (
        len(place.token) >= _SHORTEST_TOKEN and place.token.isascii() and place.token.isalnum()
    ):
        raise ConfigError(f"--token: needs at least {_SHORTEST_TOKEN} letters and digits")


def _socket(place: Place) -> socket.socket:
    """A listening socket; the usual port gives way to a free one, a wanted port does not."""
    wanted = PORT if place.port is None else place.port
    try:
        return _bound(place.host, wanted)
    except OSError as error:
        if place.port is None:
            return _bound(place.host, 0)
        raise GlassformerError(
            f"port {wanted} of {place.host} cannot be used ({error.strerror})", "glassformer explore --port 0"
        ) from None


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(64)
    except OSError:
        found.close()
        raise
    return found


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _address(host: str, port: int, token: str | None) -> str:
    own = "127.0.0.1" if host == "0.0.0.0" else _shown(host)  # noqa: S104 - compared, not bound
    return f"http://{own}:{port}/" + ("" if token is None else f"#token={token}")
