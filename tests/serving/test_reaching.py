"""The ways in: ports, connections, compatible routes, and what the log says about who came."""

import asyncio
import io
import json
import logging
import socket
import threading
from collections.abc import Iterator

import httpx
import pytest

from glassformer.engine import NotNative, usable_kernels
from glassformer.serving.asking import Mailbox
from glassformer.serving.hosting import Hosts
from glassformer.serving.limits import Limits
from glassformer.serving.receipt import Gathering
from glassformer.serving.telemetry import LOG, JsonLines, Metrics, PlainLines, about_texts, log
from glassformer.serving.worker import Worker
from tests.serving.running import COPY, Running, copier, tiny_tools, wait_until

KEY = "k" * 32

PAYLOADS = [
    *("\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\x00", "\x07"),
    *(
        "\x1b[2J",
        "\x1b]0;x\x07",
        "\u202e",
        "\ufeff",
        '"}',
        '", "level": "error',
        "\\n",
        "%s%n",
        "{0}",
        "$(id)",
    ),
    *('\n{"event": "request"}', "2026-01-01 error", "a\nb", "\t", "é", "👍🏽", "'; DROP TABLE logs; --"),
]


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What the server writes into its log."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonLines())
    before = LOG.level
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    yield written
    LOG.removeHandler(handler)
    LOG.setLevel(before)


@pytest.mark.parametrize("whole", [False, True])
def test_a_request_is_a_line_whatever_it_says(logged: io.StringIO, whole: bool) -> None:
    with Running(tiny_tools(), log_text=whole) as server:
        for payload in PAYLOADS:
            server.post("/v1/tokenize", text=f"zebra{payload}zebra")
    lines = logged.getvalue().split("\n")[:-1]
    told = [json.loads(line) for line in lines if '"request"' in line]

    assert len(PAYLOADS) == 30
    assert [each["characters"] for each in told] == [10 + len(payload) for payload in PAYLOADS]
    assert lines == logged.getvalue().splitlines()  # which knows all sorts of line ends
    if whole:
        assert [each["text"] for each in told] == [[f"zebra{payload}zebra"] for payload in PAYLOADS]
    else:
        assert "zebra" not in logged.getvalue()


def test_plain_lines_are_lines_too() -> None:
    record = LOG.makeRecord(LOG.name, logging.INFO, "", 0, "request", (), None)
    record.fields = {"text": ["a\nb\x1b[2J\u2028"]}

    assert PlainLines().format(record).isprintable()


def test_a_digest_tells_the_same_text_and_no_other() -> None:
    first, again, other = (about_texts([text], whole=False) for text in ("cat", "cat", "dog"))

    assert first == again
    assert first["digest"] != other["digest"]
    assert about_texts([], whole=True) == {}


def test_metrics_may_have_a_port_of_their_own() -> None:
    with Running(tiny_tools(), keys=(KEY.encode(),), metrics_port=0) as server:
        url, key = f"http://127.0.0.1:{server.app.metrics_port}", {"Authorization": f"Bearer {KEY}"}
        there = httpx.get(f"{url}/metrics", timeout=60)  # and no key is asked for
        others = httpx.get(f"{url}/v1/models", headers=key, timeout=60)
        foreign = httpx.get(f"{url}/metrics", headers={"Host": "evil.com"}, timeout=60)
        here = server.client.get("/metrics", headers=key)
        models = server.client.get("/v1/models", headers=key)

    assert "glassformer_requests" in there.text
    assert (others.status_code, foreign.status_code) == (404, 403)
    assert (here.status_code, models.status_code) == (404, 200)


def test_routes_of_others_are_there_if_they_are_wanted(server: Running) -> None:
    assert server.post("/v2/translate", text=["a"], target_lang="FR").status_code == 404
    with Running(tiny_tools(), compat=()) as bare:
        assert bare.post("/v1/completions", prompt="a").status_code == 404


def test_every_message_is_read_as_the_description_says() -> None:
    with Running(tiny_tools(), compat=("deepl", "openai")) as server:
        described = server.client.get("/openapi.json").json()["paths"]
        posts = dict(server.app.posts)
    hidden = posts.pop("/detect")

    assert hidden.model.__name__ == "DetectRequest"
    for path, methods in described.items():
        if "post" in methods:
            schema = methods["post"]["requestBody"]["content"]["application/json"]["schema"]
            assert schema["$ref"].rpartition("/")[2] == posts.pop(path).model.__name__
    assert not posts


