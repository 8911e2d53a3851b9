"""How a server is run: where it listens, whom it lets in, and what it refuses to do unprotected."""

import hmac
import ipaddress
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from glassformer.errors import ConfigError
from glassformer.serving.limits import Limits

COMPAT = ("deepl", "openai")
"""Whose routes can be imitated."""

SHORTEST_KEY = 22
"""Characters of a key: 22 of base64 hold 128 bits."""

MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+")


class ServerSettings(NamedTuple):
    """What ``glassformer serve`` was told."""

    models: tuple[tuple[str, Path | None], ...]
    """Name and directory of each model, the first one being the default; None is the shipped one."""
    host: str = "127.0.0.1"
    port: int = 8000
    keys: tuple[bytes, ...] = ()
    """Whoever shows one of these is let in; none: everybody is."""
    allowed_hosts: tuple[str, ...] = ()
    """Names beside those of this machine that a client may call the server by."""
    cors: tuple[str, ...] = ()
    """Origins whose pages may call the server."""
    insecure: bool = False
    """Listen beyond this machine without a key."""
    limits: Limits = Limits()
    log_format: str = "json"
    log_text: bool = False
    """Write what clients send into the log."""
    compat: tuple[str, ...] = ("openai",)
    """Whose routes are served beside our own and LibreTranslate's."""
    quantize: str | None = None
    """``int8``: multiply in bytes, however a model is stored."""
    metrics_port: int | None = None
    """Where /metrics is served, without a key; None: on the port of everything else, with one."""

    def check(self) -> None:
        """Refuse what would leave a server open to anybody."""
        if not self.local and not self.keys and not self.insecure:
            raise ConfigError(
                f"--host {self.host} can be reached from other machines, but there is no key",
                "set GLASSFORMER_API_KEY to one made by:  "
                "python -c 'import secrets; print(secrets.token_urlsafe(32))'",
            )
        for key in self.keys:
            if len(key) < SHORTEST_KEY:
                raise ConfigError(
                    f"a key has {len(key)} characters; it needs at least {SHORTEST_KEY}",
                    "python -c 'import secrets; print(secrets.token_urlsafe(32))'",
                )
        for origin in self.cors:
            if not _ORIGIN.fullmatch(origin):
                raise ConfigError(f"--cors {origin}: should be an origin such as https://example.org")
        self._check_choices()
        for name, _ in self.models:
            if not MODEL_NAME.fullmatch(name):
                raise ConfigError(f"{name!r} cannot name a model; use letters, digits, dot, dash, underscore")
        names = [name for name, _ in self.models]
        if len(set(names)) < len(names):
            raise ConfigError(
                f"two models have one name: {', '.join(names)}", "glassformer serve a=DIR b=DIR"
            )

    def _check_choices(self) -> None:
        for imitated in self.compat:
            if imitated not in COMPAT:
                raise ConfigError(f"--compat {imitated}: should be some of {', '.join(COMPAT)}")
        if self.quantize not in (None, "int8"):
            raise ConfigError(f"--quantize {self.quantize}: should be int8")

    @property
    def local(self) -> bool:
        """Whether only programs of this machine can reach the server."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def known_key(self, given: bytes) -> bool:
        """Whether a key is one of ours; takes as long for every key of a length."""
        found = [hmac.compare_digest(key, given) for key in self.keys]
        return any(found)


def read_keys(path: Path) -> tuple[bytes, ...]:
    """The keys of a file, one on each line; empty lines and those that begin with # are none."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith(b"#"))


def named_models(arguments: Iterable[str]) -> tuple[tuple[str, Path | None], ...]:
    """``NAME=DIR`` or ``DIR`` for each model; a run or model directory gives its own name."""
    found: list[tuple[str, Path | None]] = []
    for argument in arguments:
        name, equals, directory = argument.partition("=")
        path = Path(directory if equals else argument)
        own = path.resolve().parent.name if path.name == "model" else path.resolve().name
        found.append((name if equals else own, path))
    return tuple(found) or (("en-fr", None),)
