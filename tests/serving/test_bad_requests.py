"""Bad input over HTTP gets the answer that it deserves, and never a 500: B1 to B39."""

import json
import socket
import time
from typing import Any

import pytest

from glassformer.serving.limits import Limits
from glassformer.serving.problems import Problem
from glassformer.serving.strict_json import read_json
from tests.serving.running import Running, wait_until

JSON = {"Content-Type": "application/json"}
GOOD = b'{"text": "The cat", "max_tokens": 3}'


def translate(server: Running, content: bytes, **headers: str) -> Any:
    return server.client.post("/v1/translate", content=content, headers=JSON | headers)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        pytest.param(b"", 400, id="B1 empty"),
        pytest.param(b"not json", 400, id="B2 no JSON"),
        pytest.param(b'{"text": "a', 400, id="B3 truncated"),
        pytest.param(b"\xef\xbb\xbf" + GOOD, 200, id="B4 byte order mark"),
        pytest.param(b"\xff\xfe", 400, id="B5 no UTF-8"),
        pytest.param(b'{"text": NaN}', 400, id="B6 NaN"),
        pytest.param(b'{"text": -Infinity}', 400, id="B6 Infinity"),
        pytest.param(b'{"text": "a", "alpha": 1e999}', 422, id="B7 infinite"),
        pytest.param(b'{"text": "a", "text": "b"}', 400, id="B8 duplicate"),
        pytest.param(b'{"text": "a", "sampling": {"seed": 1, "seed": 2}}', 400, id="B8 duplicate within"),
        pytest.param(b'{"text": ' + b"1" * 5000 + b"}", 400, id="B10 digits"),
        pytest.param(b'{"text": 1.' + b"1" * 5000 + b"}", 400, id="B10 digits of a float"),
        pytest.param(b'{"text": 5}', 422, id="B11 number"),
        pytest.param(b'{"text": null}', 422, id="B11 null"),
        pytest.param(b'{"text": {"a": 1}}', 422, id="B11 object"),
        pytest.param(b'{"text": ["a", 1]}', 422, id="B11 mixed"),
        pytest.param(b"[1]", 400, id="a list"),
        pytest.param(b'"text"', 400, id="a string"),
        pytest.param(b'{"text": "\\ud800"}', 400, id="B49 half a character"),
        pytest.param(b'{"\\udfff": 1}', 400, id="half a character in a key"),
        pytest.param(json.dumps({"text": ["a"] * 65}).encode(), 413, id="B14 65 texts"),
        pytest.param(b'{"text": "' + b"a" * 262144 + b'"}', 413, id="B15 body"),
        pytest.param(b'{"text": "a" /* comment */}', 400, id="comment"),
        pytest.param(b"{'text': 'a'}", 400, id="quotes"),
        pytest.param(b'{"text": "a",}', 400, id="comma"),
        pytest.param(b'{"text": "a\nb"}', 400, id="raw line end"),
    ],
)
def test_bodies(server: Running, content: bytes, status: int) -> None:
    reply = translate(server, content)

    assert reply.status_code == status, reply.text
    if status >= 400:
        assert_problem(reply, status)


def assert_problem(reply: Any, status: int) -> None:
    told = reply.json()
    assert reply.headers["content-type"] == "application/problem+json"
    assert told["status"] == status and told["request_id"] == reply.headers["x-request-id"]
    assert set(told) <= {"type", "title", "status", "detail", "hint", "request_id"}
    assert "Traceback" not in reply.text and "/src/" not in reply.text


def test_b9_depth_is_refused_at_once(server: Running) -> None:
    content = b'{"text": ' + b"[" * 100_000
    assert translate(server, content).status_code == 400

    start = time.thread_time()  # of this thread alone: the machine may be busy
    with pytest.raises(Problem):
        read_json(content, Limits())
    assert time.thread_time() - start < 0.05


def test_b11_the_field_is_named(server: Running) -> None:
    told = translate(server, b'{"text": 5}').json()

    assert told["detail"] == "text: should be a valid string; text: should be a valid list"


def test_b12_a_misspelt_key_is_suggested(server: Running) -> None:
    wrong = server.post("/v1/translate", text="a", temprature=1).json()["detail"]
    nearly = server.post("/v1/translate", text="a", strem=True).json()["detail"]

    assert wrong == "unknown key 'temprature'; did you mean 'temperature' inside 'sampling'?"
    assert nearly == "unknown key 'strem'; did you mean 'stream'?"


def test_b13_no_texts_no_translations(server: Running) -> None:
    reply = server.post("/v1/translate", text=[])

    assert (reply.status_code, reply.json()["translations"]) == (200, [])


