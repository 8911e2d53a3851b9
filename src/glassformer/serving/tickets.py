"""Requests on their way through the model thread."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from glassformer.serving.problems import Problem

if TYPE_CHECKING:
    from glassformer.decoding.asked import Asked


class Listener(Protocol):
    """Whoever waits for an answer; called on the model thread, so it only passes on."""

    def tokens(self, place: int, ids: Sequence[int], log_probabilities: Sequence[float]) -> None:
        """More tokens of a sentence are certain."""

    def done(self, place: int, result: Any) -> None:
        """A sentence has its result."""

    def failed(self, problem: Problem) -> None:
        """There will be no answer."""


@dataclass(eq=False)
class Ticket:
    """A request on its way through the model: sentences to decode, or one call."""

    listener: Listener
    deadline: float
    """By ``time.monotonic``."""
    n_tokens: int
    streams: bool = False
    left: int = 1
    """Results still to come."""
    arrived: float = field(default_factory=time.monotonic)
    begun: float | None = None
    over: bool = False
    """Answered, failed or cancelled: nothing more will be told."""


class Call(NamedTuple):
    """Work that is no decoding: texts through a function, together with those of others."""

    key: tuple[object, ...]
    """Calls with the same key may go through the function together."""
    function: Callable[[list[Any]], Sequence[Any]]
    items: list[Any]


@dataclass(eq=False)
class Sentence:
    """A sentence of a ticket: it waits, joins a session, and leaves it."""

    ticket: Ticket
    place: int
    model: str
    asked: "Asked"
    slot: int = -1
    n_sent: int = 0
    waited: int = 0
    n_rows: int = field(init=False)
    """Hypotheses that it needs side by side."""
    length: int = field(init=False)
    """Its tokens."""
    size: int = field(init=False)
    """Its tokens times its hypotheses."""

    def __post_init__(self) -> None:
        config = self.asked.config
        self.n_rows = config.nbest if config.sampling else config.beam
        self.length = len(self.asked.query.ids)
        self.size = self.length * self.n_rows


class Pace:
    """Input tokens per second of those seconds in which there was something to do."""

    def __init__(self) -> None:
        self.rate = 200.0  # until there is something to measure
        self._since, self._tokens = time.monotonic(), 0

    def begin(self) -> None:
        """There is something to do again."""
        self._since, self._tokens = time.monotonic(), 0

    def count(self, tokens: int) -> None:
        """A request with so many tokens is answered."""
        self._tokens += tokens
        seconds = time.monotonic() - self._since
        if seconds > 1:
            self.rate = max(0.5 * self.rate + 0.5 * self._tokens / seconds, 1.0)
            self.begin()
