"""The promises that load shows; short forms of them run always, long ones in ``make test-long``."""

import random
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.serving.clients import Outcome, crowd, flood, run
from tests.serving.running import Running, copier, wait_until
from tests.support.make_copy_model import words


def words_that_copy(n: int, seed: int) -> list[str]:
    """Distinct words that the model copies without a mistake when it is asked alone, so that a swap shows."""
    draw, found = random.Random(seed), dict[str, None]()
    while len(found) < n:
        asked = [word for word in dict.fromkeys(words(draw, n)) if word not in found]
        answers = copier("auto").translate(asked, beam=1)
        found |= dict.fromkeys(word for word, each in zip(asked, answers, strict=True) if each.text == word)
    return list(found)[:n]


def echoes(n: int, n_clients: int, seed: int) -> Outcome:
    """Unique texts, each of which has to come back to whoever sent it."""
    texts = words_that_copy(n, seed)
    with Running({"copy": copier("auto")}, limits={"max_queue": 1024, "max_queue_tokens": 1 << 20}) as server:
        return run(crowd(server.url, texts, n_clients, beam=1))


def overload(seconds: float, n_clients: int, max_queue: int) -> Outcome:
    """Far more clients than the queue has room for."""
    limits = {"max_queue": max_queue, "max_batch_tokens": 64, "deadline_seconds": 10.0}
    draw = random.Random(8)
    pool = words_that_copy(50, 8)
    with Running({"copy": copier("auto")}, limits=limits) as server:
        outcome = run(flood(server.url, seconds, n_clients, lambda: draw.choice(pool), beam=1))
        wait_until(lambda: server.worker.n_open == 0)
        assert server.text(pool[0], beam=1) == pool[0]
    return outcome


def disconnects(n: int, n_neighbours: int) -> tuple[int, Outcome, float]:
    """Clients that hang up while they wait, while they are served and while they are streamed to.

    Gives what is left of them, what others saw meanwhile, and the seconds until all places were free.
    """
    bodies = [
        b'{"text": "abcdefgh", "sampling": {"temperature": 2.0}, "nbest": 8}',
        b'{"text": "abcdefgh", "stream": true, "beam": 1}',
        b'{"text": ["abcdefgh", "ijklmnop"], "beam": 8, "nbest": 8}',
    ]
    pool = words_that_copy(n_neighbours, 5)
    with Running({"copy": copier("auto")}, limits={"max_queue": 512}) as server:

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
        last = time.monotonic()
        wait_until(lambda: server.worker.n_open == 0 and server.worker.n_running == 0)
        seconds = time.monotonic() - last
        left = server.worker.n_open + server.worker.n_running + server.worker.n_waiting
    return left, neighbours, seconds


@dataclass
class Trickled:
    """What became of sockets that send a byte now and then, and of a good client meanwhile."""

    closed: int = 0
    longest_life: float = 0.0
    answered: int = 0
    slowest: float = 0.0


def slow_sockets(n: int, seconds: float, limits: dict[str, float]) -> Trickled:
    """Always so many sockets that trickle, half of them in their headers, half in their bodies."""
    seen = Trickled()
    with Running({"copy": copier("auto")}, limits=limits) as server:
        length = "Content-Length: 99999"
        begun = server.head("POST /v1/translate HTTP/1.1", "Content-Type: application/json", length)

        def opened(i: int) -> tuple[socket.socket, float]:
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
            connection.sendall(begun if i % 2 else b"GET /livez HTTP/1.1\r\nX-Slow: ")
            return connection, time.monotonic()

        def is_over(i: int) -> bool:
            """Send another byte; count a socket that takes none."""
            connection, since = sockets[i]
            try:
                connection.sendall(b" ")
                return False
            except OSError:
                seen.closed += 1
                seen.longest_life = max(seen.longest_life, time.monotonic() - since)
                connection.close()
                return True

        sockets, end = [opened(i) for i in range(n)], time.monotonic() + seconds
        while time.monotonic() < end:
            sockets = [opened(i) if is_over(i) else each for i, each in enumerate(sockets)]
            start = time.perf_counter()
            assert server.text("abcd", beam=1) == "abcd"
            seen.slowest = max(seen.slowest, time.perf_counter() - start)
            seen.answered += 1
            time.sleep(0.1)
        left = set(range(n))
        while left:
            left -= {i for i in left if is_over(i)}
            time.sleep(0.1)
    return seen
