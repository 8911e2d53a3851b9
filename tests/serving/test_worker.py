"""Many requests at once: decoded together, answered alone, dropped when nobody waits, refused in time."""

import asyncio
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from glassformer.config import DecodeConfig
from glassformer.decoding.asked import Asked
from glassformer.decoding.continuous import RunningBatch
from glassformer.decoding.hypothesis import Hypothesis
from glassformer.serving.asking import Service
from glassformer.serving.hosting import Host, Hosts
from glassformer.serving.limits import Limits
from glassformer.serving.problems import Problem
from glassformer.serving.reading import Reader
from glassformer.serving.telemetry import Metrics
from glassformer.serving.tickets import Call, Ticket
from glassformer.serving.worker import Worker
from tests.serving.running import Running, copier, wait_until
from tests.unit.decoding.toys import decoder, ending, queries

WORDS = [f"word{i:03d}" for i in range(64)]


class Waiting:
    """A listener that keeps what it is told."""

    def __init__(self, n: int = 1) -> None:
        self.results: list[Any] = [None] * n
        self.pieces: list[tuple[int, ...]] = [()] * n
        self.problem: Problem | None = None
        self._left = n
        self.over = threading.Event()

    def tokens(self, place: int, ids: Sequence[int], log_probabilities: Sequence[float]) -> None:
        assert len(ids) == len(log_probabilities)
        self.pieces[place] += tuple(ids)

    def done(self, place: int, result: Any) -> None:
        assert self.results[place] is None
        self.results[place] = result
        self._left -= 1
        if not self._left:
            self.over.set()

    def failed(self, problem: Problem) -> None:
        self.problem = problem
        self.over.set()


@pytest.fixture
def worker() -> Any:
    made = Worker(Limits(max_queue=8, max_queue_tokens=200), Metrics())
    made.host("m", lambda: RunningBatch(ENDING))
    made.start()
    yield made
    made.stop()
    made.join(60)


def ticket(listener: Waiting, n_tokens: int = 1, seconds: float = 120) -> Ticket:
    return Ticket(listener, time.monotonic() + seconds, n_tokens)


CONFIG = DecodeConfig(beam=2, max_extra=10)
ENDING = ending(wish=1.0)  # made once: random numbers are shared by all threads
PLAIN = decoder(max_length=48)


def test_everybody_gets_their_own(worker: Worker) -> None:
    asked = [Asked(query, CONFIG) for query in queries([3, 7, 2, 9, 4])]
    waiting = [Waiting() for _ in asked]
    for each, listener in zip(asked, waiting, strict=True):
        worker.decode("m", [each], ticket(listener))
    expected = ENDING.decode([each.query for each in asked], CONFIG)
    for listener, wanted in zip(waiting, expected, strict=True):
        assert listener.over.wait(60)
        assert [each.ids for each in listener.results[0]] == [each.ids for each in wanted]
    wait_until(lambda: worker.n_open == 0)


def test_streams_hear_tokens_before_the_end(worker: Worker) -> None:
    listener = Waiting()
    worker.host("plain", lambda: RunningBatch(PLAIN))
    streaming = ticket(listener)
    streaming.streams = True
    worker.decode("plain", [Asked(queries([5])[0], DecodeConfig(beam=1, max_extra=12))], streaming)

    assert listener.over.wait(60)
    best = listener.results[0][0]
    assert listener.pieces[0] == best.ids[: len(listener.pieces[0])]
    assert listener.pieces[0]


class Poisoned(RunningBatch):
    """A session that cannot bear one query; alone or not, its step fails while it is there."""

    def __init__(self, poison: tuple[int, ...]) -> None:
        super().__init__(PLAIN)
        self._poison, self._bitten = poison, set[int]()

    def add(self, asked: Sequence[Asked]) -> list[int]:
        slots = super().add(asked)
        self._bitten |= {
            slot for slot, each in zip(slots, asked, strict=True) if each.query.ids == self._poison
        }
        return slots

    def step(self) -> list[int]:
        if self._bitten:
            raise FloatingPointError("poison")
        return super().step()


def test_a_poisoned_sentence_hurts_nobody_else() -> None:
    asked = [Asked(query, DecodeConfig(beam=2, max_extra=4)) for query in queries([4] * 32)]
    worker = Worker(Limits(), Metrics())
    worker.host("m", lambda: Poisoned(asked[7].query.ids))
    waiting = [Waiting() for _ in asked]
    for each, listener in zip(asked, waiting, strict=True):
        worker.decode("m", [each], ticket(listener))
    worker.start()
    try:
        for i, (each, listener) in enumerate(zip(asked, waiting, strict=True)):
            assert listener.over.wait(60)
            if i == 7:
                assert listener.problem is not None and listener.problem.kind == "internal"
            else:
                (wanted,) = PLAIN.decode([each.query], each.config)
                assert [found.ids for found in listener.results[0]] == [found.ids for found in wanted]
    finally:
        worker.stop()
        worker.join(60)


