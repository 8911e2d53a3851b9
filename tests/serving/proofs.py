"""The promises that load shows; short forms of them run always, long ones in ``make test-long``."""

import random
import socket
import time
from concurrent.futures import ThreadPoolExecutor

from tests.serving.clients import Outcome, crowd, flood, run
from tests.serving.running import Running, answer, copier, wait_until
from tests.support.make_copy_model import words


def words_that_copy(n: int, seed: int) -> list[str]:
    """Distinct words that the model copies without a mistake when it is asked alone, so that a swap shows."""
    draw, found = random.Random(seed), dict[str, None]()
    while len(found) < n:
        asked = [word for word in dict.fromkeys(words(draw, n)) if word not in found]
        answers = copier().translate(asked, beam=1)
        found |= dict.fromkeys(word for word, each in zip(asked, answers, strict=True) if each.text == word)
    return list(found)[:n]


def echoes(n: int, n_clients: int, seed: int) -> Outcome:
    """Unique texts, each of which has to come back to whoever sent it."""
    texts = words_that_copy(n, seed)
    with Running({"copy": copier()}, limits={"max_queue": 1024, "max_queue_tokens": 1 << 20}) as server:
        return run(crowd(server.url, texts, n_clients, beam=1))


def overload(seconds: float, n_clients: int, max_queue: int) -> Outcome:
    """Far more clients than the queue has room for."""
    limits = {"max_queue": max_queue, "max_batch_tokens": 64, "deadline_seconds": 10.0}
    draw = random.Random(8)
    pool = words_that_copy(50, 8)
    with Running({"copy": copier()}, limits=limits) as server:
        outcome = run(flood(server.url, seconds, n_clients, lambda: draw.choice(pool), beam=1))
        wait_until(lambda: server.worker.n_open == 0)
        assert server.text(pool[0], beam=1) == pool[0]
    return outcome


def disconnects(n: int) -> tuple[int, Outcome]:
    """Clients that hang up while they wait, while they are served and while they are streamed to."""
    bodies = [
        b'{"text": "abcdefgh", "sampling": {"temperature": 2.0}, "nbest": 8}',
        b'{"text": "abcdefgh", "stream": true, "beam": 1}',
        b'{"text": ["abcdefgh", "ijklmnop"], "beam": 8, "nbest": 8}',
    ]
    pool = words_that_copy(40, 5)
    with Running({"copy": copier()}, limits={"max_queue": 512}) as server:

        def hang_up(i: int) -> None:
            body = bodies[i % 3]
            length = f"Content-Length: {len(body)}"
            head = server.head("POST /v1/translate HTTP/1.1", "Content-Type: application/json", length)
            with server.socket() as connection:
                connection.sendall(head + body)
                time.sleep((i % 7) * 0.004)

        with ThreadPoolExecutor(8) as threads:
            waiting = threads.map(hang_up, range(n))
            neighbours = run(crowd(server.url, pool, 4, beam=1))
            list(waiting)
        wait_until(lambda: server.worker.n_open == 0 and server.worker.n_running == 0, 20)
        left = server.worker.n_open + server.worker.n_running + server.worker.n_waiting
    return left, neighbours


def slow_sockets(n: int, seconds: float) -> tuple[float, int]:
    """Sockets that trickle: the slowest answer to a good client meanwhile, and how many were closed."""
    limits = {"header_seconds": 1.0, "request_seconds": 2.0}
    with Running({"copy": copier()}, limits=limits) as server:
        open_sockets = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(n)]
        slowest, end = 0.0, time.monotonic() + seconds
        alive = set(range(n))
        while time.monotonic() < end:
            for i in list(alive):
                try:
                    open_sockets[i].sendall(b"G" if i % 2 else b"GET / HTTP/1.1\r\nX: "[:1])
                except OSError:
                    alive.discard(i)
            start = time.perf_counter()
            assert server.text("abcd", beam=1) == "abcd"
            slowest = max(slowest, time.perf_counter() - start)
            time.sleep(0.1)
        for connection in open_sockets:
            connection.settimeout(2)
        closed = sum(answer(connection)[0] in (0, 400, 408) for connection in open_sockets)
        for connection in open_sockets:
            connection.close()
    return slowest, closed
