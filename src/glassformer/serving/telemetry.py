"""What a server tells about itself: metrics for Prometheus, and a log line per request without its text."""

import hashlib
import json
import logging
import secrets
import sys
import time
from collections.abc import Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_TOKENS = (16, 64, 256, 1024, 2048, 4096, 8192, 16384)


class Metrics:
    """Counters in a registry of their own; no label holds an address, a key or a text."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "glassformer_requests_total", "Requests answered.", ["route", "code"], registry=registry
        )
        self.seconds = Histogram(
            "glassformer_request_seconds",
            "Time from the first byte of a request to the last of its answer.",
            ["route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.queue_depth = Gauge("glassformer_queue_depth", "Requests that wait.", registry=registry)
        self.running = Gauge("glassformer_running", "Sentences being decoded.", registry=registry)
        self.batch_size = Histogram(
            "glassformer_batch_size", "Sentences side by side in a step.", buckets=_SIZES, registry=registry
        )
        self.batch_tokens = Histogram(
            "glassformer_batch_tokens",
            "Input tokens times hypotheses side by side in a step.",
            buckets=_TOKENS,
            registry=registry,
        )
        self.tokens = Counter(
            "glassformer_tokens_total", "Tokens read and written.", ["dir"], registry=registry
        )
        self.model_loaded = Gauge(
            "glassformer_model_loaded", "1 once a model can be asked.", ["model"], registry=registry
        )

    def text(self) -> bytes:
        """All of them in Prometheus' format."""
        return generate_latest(self._registry)


class JsonLines(logging.Formatter):
    """A record as one line of JSON; whatever is in it, it stays one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        fields = getattr(record, "fields", {})
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **fields,
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)  # ASCII: U+2028 and other line ends are escaped too


class PlainLines(logging.Formatter):
    """A record for people to read, controls escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and a traceback below it where there is one."""
        fields = " ".join(f"{name}={value}" for name, value in getattr(record, "fields", {}).items())
        line = f"{self.formatTime(record)} {record.levelname.lower()} {record.getMessage()} {fields}".rstrip()
        escaped = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in line)
        return escaped + ("\n" + self.formatException(record.exc_info) if record.exc_info else "")


LOG = logging.getLogger("glassformer.serving")


def log_to_stderr(kind: str) -> None:
    """Send our lines, and warnings of uvicorn, to standard error; uvicorn's access log stays silent."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if kind == "json" else PlainLines())
    for name, level in (("glassformer.serving", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    logging.getLogger("uvicorn.access").handlers = []
    logging.getLogger("uvicorn.access").propagate = False


_KEY = secrets.token_bytes(32)
"""Of the digests: they tell within one process whether two texts are the same, and nobody what they say."""


def about_texts(texts: Sequence[str], *, whole: bool) -> dict[str, Any]:
    """What the log says about texts: how many, how long, a digest; all of them where that is wanted."""
    if not texts:
        return {}
    digest = hashlib.blake2b("\0".join(texts).encode(errors="replace"), key=_KEY, digest_size=8).hexdigest()
    found = {"texts": len(texts), "characters": sum(map(len, texts)), "digest": digest}
    return {**found, "text": list(texts)} if whole else found


def log(event: str, *, level: int = logging.INFO, exc_info: Any = None, **fields: object) -> None:
    """One line; fields are numbers and words of ours, never what a client wrote."""
    LOG.log(level, event, exc_info=exc_info, extra={"fields": fields})
