"""A result while it is being made, as server-sent events."""

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from glassformer.serving.asking import Progress
from glassformer.serving.problems import Problem
from glassformer.serving.strict_json import write_json
from glassformer.serving.translating import Job

if TYPE_CHECKING:
    from glassformer.decoding import Hypothesis

HEARTBEAT = b": still at work\n\n"
"""A comment: it keeps proxies from closing a connection that says nothing."""


def event(name: str | None, data: Any) -> bytes:
    """One event; JSON has no line ends of its own."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + write_json(data) + b"\n\n"


class Streamed:
    """A piece of text of a job, in order."""

    def __init__(self, text: int, index: int, piece: str, log_probability: float | None) -> None:
        self.text, self.index, self.piece, self.log_probability = text, index, piece, log_probability


class Unrolled:
    """The texts of a job, piece by piece: sentences of one text come in order, texts as they come.

    What is told of a sentence before those ahead of it are complete is kept until it is its turn.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._keys = list(job.queries)
        self.results: dict[tuple[int, int], list[Hypothesis]] = {}
        self._known: dict[tuple[int, int], list[tuple[int, float]]] = {key: [] for key in self._keys}
        self._sent = dict.fromkeys(self._keys, 0)
        self._index = [0] * len(job.texts)
        self._turn = [0] * len(job.texts)
        self._streams: dict[tuple[int, int], Any] = {}

    def add(self, progress: Progress) -> list[Streamed]:
        """What can be said now."""
        key = self._keys[progress.place]
        self._known[key] += zip(progress.ids, progress.log_probabilities, strict=True)
        if progress.result is not None:
            self.results[key] = progress.result
            best = progress.result[0]
            known = len(self._known[key])
            rest = zip(best.ids[known:], best.token_log_probabilities[known:], strict=False)
            self._known[key] += rest
        return list(self._speak(key[0]))

    def _speak(self, text: int) -> Any:
        segments = self._job.cut[text]
        while self._turn[text] < len(segments):
            key = (text, self._turn[text])
            if key in self._known:
                yield from self._tokens(key)
                if key not in self.results:
                    return
            space = segments[key[1]].space
            self._turn[text] += 1
            if space:
                yield self._piece(text, space, None)

    def _tokens(self, key: tuple[int, int]) -> Any:
        tokenizer = self._job.host.tool.tokenizer
        if key not in self._streams:
            prompted = self._job.host.family == "decoder-only"
            self._streams[key] = tokenizer.stream(self._job.queries[key].ids if prompted else ())
        stream = self._streams[key]
        for token, value in self._known[key][self._sent[key] :]:
            yield self._piece(key[0], stream.feed(token), value)
        self._sent[key] = len(self._known[key])
        if key in self.results and (rest := stream.finish()):
            yield self._piece(key[0], rest, None)

    def _piece(self, text: int, piece: str, log_probability: float | None) -> Streamed:
        index = self._index[text]
        self._index[text] += 1
        return Streamed(text, index, piece, log_probability)


async def server_sent(
    progress: AsyncIterator[Progress | None],
    unrolled: Unrolled,
    piece: Callable[[Streamed], bytes],
    end: Callable[[Unrolled], bytes],
    failed: Callable[[Problem], bytes],
) -> AsyncIterator[bytes]:
    """The events of a job; a failure after the beginning is an event too."""
    try:
        async for step in progress:
            if step is None:
                yield HEARTBEAT
                continue
            found = unrolled.add(step)
            if found:
                yield b"".join(piece(each) for each in found)
        yield end(unrolled)
    except Problem as problem:
        yield failed(problem)
