"""Many clients at once, and what became of each of their requests."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx


@dataclass
class Outcome:
    """What clients saw."""

    codes: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    """Of those that were answered with 200."""
    slowest: float = 0.0
    without_retry_after: int = 0
    swapped: int = 0
    lost: int = 0

    def percentile(self, share: float) -> float:
        ranked = sorted(self.seconds)
        return ranked[min(int(share * len(ranked)), len(ranked) - 1)] if ranked else 0.0


@asynccontextmanager
async def connected(url: str, n: int) -> AsyncIterator[httpx.AsyncClient]:
    limits = httpx.Limits(max_connections=n, max_keepalive_connections=n)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
        yield client


async def ask(client: httpx.AsyncClient, outcome: Outcome, text: str, **body: Any) -> None:
    """One request for a translation by a model that copies; a wrong copy is a swap."""
    start = time.perf_counter()
    try:
        reply = await client.post("/v1/translate", json={"text": text, **body})
    except httpx.HTTPError:
        outcome.lost += 1
        return
    took = time.perf_counter() - start
    outcome.codes[reply.status_code] += 1
    outcome.slowest = max(outcome.slowest, took)
    if reply.status_code == 200:
        outcome.seconds.append(took)
        outcome.swapped += reply.json()["translations"][0]["text"] != text
    elif reply.status_code in (429, 503):
        outcome.without_retry_after += "retry-after" not in reply.headers


async def crowd(url: str, texts: Sequence[str], n_clients: int, **body: Any) -> Outcome:
    """All texts, by clients that each ask for the next one when they have their answer."""
    outcome, waiting = Outcome(), iter(texts)

    async def client_of(client: httpx.AsyncClient) -> None:
        for text in waiting:
            await ask(client, outcome, text, **body)

    async with connected(url, n_clients) as client:
        await asyncio.gather(*(client_of(client) for _ in range(n_clients)))
    return outcome


async def flood(url: str, seconds: float, n_clients: int, text: Callable[[], str], **body: Any) -> Outcome:
    """Clients that never stop asking, for a time."""
    outcome, end = Outcome(), time.monotonic() + seconds

    async def client_of(client: httpx.AsyncClient) -> None:
        while time.monotonic() < end:
            await ask(client, outcome, text(), **body)

    async with connected(url, n_clients) as client:
        await asyncio.gather(*(client_of(client) for _ in range(n_clients)))
    return outcome


def run(work: Awaitable[Outcome]) -> Outcome:
    """The outcome of work, on a loop of its own."""

    async def main() -> Outcome:
        return await work

    return asyncio.run(main())