def test_calls_go_together_and_fail_alone(worker: Worker) -> None:
    sizes: list[int] = []
    gate = threading.Event()

    def square(items: list[int]) -> list[int]:
        gate.wait(60)
        sizes.append(len(items))
        if 13 in items:
            raise ValueError("unlucky")
        return [item * item for item in items]

    waiting = [Waiting() for _ in range(5)]
    for i, listener in enumerate(waiting):
        worker.call(Call(("square",), square, [i, i + 10]), ticket(listener))
    gate.set()
    for listener in waiting:
        assert listener.over.wait(60)

    assert [listener.results[0] for listener in waiting if listener.problem is None] == [
        [i * i, (i + 10) ** 2] for i in (0, 1, 2, 4)
    ]
    assert waiting[3].problem is not None
    assert max(sizes) > 2


def test_a_late_request_is_told_so(worker: Worker) -> None:
    gate = threading.Event()
    worker.call(Call(("wait",), lambda items: [gate.wait(60)] * len(items), [1]), ticket(Waiting()))
    late = Waiting()
    worker.decode("m", [Asked(queries([3])[0], CONFIG)], ticket(late, seconds=0.05))
    time.sleep(0.1)
    gate.set()

    assert late.over.wait(60)
    assert late.problem is not None and late.problem.kind == "deadline"


def test_the_queue_is_bounded(worker: Worker) -> None:
    gate = threading.Event()
    first = Waiting()
    worker.call(Call(("wait",), lambda items: [gate.wait(60)] * len(items), [1]), ticket(first))
    wait_until(lambda: worker.n_waiting == 0)
    admitted: list[Waiting] = []
    refused: list[Problem] = []
    for query in queries([3] * 12):
        listener = Waiting()
        try:
            worker.decode("m", [Asked(query, CONFIG)], ticket(listener, 3))
            admitted.append(listener)
        except Problem as problem:
            refused.append(problem)
        assert worker.n_waiting <= 8
    with pytest.raises(Problem, match="the queue is full"):
        worker.check_room()
    gate.set()

    assert (len(admitted), len(refused)) == (8, 4)
    assert all(problem.kind == "queue_full" and 1 <= (problem.retry_after or 0) <= 30 for problem in refused)
    for listener in admitted:
        assert listener.over.wait(60) and listener.problem is None
    worker.check_room()


def test_tokens_are_bounded_too(worker: Worker) -> None:
    gate = threading.Event()
    worker.call(Call(("wait",), lambda items: [gate.wait(60)] * len(items), [1]), ticket(Waiting()))
    wait_until(lambda: worker.n_waiting == 0)
    worker.decode("m", [Asked(queries([40])[0], CONFIG)] * 4, ticket(Waiting(4), 160))

    with pytest.raises(Problem) as told:
        worker.decode("m", [Asked(queries([41])[0], CONFIG)], ticket(Waiting(), 41))
    with pytest.raises(Problem) as never:
        worker.decode("m", [Asked(queries([41])[0], CONFIG)] * 5, ticket(Waiting(5), 205))
    gate.set()

    assert told.value.kind == "queue_full"
    assert never.value.kind == "too_large"


def test_draining_finishes_what_runs_and_refuses_what_waits() -> None:
    worker = Worker(Limits(max_wait_ms=0), Metrics())
    session = Slow()
    worker.host("m", lambda: session)
    worker.start()
    running, queued = Waiting(), Waiting()
    worker.decode("m", [Asked(queries([3])[0], CONFIG)], ticket(running))
    wait_until(lambda: worker.n_running == 1)
    session.full = True
    worker.decode("m", [Asked(query, DecodeConfig(beam=8)) for query in queries([40] * 200)], ticket(queued))
    worker.drain()
    with pytest.raises(Problem) as refused:
        worker.decode("m", [Asked(queries([3])[0], CONFIG)], ticket(Waiting()))
    session.go.set()

    assert running.over.wait(60) and running.problem is None
    assert queued.over.wait(60) and queued.problem is not None and queued.problem.kind == "draining"
    assert refused.value.kind == "draining"
    worker.stop()
    worker.join(60)