def test_a_model_is_quantised_if_that_is_wanted() -> None:
    try:
        usable_kernels()
    except NotNative as error:
        pytest.skip(str(error))
    found = []
    for quantize in (False, True):
        metrics = Metrics()
        hosts = Hosts((("copy", COPY),), Worker(Limits(), metrics), metrics, quantize=quantize)
        hosts.load().join(60)
        found.append(hosts.find("copy", "encoder-decoder").engine or "")

    assert "int8" in found[1] and "int8" not in found[0]


def test_one_connection_too_many_is_closed() -> None:
    with Running({}, limits={"max_connections": 3}) as server:
        server.client.close()
        wait_until(lambda: not server.server.server_state.connections)
        kept = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(3)]
        wait_until(lambda: len(server.server.server_state.connections) == 3)
        with server.socket() as another:
            try:
                found = another.recv(1)
            except ConnectionResetError:
                found = b""
        for connection in kept:
            connection.close()
        wait_until(lambda: not server.server.server_state.connections)
        again = httpx.get(f"{server.url}/livez", timeout=60)

    assert found == b""
    assert again.status_code == 200


def test_without_memory_work_is_refused() -> None:
    with Running({"copy": copier()}, limits={"max_memory_share": 1e-6}) as server:
        refused = server.post("/v1/translate", text="abcd")

    assert refused.status_code == 503
    assert (refused.json()["type"], refused.headers["retry-after"]) == ("/docs#no_memory", "5")


def test_a_silent_stream_says_that_it_lives() -> None:
    with Running({"copy": copier()}, limits={"heartbeat_seconds": 0.01}) as server:
        gate = threading.Event()
        make = server.worker._makers["copy"]

        def slow():  # type: ignore[no-untyped-def]  # the session of the host, made late
            gate.wait(60)
            return make()

        server.worker.host("copy", slow)
        body = {"text": "abcd", "stream": True, "beam": 1}
        with server.client.stream("POST", "/v1/translate", json=body) as reply:
            chunks = reply.iter_raw()
            first = next(chunks)
            gate.set()
            rest = b"".join(chunks)

    assert first.startswith(b": still at work")
    assert b"event: done" in rest


def test_small_answers_are_sent_at_once() -> None:
    """Without a word to the socket the head of an answer would wait for a sign of the client, 40 ms or so."""
    with Running({}) as server, server.socket():
        wait_until(lambda: bool(server.server.server_state.connections))
        (protocol,) = server.server.server_state.connections
        found = protocol.transport.get_extra_info("socket")

        assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


class Written(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.closed = self.aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def is_closing(self) -> bool:
        return self.closed


def test_an_answer_leaves_in_one_piece_and_before_the_end() -> None:
    async def write() -> list[Written]:
        loop = asyncio.get_running_loop()
        answered, closed, aborted = found = [Written() for _ in range(3)]
        for parts, transport in ((b"head body", answered), (b"last words", closed), (b"never", aborted)):
            gathering = Gathering(transport, loop)
            for part in parts.split():
                gathering.write(part)
            if transport is closed:
                gathering.close()
            if transport is aborted:
                gathering.abort()
            assert gathering.is_closing() == (transport is closed)
        await asyncio.sleep(0)
        return found

    answered, closed, aborted = asyncio.run(write())
    assert (answered.sent, answered.closed) == ([b"headbody"], False)
    assert (closed.sent, closed.closed) == ([b"lastwords"], True)
    assert (aborted.sent, aborted.aborted) == ([], True)


def test_letters_arrive_once_and_in_order() -> None:
    found: list[int] = []

    async def receive() -> None:
        mailbox, over = Mailbox(), asyncio.Event()

        def send() -> None:
            for i in range(1000):
                mailbox.post(found.append, i)
            mailbox.post(over.set)

        thread = threading.Thread(target=send)
        thread.start()
        await over.wait()
        thread.join()

    asyncio.run(receive())
    assert found == list(range(1000))


def test_nobody_minds_letters_to_a_loop_that_is_gone() -> None:
    async def make() -> Mailbox:
        return Mailbox()

    asyncio.run(make()).post(log, "never")