def test_b15_chunked_bodies_are_counted_too(server: Running) -> None:
    def chunks() -> Any:
        for _ in range(300):
            yield b" " * 1024

    reply = server.client.post("/v1/translate", content=chunks(), headers=JSON)

    assert reply.status_code == 413


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_b16_only_json_is_read(server: Running, kind: str) -> None:
    reply = server.client.post("/v1/translate", content=GOOD, headers={"Content-Type": kind})

    assert reply.status_code == 415


def test_b17_nothing_compressed_is_read(server: Running) -> None:
    assert translate(server, GOOD, **{"Content-Encoding": "gzip"}).status_code == 415


def test_b18_a_wrong_method_is_told_the_right_one(server: Running) -> None:
    reply = server.client.get("/v1/translate")

    assert (reply.status_code, reply.headers["allow"]) == (405, "POST")
    assert_problem(reply, 405)


STRANGERS = [
    "evil.com",
    "evil.com:{port}",
    "localhost.evil.com:{port}",
    "127.0.0.1.nip.io:{port}",
    "127.0.0.1",
    "localhost",
    "127.0.0.1:1",
    "localhost:80",
    "LOCALHOST:{port}",
    "localhost.:{port}",
    "127.0.0.1:{port}.",
    "127.1:{port}",
    "0:{port}",
    "0.0.0.0:{port}",
    "2130706433:{port}",
    "0x7f000001:{port}",
    "[::]:{port}",
    "[::ffff:127.0.0.1]:{port}",
    "::1:{port}",
    "user@127.0.0.1:{port}",
    "127.0.0.1:{port}@evil.com",
    "127.0.0.1:{port},evil.com",
    "127.0.0.1:0{port}",
    "127.0.0.1:{port}/",
    "127.0.0.1:{port}#",
    "http://127.0.0.1:{port}",
    "-",
]
OURS = ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}"]


@pytest.mark.parametrize(
    ("host", "status"), [*((each, 200) for each in OURS), *((each, 403) for each in STRANGERS)]
)
def test_b19_only_our_own_names_are_answered(server: Running, host: str, status: int) -> None:
    head = server.head("GET /livez HTTP/1.1", "Connection: close", host=host.format(port=server.port))

    assert server.raw(head)[0] == status


def test_b19_two_hosts_or_none_are_refused(server: Running) -> None:
    own = f"Host: 127.0.0.1:{server.port}"
    two = f"GET /livez HTTP/1.1\r\n{own}\r\n{own}\r\n\r\n".encode()

    assert server.raw(two)[0] in (400, 403)
    assert server.raw(b"GET /livez HTTP/1.1\r\n\r\n")[0] in (400, 403)
    assert server.raw(b"GET /livez HTTP/1.0\r\n\r\n")[0] in (400, 403)


def test_an_absolute_target_is_refused(server: Running) -> None:
    assert server.raw(server.head("GET http://evil.com/livez HTTP/1.1", "Connection: close"))[0] == 400