def test_who_has_gone_is_out_before_the_next_step() -> None:
    """P17: a place is free after the step that runs when its client hangs up."""
    worker = Worker(Limits(max_wait_ms=0), Metrics())
    session = Slow()
    worker.host("m", lambda: session)
    worker.start()
    gone = ticket(Waiting())
    worker.decode("m", [Asked(queries([3])[0], DecodeConfig(beam=2, max_extra=20))], gone)
    wait_until(lambda: worker.n_running == 1)
    worker.cancel(gone)
    session.go.set()
    wait_until(lambda: worker.n_running == worker.n_open == 0)
    worker.stop()
    worker.join(60)

    assert session.steps <= 1


class Slow(RunningBatch):
    """A session that waits in its first step."""

    def __init__(self) -> None:
        super().__init__(PLAIN)
        self.go, self.full, self.steps = threading.Event(), False, 0

    def step(self) -> list[int]:
        self.steps += 1
        self.go.wait(60)
        return super().step()


def test_a_hundred_clients_at_once_get_their_own_words() -> None:
    with Running({"copy": copier()}) as server, ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda word: server.text(word, beam=1), WORDS))
        text = server.client.get("/metrics").text

    assert found == WORDS
    steps = next(
        float(line.split()[1]) for line in text.split("\n") if line.startswith("glassformer_batch_size_sum")
    )
    count = next(
        float(line.split()[1]) for line in text.split("\n") if line.startswith("glassformer_batch_size_count")
    )
    assert steps / count > 1.5  # they were decoded together


def test_a_client_that_hangs_up_frees_its_place() -> None:
    with Running({"copy": copier()}) as server:
        body = b'{"text": "abcdefgh", "sampling": {"temperature": 2.0}, "nbest": 8}'
        head = server.head(
            "POST /v1/translate HTTP/1.1", "Content-Type: application/json", f"Content-Length: {len(body)}"
        )
        for _ in range(20):
            with server.socket() as connection:
                connection.sendall(head + body)
        wait_until(lambda: server.worker.n_open == 0 and server.worker.n_running == 0)

        assert server.text("abcdefgh") == "abcdefgh"
        wait_until(lambda: server.worker.n_open == 0)


def test_a_stream_that_is_left_frees_its_place() -> None:
    with Running({"copy": copier()}, limits={"max_wait_ms": 0}) as server:
        body = {"text": "abcdefgh", "stream": True, "beam": 1}
        for _ in range(10):
            with server.client.stream("POST", "/v1/translate", json=body) as reply:
                next(reply.iter_raw())
        wait_until(lambda: server.worker.n_open == 0 and server.worker.n_running == 0)


def test_a_stream_that_is_cancelled_leaves_no_task() -> None:
    limits, metrics, session = Limits(), Metrics(), Slow()
    worker = Worker(limits, metrics)
    worker.host("m", lambda: session)
    worker.start()

    async def cancelled() -> set[asyncio.Task[Any]]:
        service = Service(Hosts((), worker, metrics), worker, Reader(limits), limits, metrics)
        service.open()
        told = await service.stream(
            Host("m", None, 0), [Asked(queries([3])[0], CONFIG)], time.monotonic() + 60
        )
        waiting = asyncio.ensure_future(anext(told))
        while not session.steps:
            await asyncio.sleep(0.001)
        waiting.cancel()
        await asyncio.wait([waiting])
        await asyncio.sleep(0)
        return asyncio.all_tasks() - {asyncio.current_task()}

    left = asyncio.run(cancelled())
    session.go.set()
    worker.stop()
    worker.join(60)

    assert left == set()


def test_a_client_may_ask_for_less_time(server: Running) -> None:
    reply = server.post("/v1/translate", text="The cat sat on the mat.", timeout=1e-4)

    assert reply.status_code == 504
    assert reply.json()["type"] == "/docs#deadline"


def test_requests_join_while_others_run() -> None:
    """A request that comes while a long one runs is answered before the long one is."""
    order: list[str] = []
    with Running({"copy": copier()}, limits={"max_wait_ms": 0}) as server:

        async def both() -> None:
            async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:

                async def ask(name: str, **body: Any) -> None:
                    await client.post("/v1/translate", json=body)
                    order.append(name)

                long = asyncio.create_task(
                    ask("long", text="0123456789", min_tokens=28, max_tokens=28, beam=8)
                )
                while server.worker.n_running == 0:
                    await asyncio.sleep(0.001)
                await ask("short", text="abcd", beam=1)
                await long

        asyncio.run(both())

    assert order == ["short", "long"]


def test_one_hypothesis_type() -> None:
    """What a session gives is what the decoder gives."""
    batch = RunningBatch(PLAIN)
    (slot,) = batch.add([Asked(queries([3])[0], CONFIG)])
    while slot not in batch.step():
        pass

    assert all(isinstance(each, Hypothesis) for each in batch.results(slot))
