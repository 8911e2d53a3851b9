"""From the event loop to the model thread and back: what a request asks, and who waits for the answer."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import Request

from glassformer.serving.hosting import Host, Hosts
from glassformer.serving.limits import Limits
from glassformer.serving.problems import TOO_LATE, Problem
from glassformer.serving.reading import Reader
from glassformer.serving.replies import Timing
from glassformer.serving.telemetry import Metrics
from glassformer.serving.tickets import Call, Ticket
from glassformer.serving.worker import Worker

if TYPE_CHECKING:
    from glassformer.decoding import Hypothesis
    from glassformer.decoding.asked import Asked

_GRACE = 1.0
"""How much later than its deadline an answer is given up should the model thread not say so itself."""


class Progress(NamedTuple):
    """What a stream hears: tokens that became certain, or the result of a sentence."""

    place: int
    ids: Sequence[int] = ()
    log_probabilities: Sequence[float] = ()
    result: "list[Hypothesis] | None" = None


class Mailbox:
    """From the model thread to the event loop: whatever is posted in one go wakes the loop once."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._letters: deque[tuple[Callable[..., object], tuple[object, ...]]] = deque()
        self._called = False

    def post(self, function: Callable[..., object], *arguments: object) -> None:
        """Have a function called on the loop, after those posted before; any thread may post."""
        self._letters.append((function, arguments))
        if self._called:
            return
        self._called = True
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._called = False  # before the letters are taken: what comes now is taken, or calls again
        while self._letters:
            function, arguments = self._letters.popleft()
            function(*arguments)


class Answer:
    """A listener of the worker, for one request."""

    def __init__(self, n_results: int, mailbox: Mailbox) -> None:
        self._post = mailbox.post
        self._left = n_results
        self.results: list[Any] = [None] * n_results
        self.progress: asyncio.Queue[Progress] = asyncio.Queue()
        self.finished: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()

    def tokens(self, place: int, ids: Sequence[int], log_probabilities: Sequence[float]) -> None:
        """More tokens of a sentence are certain."""
        self._post(self.progress.put_nowait, Progress(place, ids, log_probabilities))

    def done(self, place: int, result: Any) -> None:
        """A sentence has its result."""
        self._post(self._keep, place, result)

    def failed(self, problem: Problem) -> None:
        """There will be no answer."""
        self._post(self.give_up, problem)

    def _keep(self, place: int, result: Any) -> None:
        self.results[place] = result
        self._left -= 1
        self.progress.put_nowait(Progress(place, result=result))
        if not self._left and not self.finished.done():
            self.finished.set_result(self.results)

    def give_up(self, problem: Problem) -> None:
        """End the waiting; on the loop."""
        if not self.finished.done():
            self.finished.set_exception(problem)
            self.finished.exception()  # looked at, should the client have gone


@dataclass
class Service:
    """Everything that routes need."""

    hosts: Hosts
    worker: Worker
    reader: Reader
    limits: Limits
    metrics: Metrics
    _mailbox: Mailbox = field(init=False)

    def open(self) -> None:
        """Be ready for requests; called on the event loop that will bring them."""
        self._mailbox = Mailbox()

    def deadline(self, timeout: float | None) -> float:
        """When the answer to a request that has just come is too late, by ``time.monotonic``."""
        return time.monotonic() + min(timeout or self.limits.deadline_seconds, self.limits.deadline_seconds)

    async def decode(
        self, request: Request, host: Host, asked: "Sequence[Asked]", deadline: float
    ) -> "Answered":
        """The hypotheses of each query, in order; none are asked for where there are no queries."""
        if not asked:
            return Answered([], Timing(queue_ms=0.0, total_ms=0.0))
        answer, ticket = self._ticket(asked, deadline)
        self.worker.decode(host.name, asked, ticket)
        return Answered(await self._wait(request, answer, ticket), _timing(ticket))

    async def stream(
        self, host: Host, asked: "Sequence[Asked]", deadline: float
    ) -> "AsyncIterator[Progress | None]":
        """What becomes certain, as it does; None now and then, where nothing does for long.

        The queue is asked at once, so that a refusal is still a refusal and no broken stream.
        """
        answer, ticket = self._ticket(asked, deadline)
        ticket.streams = True
        if asked:
            self.worker.decode(host.name, asked, ticket)
        return self._progress(answer, ticket, len(asked))

    async def call(self, request: Request, call: Call, n_tokens: int, deadline: float) -> "Answered":
        """What a function makes of items, one result for each."""
        if not call.items:
            return Answered([], Timing(queue_ms=0.0, total_ms=0.0))
        answer = self._answer(1)
        ticket = Ticket(answer, deadline, n_tokens)
        self.worker.call(call, ticket)
        (results,) = await self._wait(request, answer, ticket)
        return Answered(results, _timing(ticket))

    def _ticket(self, asked: "Sequence[Asked]", deadline: float) -> tuple[Answer, Ticket]:
        answer = self._answer(len(asked))
        return answer, Ticket(answer, deadline, sum(len(each.query.ids) for each in asked))

    def _answer(self, n_results: int) -> Answer:
        return Answer(n_results, self._mailbox)

    async def _progress(
        self, answer: Answer, ticket: Ticket, n_left: int
    ) -> "AsyncIterator[Progress | None]":
        told = asyncio.ensure_future(answer.progress.get())
        try:
            while n_left:
                waiting: set[asyncio.Future[Any]] = {told, answer.finished}
                beat = self.limits.heartbeat_seconds
                await asyncio.wait(waiting, timeout=beat, return_when=asyncio.FIRST_COMPLETED)
                if answer.finished.done() and answer.finished.exception() is not None:
                    answer.finished.result()
                if not told.done() and not answer.finished.done():
                    yield None
                    continue
                progress = await told
                told = asyncio.ensure_future(answer.progress.get())
                n_left -= progress.result is not None
                yield progress
        finally:
            told.cancel()
            self.worker.cancel(ticket)

    async def _wait(self, request: Request, answer: Answer, ticket: Ticket) -> list[Any]:
        """The results; whoever hangs up, or waits too long, takes the request out of the queue."""
        loop = asyncio.get_running_loop()
        gone = loop.create_task(_hung_up(request, answer))
        seconds = max(ticket.deadline - time.monotonic(), 0) + _GRACE
        late = loop.call_later(seconds, answer.give_up, Problem("deadline", TOO_LATE))
        try:
            return await answer.finished
        finally:
            late.cancel()
            gone.cancel()
            self.worker.cancel(ticket)


class Answered(NamedTuple):
    """Results, and where the time went."""

    results: list[Any]
    timing: Timing


async def _hung_up(request: Request, answer: Answer) -> None:
    """Give up once the client closes the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    answer.give_up(Problem("client_closed", "the client has gone"))


def _timing(ticket: Ticket) -> Timing:
    now = time.monotonic()
    begun = ticket.begun or now
    return Timing(
        queue_ms=round((begun - ticket.arrived) * 1e3, 2), total_ms=round((now - ticket.arrived) * 1e3, 2)
    )
