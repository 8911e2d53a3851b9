"""What waits for the model thread, in order of arrival; how much that is, is known without counting it."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator

from glassformer.serving.tickets import Call, Sentence, Ticket


class Waiting:
    """Sentences and calls that nothing was begun for. Whoever uses it holds the worker's lock."""

    def __init__(self) -> None:
        self._sentences: deque[Sentence] = deque()
        self._calls: deque[tuple[Ticket, Call]] = deque()
        self._parts: Counter[Ticket] = Counter()
        self.n_tokens = 0
        """Input tokens."""
        self.size = 0
        """Input tokens times hypotheses, of sentences."""

    def __bool__(self) -> bool:
        return bool(self._parts)

    def __iter__(self) -> Iterator[Ticket]:
        return iter(tuple(self._parts))

    @property
    def n_requests(self) -> int:
        """Requests of which something waits."""
        return len(self._parts)

    @property
    def n_sentences(self) -> int:
        """Sentences to decode."""
        return len(self._sentences)

    @property
    def first(self) -> Sentence:
        """The sentence that has waited longest."""
        return self._sentences[0]

    def add(self, sentences: Iterable[Sentence]) -> None:
        """Sentences come last."""
        for each in sentences:
            self._sentences.append(each)
            self._parts[each.ticket] += 1
            self._count(each, 1)

    def add_call(self, ticket: Ticket, call: Call) -> None:
        """So does a call."""
        self._calls.append((ticket, call))
        self._parts[ticket] += 1
        self.n_tokens += ticket.n_tokens

    def take(self) -> Sentence:
        """The first sentence begins."""
        each = self._sentences.popleft()
        self._count(each, -1)
        self._begin(each.ticket)
        return each

    def take_calls(self, most_tokens: int) -> list[tuple[Ticket, Call]]:
        """The oldest call begins, and those that can go with it."""
        together: list[tuple[Ticket, Call]] = []
        apart: deque[tuple[Ticket, Call]] = deque()
        n_tokens = 0
        for ticket, call in self._calls:
            more = n_tokens + ticket.n_tokens
            if not together or (call.key == together[0][1].key and more <= most_tokens):
                together.append((ticket, call))
                n_tokens = more
            else:
                apart.append((ticket, call))
        self._calls = apart
        for ticket, _ in together:
            self.n_tokens -= ticket.n_tokens
            self._begin(ticket)
        return together

    def forget(self, ticket: Ticket) -> None:
        """Nothing of a request waits any more."""
        if not self._parts.pop(ticket, 0):
            return
        for each in self._sentences:
            if each.ticket is ticket:
                self._count(each, -1)
        self.n_tokens -= sum(ticket.n_tokens for other, _ in self._calls if other is ticket)
        self._sentences = deque(each for each in self._sentences if each.ticket is not ticket)
        self._calls = deque(each for each in self._calls if each[0] is not ticket)

    def _begin(self, ticket: Ticket) -> None:
        self._parts[ticket] -= 1
        if not self._parts[ticket]:
            del self._parts[ticket]

    def _count(self, each: Sentence, sign: int) -> None:
        self.n_tokens += sign * each.length
        self.size += sign * each.size
