"""The one thread that asks models: sentences join and leave between steps, and every deadline is kept."""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from glassformer.errors import GlassformerError
from glassformer.serving.limits import Limits
from glassformer.serving.memory import MemoryGuard
from glassformer.serving.problems import OUR_MISTAKE, TOO_LATE, Problem
from glassformer.serving.telemetry import Metrics, log
from glassformer.serving.tickets import Call, Pace, Sentence, Ticket
from glassformer.serving.waiting import Waiting

if TYPE_CHECKING:
    from glassformer.decoding.asked import Asked, Session

_JOIN_SHARE = 8
"""Sentences join once they are an eighth as many as those that run: each join copies caches."""
_JOIN_STEPS = 4
"""… or once one of them has waited for so many steps."""
_PADDED = 4
"""Padding may make a batch at most so many times as large as its tokens."""
_MOST_ROWS = 512
"""Hypotheses side by side; a session has room for more."""


class Worker(threading.Thread):
    """Give it models with ``host``, work with ``decode`` and ``call``; ``drain`` and ``stop`` end it."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        super().__init__(name="glassformer-model", daemon=True)
        self._limits, self._metrics = limits, metrics
        self._memory = MemoryGuard(limits.max_memory_share)
        self._wake = threading.Condition()
        self._makers: dict[str, Callable[[], Session]] = {}
        self._sessions: dict[str, Session] = {}
        self._waiting = Waiting()
        self._running: dict[str, dict[int, Sentence]] = {}
        self._tickets: set[Ticket] = set()
        self._pace = Pace()
        self._draining = self._stopping = False

    # What other threads call

    def host(self, model: str, make_session: "Callable[[], Session]") -> None:
        """Decode for one more model."""
        self._makers[model] = make_session

    def decode(self, model: str, asked: "Sequence[Asked]", ticket: Ticket) -> None:
        """Put the sentences of a request into the queue; refused where it has no room."""
        ticket.left = len(asked)
        with self._wake:
            self._admit_ticket(ticket)
            self._waiting.add(Sentence(ticket, i, model, each) for i, each in enumerate(asked))
            self._wake.notify()

    def call(self, call: Call, ticket: Ticket) -> None:
        """Put a call into the queue."""
        with self._wake:
            self._admit_ticket(ticket)
            self._waiting.add_call(ticket, call)
            self._wake.notify()

    def check_room(self) -> None:
        """Refuse where the queue has no room for one more request, whatever it asks."""
        with self._wake:
            if self._waiting.n_requests >= self._limits.max_queue:
                raise self._full()

    def cancel(self, ticket: Ticket) -> None:
        """Nobody waits for the answer any more; its places are free before the next step."""
        if ticket.over:
            return
        with self._wake:
            ticket.over = True
            self._waiting.forget(ticket)
            self._wake.notify()

    def drain(self) -> None:
        """Finish what has begun, refuse the rest."""
        with self._wake:
            self._draining = True
            for ticket in self._waiting:
                if ticket.begun is None:
                    self._fail(ticket, _draining())
            self._wake.notify()

    def stop(self) -> None:
        """End the thread; what is not finished fails."""
        with self._wake:
            self._stopping = self._draining = True
            self._wake.notify()

    @property
    def draining(self) -> bool:
        """Whether new work is refused because the end is near."""
        return self._draining

    @property
    def n_waiting(self) -> int:
        """Requests in the queue."""
        return self._waiting.n_requests

    @property
    def n_open(self) -> int:
        """Requests that are not answered."""
        return len(self._tickets)

    @property
    def n_running(self) -> int:
        """Sentences being decoded."""
        return sum(map(len, self._running.values()))

    def _admit_ticket(self, ticket: Ticket) -> None:
        if self._draining:
            raise _draining()
        if self._memory.short():
            raise Problem("no_memory", "the memory of this server is nearly used up", retry_after=5)
        limits = self._limits
        if ticket.n_tokens > limits.max_queue_tokens:
            raise Problem(
                "too_large",
                f"the texts have {ticket.n_tokens} tokens; one request may have {limits.max_queue_tokens}",
            )
        full = self._waiting.n_requests >= limits.max_queue
        if full or self._waiting.n_tokens + ticket.n_tokens > limits.max_queue_tokens:
            raise self._full()
        self._tickets.add(ticket)

    def _full(self) -> Problem:
        seconds = min(max(math.ceil(self._waiting.n_tokens / self._pace.rate), 1), 30)
        return Problem("queue_full", "the queue is full; ask again later", retry_after=seconds)

    # What the thread does

    def run(self) -> None:
        """Work until stopped."""
        while self._wait_for_work():
            try:
                self._round()
            except Exception:  # a bug of ours must not leave anybody waiting
                log("worker failed", level=logging.ERROR, exc_info=True)
                self._give_up()
        for ticket in list(self._tickets):
            self._fail(ticket, _draining())

    def _wait_for_work(self) -> bool:
        with self._wake:
            idle = not self.n_running
            while not (self._waiting or self.n_running or self._stopping):
                self._metrics.queue_depth.set(0)
                self._metrics.running.set(0)
                self._wake.wait()
            if idle:
                self._pace.begin()
            if idle and not self._stopping and self._limits.max_wait_ms:
                self._wake.wait_for(self._enough, self._limits.max_wait_ms / 1e3)
        return not self._stopping

    def _enough(self) -> bool:
        """Whether a batch is full, so that waiting for more would gain nothing."""
        return self._waiting.size >= self._limits.max_batch_tokens

    def _round(self) -> None:
        self._expire()
        for model, joining in self._take().items():
            self._join(model, joining)
        self._run_calls()
        for model, running in list(self._running.items()):
            if running:
                self._step(model, running)
        self._metrics.queue_depth.set(self.n_waiting)
        self._metrics.running.set(self.n_running)

    def _expire(self) -> None:
        """Let go of whatever is late or no longer wanted."""
        now = time.monotonic()
        with self._wake:
            for ticket in [ticket for ticket in self._tickets if not ticket.over and ticket.deadline <= now]:
                self._fail(ticket, Problem("deadline", TOO_LATE))
            self._tickets = {ticket for ticket in self._tickets if not ticket.over}
        for model, running in self._running.items():
            for slot in [slot for slot, each in running.items() if each.ticket.over]:
                self._sessions[model].remove(slot)
                del running[slot]

    def _take(self) -> dict[str, list[Sentence]]:
        """The sentences that join now, by model: in order, as many as fit."""
        with self._wake:
            if not self._waiting.n_sentences:
                return {}
            first = self._waiting.first
            first.waited += 1
            few = self._waiting.n_sentences * _JOIN_SHARE < self.n_running and first.waited <= _JOIN_STEPS
            if few and not self._draining:
                return {}
            taken: dict[str, list[Sentence]] = {}
            present = [each for running in self._running.values() for each in running.values()]
            used = sum(each.size for each in present)
            rows, longest = sum(each.n_rows for each in present), max((e.length for e in present), default=0)
            while self._waiting.n_sentences:
                each = self._waiting.first
                used, rows = used + each.size, rows + each.n_rows
                longest = max(longest, each.length)
                most = self._limits.max_batch_tokens
                alone = rows == each.n_rows
                if not alone and (used > most or rows > _MOST_ROWS or rows * longest > _PADDED * most):
                    break
                taken.setdefault(each.model, []).append(self._waiting.take())
        now = time.monotonic()
        for joining in taken.values():
            for each in joining:
                each.ticket.begun = each.ticket.begun or now
        return taken

    def _join(self, model: str, joining: list[Sentence]) -> None:
        session = self._session(model)
        running = self._running.setdefault(model, {})
        try:
            slots = session.add([each.asked for each in joining])
        except Exception as error:
            if len(joining) == 1:
                self._refuse(joining[0].ticket, error)
                return
            for each in joining:
                self._join(model, [each])
            return
        for slot, each in zip(slots, joining, strict=True):
            each.slot = slot
            running[slot] = each

    def _session(self, model: str) -> "Session":
        if model not in self._sessions:
            self._sessions[model] = self._makers[model]()
        return self._sessions[model]

    def _step(self, model: str, running: dict[int, Sentence]) -> None:
        session = self._sessions[model]
        self._metrics.batch_size.observe(len(running))
        self._metrics.batch_tokens.observe(sum(each.size for each in running.values()))
        try:
            finished = session.step()
            self._tell_progress(session, running)
            for slot in finished:
                self._finish(running.pop(slot), session.results(slot))
                session.remove(slot)
        except Exception:
            log("batch failed", level=logging.ERROR, exc_info=True, model=model, sentences=len(running))
            self._isolate(model, running)

    def _tell_progress(self, session: "Session", running: dict[int, Sentence]) -> None:
        for slot, each in running.items():
            if each.ticket.streams and not each.ticket.over:
                known = session.certain(slot)
                if len(known.ids) > each.n_sent:
                    ids, own = known.ids[each.n_sent :], known.log_probabilities[each.n_sent :]
                    each.n_sent = len(known.ids)
                    each.ticket.listener.tokens(each.place, ids, own)

    def _finish(self, each: Sentence, result: Any) -> None:
        ticket = each.ticket
        if ticket.over:
            return
        ticket.left -= 1
        ticket.listener.done(each.place, result)
        self._metrics.tokens.labels("in").inc(each.length)
        self._metrics.tokens.labels("out").inc(result[0].length)
        if not ticket.left:
            self._close(ticket)

    def _isolate(self, model: str, running: dict[int, Sentence]) -> None:
        """Decode each sentence of a failed batch once more, alone: only the one to blame fails."""
        blamed = list(running.values())
        running.clear()
        self._sessions.pop(model)
        for each in blamed:
            if each.ticket.over:
                continue
            session = self._makers[model]()
            try:
                (slot,) = session.add([each.asked])
                while slot not in session.step():
                    pass
                self._finish(each, session.results(slot))
            except Exception as error:
                self._refuse(each.ticket, error)

    def _run_calls(self) -> None:
        """The oldest call, and those that can go with it."""
        with self._wake:
            together = self._waiting.take_calls(self._limits.max_batch_tokens)
        now = time.monotonic()
        for ticket, _ in together:
            ticket.begun = now
        if together:
            self._call_together(together)

    def _call_together(self, together: list[tuple[Ticket, Call]]) -> None:
        items = [item for _, call in together for item in call.items]
        try:
            results = list(together[0][1].function(items))
        except Exception as error:
            if len(together) == 1:
                self._refuse(together[0][0], error)
                return
            for each in together:
                self._call_together([each])
            return
        for ticket, call in together:
            own, results = results[: len(call.items)], results[len(call.items) :]
            if not ticket.over:
                ticket.listener.done(0, own)
                self._metrics.tokens.labels("in").inc(ticket.n_tokens)
                self._close(ticket)

    def _close(self, ticket: Ticket) -> None:
        ticket.over = True
        self._tickets.discard(ticket)
        self._pace.count(ticket.n_tokens)

    def _refuse(self, ticket: Ticket, error: Exception) -> None:
        if isinstance(error, GlassformerError):
            self._fail(ticket, Problem("invalid_parameter", str(error)))
            return
        log("request failed", level=logging.ERROR, exc_info=error)
        self._fail(ticket, Problem("internal", OUR_MISTAKE))

    def _fail(self, ticket: Ticket, problem: Problem) -> None:
        if not ticket.over:
            ticket.over = True
            self._tickets.discard(ticket)
            with self._wake:
                self._waiting.forget(ticket)
            ticket.listener.failed(problem)

    def _give_up(self) -> None:
        for ticket in list(self._tickets):
            self._refuse(ticket, RuntimeError("the worker failed"))
        with self._wake:
            self._waiting = Waiting()
        self._running.clear()
        self._sessions.clear()


def _draining() -> Problem:
    return Problem("draining", "the server is about to stop; ask another one, or later", retry_after=5)
