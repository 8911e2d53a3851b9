"""What the explorer refuses before it works: sizes, hosts, origins, bodies, and texts that mean harm."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from glassformer.errors import ConfigError
from glassformer.explorer import create_app
from glassformer.explorer.answers import Problem
from glassformer.explorer.guard import Access, Guard
from glassformer.explorer.limits import Limits
from glassformer.explorer.running import Place, explore, is_loopback
from glassformer.explorer.worker import Worker
from tests.explorer.api.asking import get, traced

TOKEN = "abcdefghijklmnop1234"

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "';--",
    '"}{"',
    "\\u003cscript\\u003e",
    "{{7*7}} ${7*7} #{7*7}",
    "../../../../etc/passwd",
    "%00%0a%0d",
    "\x00\x01\x02 nul",
    "\x1b[31mred\x1b[0m",
    "a\u202eb\u202c reversed",
    "مرحبا بالعالم",
    "שלום עולם",
    "日本語 の テキスト",
    "e\u0301\u0302\u0303" * 20,
    "👨‍👩‍👧‍👦 🇫🇷 👩🏽‍🚀",
    "\u200b\u200c\u200d\ufeff zero width",
    "Ａ ｆｕｌｌ ｗｉｄｔｈ",
    "<pad> <s> </s> <unk> <mask> [MASK] >>fr<< <0x0A> ▁",
    "\t tab \r\n line \u2028 separator \u2029",
    "a" * 200,
    "ﷺ ﷽",
    "𝕳𝖊𝖑𝖑𝖔",
    "\ud7ff\ue000\uffff",
    "NaN Infinity -0 1e999",
    "=cmd|' /C calc'!A0",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "x" + "\u0300" * 100,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_comes_back_as_itself(client: TestClient, text: str) -> None:
    told = client.post("/api/tokenize", json={"run": "ed", "text": text})
    assert told.status_code == 200
    assert told.json()["text"] == text
    words = told.json()["normalised"]
    for run in ("ed", "cls"):
        reply = client.post(
            "/api/traces", json={"run": run, "source": text, "target": text if run == "ed" else None}
        )
        if reply.status_code == 422:  # blank, or too long for a model of 40 tokens
            assert reply.json()["detail"].split()[0] in ("the", "a")
            continue
        meta = reply.json()["meta"]
        units = words.encode("utf-16-le")
        for token in meta["tokens"]["source"]:
            shown = units[2 * token["start"] : 2 * token["end"]].decode("utf-16-le", "replace")
            assert token["bytes"] or shown == token["text"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 400, "'source' is required"),
        ({"source": 3}, 400, "source = 3"),
        ({"source": "x", "sourse": "y"}, 400, "did you mean 'source'"),
        ({"source": "x", "run": "none"}, 404, "no run 'none'"),
        ({"source": "x", "checkpoint": "step-9"}, 404, "no checkpoint"),
        ({"source": ""}, 422, "blank"),
        ({"source": "x" * 20_001}, 422, "20001 characters"),
        ({"source": "cat " * 600}, 422, "longer than the 512"),
        ({"source": "x", "target": "cat " * 600}, 422, "a target of"),
        ({"source": "x", "hypothesis": 99}, 422, "hypothesis 99"),
        ({"source": "x", "decode": {"beam": 17}}, 422, "beam = 17 is more than the 16"),
        ({"source": "x", "decode": {"beam": 0}}, 400, "beam = 0"),
        ({"source": "x", "decode": {"bean": 4}}, 400, "did you mean 'beam'"),
        ({"source": "x", "decode": {"max_length": 100_000}}, 422, "max_length = 100000"),
        ({"source": "x", "decode": {"temperature": "hot"}}, 400, "temperature"),
        ({"source": "x", "interventions": [{"type": "mute", "kind": "cross"}] * 65}, 422, "65 interventions"),
        (
            {"source": "x", "interventions": [{"type": "mute", "kind": "cross", "layer": 99}]},
            422,
            "no layer = 99",
        ),
        ({"source": "x", "interventions": [{"type": "none"}]}, 400, "none"),
        ({"source": "x", "interventions": "mute"}, 400, "interventions"),
        ({"source": "x", "run": "lm", "interventions": [{"type": "mute", "kind": "enc"}]}, 422, "it has dec"),
        ({"source": "x", "run": "cls", "target": "y"}, 422, "no output text"),
        ({"source": "x", "interventions": [{"type": "swap", "word": 0, "text": "y" * 20_001}]}, 422, "20001"),
    ],
)
def test_a_wrong_question_is_refused_in_words(
    client: TestClient, body: dict[str, Any], status: int, words: str
) -> None:
    reply = client.post("/api/traces", json=body)

    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    assert words in reply.json()["detail"]


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b'{"source": NaN}', "application/json", 400),
        (b'{"source": "\\ud800"}', "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b'{"source": "x"}', "text/plain", 415),
        (b"source=x", "application/x-www-form-urlencoded", 415),
        (b'{"source": "' + b"x" * (1 << 20) + b'"}', "application/json", 413),
    ],
)
def test_a_wrong_body_is_refused(client: TestClient, content: bytes, kind: str, status: int) -> None:
    reply = client.post("/api/traces", content=content, headers={"content-type": kind})

    assert reply.status_code == status
    assert reply.json()["status"] == status


def test_an_unknown_method_is_a_problem_too(client: TestClient) -> None:
    reply = client.put("/api/traces")

    assert reply.status_code == 405 and reply.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:7860", ""])
def test_only_its_own_name_is_answered(client: TestClient, host: str) -> None:
    """A page elsewhere may make its own name point here; it then sends that name."""
    assert client.get("/api/about", headers={"host": host}).status_code == 403
    assert client.get("/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:7860", "localhost:7860", "[::1]:7860", "LOCALHOST:7860"])
def test_names_of_this_machine_are_its_own(client: TestClient, host: str) -> None:
    assert client.get("/api/about", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost:7861"]
)
def test_pages_of_other_origins_may_not_ask(client: TestClient, origin: str) -> None:
    reply = client.post("/api/tokenize", json={"text": "x"}, headers={"origin": origin})

    assert reply.status_code == 403
    assert (
        client.post(
            "/api/tokenize", json={"text": "x"}, headers={"origin": "http://127.0.0.1:7860"}
        ).status_code
        == 200
    )
    cross = {"sec-fetch-site": "cross-site"}
    assert client.post("/api/tokenize", json={"text": "x"}, headers=cross).status_code == 403
    assert client.get("/api/runs", headers=cross).status_code == 403
    assert client.get("/", headers=cross).status_code == 200  # a link from elsewhere may lead here


def test_every_answer_carries_the_policy(client: TestClient) -> None:
    for path in ("/", "/api/about", "/api/none", "/none.js"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "require-trusted-types-for 'script'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


def test_files_have_tags_and_nothing_outside_has_a_path(client: TestClient) -> None:
    page = client.get("/")
    again = client.get("/", headers={"if-none-match": page.headers["etag"]})

    assert (
        page.headers["content-type"].startswith("text/html") and page.headers["cache-control"] == "no-cache"
    )
    assert again.status_code == 304 and again.content == b""
    assert client.get("/main.js").headers["content-type"].startswith("text/javascript")
    for path in ("/app.py", "/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "//etc/passwd", "/README.md"):
        assert client.get(path).status_code in (403, 404)


def test_with_a_token_only_who_has_it_may_ask(models: Path) -> None:
    app = Guard(create_app([models / "ed"]), Access(("box.local",), TOKEN))
    with TestClient(app, base_url="http://box.local:7860") as client:
        assert client.get("/").status_code == 200  # the page itself knows nothing
        reply = client.get("/api/about")
        assert reply.status_code == 401 and reply.headers["www-authenticate"] == "Bearer"
        assert client.get("/api/about", headers={"authorization": "Bearer wrong"}).status_code == 401
        assert client.get("/api/about", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_other_hosts_need_a_token_and_a_port_must_be_free() -> None:
    with pytest.raises(ConfigError, match="set a token"):
        explore([], Place(host="0.0.0.0"), print)
    with pytest.raises(ConfigError, match="at least 16"):
        explore([], Place(token="short"), print)
    assert is_loopback("127.0.0.1") and is_loopback("::1") and is_loopback("localhost")
    assert not is_loopback("0.0.0.0") and not is_loopback("example.org")


def test_traces_that_do_not_fit_any_more_are_dropped_and_can_be_asked_again(models: Path) -> None:
    app = create_app([models / "ed"], limits=Limits(cache_bytes=150_000))
    with TestClient(app) as client:
        metas = [traced(client, source=f"The cat sat on {n} mats.") for n in range(6)]
        assert metas[0]["bytes"] < 150_000
        assert client.get(f"/api/traces/{metas[0]['id']}/heads").status_code == 410
        assert client.get(f"/api/traces/{metas[-1]['id']}/heads").status_code == 200
        assert client.post("/api/traces", json=metas[0]["request"]).json()["id"] == metas[0]["id"]


def test_a_full_line_before_the_model_is_said() -> None:
    worker, gate = Worker(waiting=2), threading.Event()

    async def ask() -> None:
        waiting = [asyncio.create_task(worker.run(gate.wait)) for _ in range(2)]
        await asyncio.sleep(0.01)
        with pytest.raises(Problem, match="2 requests wait"):
            await worker.run(lambda: None)
        gate.set()
        await asyncio.gather(*waiting)
        assert await worker.run(lambda: 3) == 3

    asyncio.run(ask())
    worker.close()


def test_a_broken_model_is_listed_with_its_reason(models: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for path in (models / "ed").iterdir():
        (broken / path.name).write_bytes(path.read_bytes())
    (broken / "config.json").write_text("{}", encoding="utf-8")
    with TestClient(create_app([models / "ed", broken])) as client:
        fine, wrong = get(client, "runs")["runs"]
        assert fine["error"] is None and "vocab_size" in wrong["error"]
        assert client.post("/api/traces", json={"run": "broken", "source": "x"}).status_code == 422
        assert traced(client)["run"] == "ed"


def test_nothing_that_is_not_json_is_ever_sent(client: TestClient) -> None:
    meta = traced(client)
    text = client.get(f"/api/traces/{meta['id']}/cell/dec.0.0/0/3").text

    assert json.loads(text, parse_constant=lambda name: pytest.fail(name))["score"] is None
