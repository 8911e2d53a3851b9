"""The life of a server: it opens its port at once, logs no text, and ends without losing anything."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from glassformer.cli import main
from tests.serving.running import COPY, Running, wait_until


class Process:
    """``glassformer serve`` as users start it."""

    def __init__(self, *arguments: object, **environment: str) -> None:
        program = "from glassformer.cli import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, "serve", *map(str, arguments), "--port", "0"],
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": "src", **environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self.url = ""
        self._reading = threading.Thread(target=self._read)
        self._reading.start()
        wait_until(lambda: bool(self.url) or self.process.poll() is not None, 120)

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            if found := re.search(r"serving on (http://\S+)", line):
                self.url = found[1]
        self.process.stderr.close()

    def ready(self) -> None:
        wait_until(lambda: httpx.get(f"{self.url}/readyz", timeout=60).status_code == 200, 120)

    def end(self, seconds: float = 120) -> int:
        code = self.process.wait(seconds)
        self._reading.join(60)
        return code


@contextmanager
def process(*arguments: object, **environment: str) -> Iterator[Process]:
    started = Process(*arguments, **environment)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
        started.end()


@pytest.mark.slow
def test_a_server_from_start_to_end() -> None:
    secret = "zebra42"
    with process(f"copy={COPY}") as server:
        early = httpx.get(f"{server.url}/livez", timeout=60)
        not_yet = httpx.get(f"{server.url}/readyz", timeout=60)
        server.ready()
        answer = httpx.post(f"{server.url}/v1/translate", json={"text": secret}, timeout=60)
        maps = Path(f"/proc/{server.process.pid}/maps").read_text()
        httpx.get(f"{server.url}/{secret}?{secret}\u2028", headers={"User-Agent": secret}, timeout=60)
        server.process.send_signal(signal.SIGTERM)
        code = server.end()

    assert early.status_code == 200
    assert not_yet.status_code in (200, 503)
    if not_yet.status_code == 503:
        assert not_yet.headers["retry-after"] == "2"
    assert answer.json()["translations"][0]["text"] == secret
    assert code == 0
    logged = [line for line in server.lines if line.startswith("{")]
    told = [json.loads(line) for line in logged]
    assert [each["event"] for each in told if each["event"] != "request"][-2:] == ["draining", "stopped"]
    assert sum(each["event"] == "request" for each in told) >= 4
    assert secret not in "".join(logged)
    asked = next(each for each in told if each.get("route") == "/v1/translate")
    assert (asked["texts"], asked["characters"]) == (1, len(secret))
    assert "libtorch" not in maps  # the native engine needs none of it


@pytest.mark.slow
def test_what_cannot_be_served_is_said_and_the_port_stays_open(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    with process(f"broken={tmp_path / 'broken'}") as server:
        wait_until(
            lambda: httpx.get(f"{server.url}/readyz", timeout=60).json()["type"] == "/docs#model_failed", 60
        )
        answer = httpx.post(f"{server.url}/v1/translate", json={"text": "a"}, timeout=60)

    assert answer.status_code == 503
    assert str(tmp_path) not in answer.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "0.0.0.0"], "can be reached from other machines, but there is no key"),
        (["--log-format", "xml"], "--log-format xml: should be json or plain"),
        (["--max-queue", "0"], "max_queue = 0 should be greater than 0"),
        (["--api-key", "short"], "a key has 5 characters"),
        (["--compat", "google"], "--compat google: should be some of deepl, openai"),
        (["--quantize", "int4"], "--quantize int4: should be int8"),
    ],
)
def test_what_is_not_started(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["glassformer", "serve", *arguments])
    with pytest.raises(SystemExit) as end:
        main()

    assert end.value.code == 4
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_second_signal_ends_at_once() -> None:
    with process(f"copy={COPY}") as server:
        server.ready()
        address = server.url.removeprefix("http://")
        host, _, port = address.partition(":")
        head = f"POST /v1/translate HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n"
        with socket.create_connection((host, int(port))) as connection:  # its end keeps the drain waiting
            connection.sendall(f"{head}Content-Length: 9\r\n\r\n".encode() + b"{")
            httpx.get(f"{server.url}/livez", timeout=60)
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda: any('"draining"' in line for line in server.lines))
            server.process.send_signal(signal.SIGTERM)
            code = server.end()

    assert code == 1  # not 0, as after a drain


def test_b29_a_draining_server_says_so() -> None:
    with Running({}) as server:
        server.worker.drain()

        assert server.client.get("/readyz").status_code == 503
        assert server.client.get("/livez").status_code == 200
        answer = server.client.get("/readyz")
        assert (answer.json()["type"], answer.headers["retry-after"]) == ("/docs#draining", "5")