@pytest.mark.parametrize("origin", ["https://evil.com", "null", "http://localhost.evil.com", "file://"])
def test_b20_pages_of_others_are_refused(server: Running, origin: str) -> None:
    assert translate(server, GOOD, Origin=origin).status_code == 403
    assert translate(server, GOOD, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_own_pages_may_ask(server: Running) -> None:
    assert translate(server, GOOD, Origin=server.url).status_code == 200


def test_no_answer_invites_other_origins(server: Running) -> None:
    replies = [
        server.client.options("/v1/translate", headers={"Origin": server.url}),
        server.client.get("/livez", headers={"Origin": server.url}),
        translate(server, GOOD),
    ]

    assert not any(name.startswith("access-control") for reply in replies for name in reply.headers)


def test_b21_two_lengths_are_refused(server: Running) -> None:
    lines = ("Content-Type: application/json", "Content-Length: 5", "Content-Length: 6")

    assert server.raw(server.head("POST /v1/translate HTTP/1.1", *lines) + b"{}    ")[0] == 400


def test_length_and_chunks_together_do_not_hide_a_request(server: Running) -> None:
    lines = ("Content-Type: application/json", "Content-Length: 4", "Transfer-Encoding: chunked")
    smuggled = b"0\r\n\r\nGET /livez HTTP/1.1\r\nHost: x\r\n\r\n"

    assert server.raw(server.head("POST /v1/translate HTTP/1.1", *lines) + smuggled)[0] == 400


def test_b22_large_headers_are_refused(server: Running) -> None:
    whole = server.raw(server.head("GET /livez HTTP/1.1", "X-A: " + "a" * 20480))[0]
    endless = server.raw(
        f"GET /livez HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-A: {'a' * 40000}".encode()
    )[0]

    assert (whole, endless) == (431, 431)


def test_b23_a_trickling_request_is_ended() -> None:
    with Running({}, limits={"header_seconds": 0.3, "request_seconds": 0.5}) as server:
        with server.socket() as connection:
            connection.sendall(b"GET /livez HT")
            wait_until(lambda: refused(connection))
        with server.socket() as connection:  # the headers come, the body does not
            head = server.head(
                "POST /v1/translate HTTP/1.1", "Content-Type: application/json", "Content-Length: 9"
            )
            connection.sendall(head + b"{")
            status = connection.recv(65536).split()[1]
        with server.socket() as connection:  # nothing comes at all
            silent = connection.recv(65536)

    assert status == b"408"
    assert silent == b"" or silent.split()[1] == b"408"


def refused(connection: socket.socket) -> bool:
    """Whether another byte meets a closed door."""
    try:
        connection.sendall(b"T")
    except ConnectionError:
        return True
    return False


def test_b25_ranges_are_ignored(server: Running) -> None:
    whole = server.client.get("/docs")
    ranges = "bytes=" + ",".join(f"{i}-{i}" for i in range(1500))
    some = server.client.get("/docs", headers={"Range": ranges})
    many = server.client.get("/docs", headers={"Range": "bytes=" + ",".join(["0-1"] * 10_000)})

    assert (some.status_code, some.text) == (200, whole.text)
    assert many.status_code == 431


@pytest.mark.parametrize(
    "path",
    [
        "/static/../../x",
        "/static/%2e%2e/%2e%2e/x",
        "/..%5cx",
        "/docs/../../etc/passwd",
        "//etc/passwd",
        "/%00",
    ],
)
def test_b26_paths_lead_nowhere(server: Running, path: str) -> None:
    assert server.raw(server.head(f"GET {path} HTTP/1.1", "Connection: close"))[0] == 404


@pytest.mark.parametrize(
    "name",
    ["../../x", "C:\\x", "m" * 300, "\x00", "/etc/passwd", "en-fr/../lm", "%2e%2e", "", "en-fr ", "EN-FR"],
)
def test_b27_unknown_models_are_not_found_nor_echoed(server: Running, name: str) -> None:
    reply = server.post("/v1/translate", text="a", model=name)

    assert reply.status_code == 404
    assert reply.json()["detail"] == "there is no model of this name; there are: en-fr, lm, masked, classes"


@pytest.mark.parametrize(
    "options",
    [
        *({"beam": beam} for beam in (0, -1, 9, 2.5, "4", True)),  # B30
        {"sampling": {"temperature": -1}},  # B31
        {"sampling": {"temperature": 2.1}},
        {"sampling": {"top_p": 0}},  # B32
        {"sampling": {"top_p": 1.1}},
        {"sampling": {"top_k": 1001}},
        {"sampling": {"top_k": -1}},
        {"max_tokens": 0},  # B33
        {"min_tokens": 5, "max_tokens": 4},  # B34
        {"nbest": 3, "beam": 2},  # B35
        {"nbest": 9, "sampling": {}},
        {"sampling": {"seed": -1}},  # B37
        {"sampling": {"seed": 2**64}},
        {"source": "xx"},  # B38
        {"target": "en"},
        {"prefix": "The cat sat. " * 40},  # B39
        {"alpha": 6},
        {"alpha": -3},
        {"return": ["everything"]},
        {"return": "tokens"},
        {"timeout": 0},
        {"timeout": -1},
        {"stream": 1},
        {"stream": True, "nbest": 2},
        {"max_tokens": 100_000},
    ],
    ids=str,
)
def test_parameters_out_of_range(server: Running, options: dict[str, Any]) -> None:
    reply = server.post("/v1/translate", text="The cat", **options)

    assert reply.status_code == 422, reply.text
    assert_problem(reply, 422)


def test_b38_the_known_languages_are_listed(server: Running) -> None:
    detail = server.post("/v1/translate", text="a", target="xx").json()["detail"]

    assert detail == "target: this language is not known; known: fr"


def test_b31_temperature_0_is_greedy(server: Running) -> None:
    greedy = server.text("The cat", beam=1, max_tokens=6)

    assert server.text("The cat", sampling={"temperature": 0}, max_tokens=6) == greedy


def test_b32_a_tiny_nucleus_is_the_best_token(server: Running) -> None:
    greedy = server.text("The cat", beam=1, max_tokens=6)

    assert server.text("The cat", sampling={"top_p": 1e-8}, max_tokens=6) == greedy


def test_errors_never_repeat_what_was_sent(server: Running) -> None:
    secret = "s3cr3t-" + "x" * 40
    replies = [
        server.post("/v1/translate", text="a", source=secret),
        server.post("/v1/translate", text="a", model=secret),
        server.post("/v1/translate", text={"a": secret}),
        server.post("/v1/translate", text="a", beam=secret),
        server.client.get(f"/{secret}"),
        server.post("/translate", q="a", target=secret),
        server.post("/v1/completions", prompt="a", stop=secret),
    ]

    assert all(400 <= reply.status_code < 500 and secret not in reply.text for reply in replies)
