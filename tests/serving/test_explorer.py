"""The explorer beside the API, on one port."""

import signal

import httpx
import pytest

from tests.serving.running import COPY
from tests.serving.test_life import process

pytest.importorskip("glassformer.explorer.app", reason="the explorer is not installed")


@pytest.mark.slow
def test_both_answer() -> None:
    with process(f"copy={COPY}", "--explorer") as server:
        server.ready()
        page = httpx.get(f"{server.url}/", timeout=60)
        answer = httpx.post(f"{server.url}/v1/translate", json={"text": "abcd"}, timeout=60)
        foreign = httpx.get(f"{server.url}/", headers={"Host": "evil.com"}, timeout=60)
        server.process.send_signal(signal.SIGTERM)
        code = server.end()

    assert code == 0
    assert (page.status_code, answer.status_code, foreign.status_code) == (200, 200, 403)
    assert "text/html" in page.headers["content-type"]
    assert "script-src" in page.headers["content-security-policy"]
