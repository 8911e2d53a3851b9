"""Requests that come at their own rate, whether or not those before them are answered: an open load."""

import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass, field

BODY = {"text": ["abcdefgh"] * 24, "beam": 8, "min_tokens": 24, "max_tokens": 24}
"""Work for a model, so that refusing costs little beside it."""


MOST = 200
"""Connections at once: a server closes those that are too many."""


@dataclass
class Poured:
    """What became of requests."""

    codes: Counter[int] = field(default_factory=Counter)
    accepted: list[float] = field(default_factory=list)
    """Seconds of those that were answered with 200."""
    slowest: float = 0.0
    lost: int = 0
    without_retry_after: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Answers per second."""
        return self.codes[200] / self.seconds

    def percentile(self, share: float) -> float:
        """Of those that were accepted."""
        ranked = sorted(self.accepted)
        return ranked[min(int(share * len(ranked)), len(ranked) - 1)]


class Pool:
    """Connections that stay open: who needs one takes one that is free, or opens another."""

    def __init__(self, url: str) -> None:
        self._host, _, port = url.removeprefix("http://").partition(":")
        self._port = int(port)
        data = json.dumps(BODY).encode()
        head = (
            f"POST /v1/translate HTTP/1.1\r\nHost: {self._host}:{port}\r\nContent-Type: application/json\r\n"
        )
        self._request = f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._most = asyncio.Semaphore(MOST)

    async def ask(self, seen: Poured) -> None:
        """One request; what it met is kept."""
        async with self._most:
            await self._ask(seen)

    async def _ask(self, seen: Poured) -> None:
        start = time.perf_counter()
        try:
            reader, writer = await self._connected()
            writer.write(self._request)
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            await reader.readexactly(int(head.partition("content-length: ")[2].split("\r\n")[0]))
        except (OSError, EOFError):
            seen.lost += 1
            return
        self._free.append((reader, writer))
        took, code = time.perf_counter() - start, int(head.split()[1])
        seen.codes[code] += 1
        seen.slowest = max(seen.slowest, took)
        if code == 200:
            seen.accepted.append(took)
        elif code in (429, 503):
            seen.without_retry_after += "retry-after:" not in head

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A free connection that the server has not closed meanwhile, being idle; or a new one."""
        while self._free:
            reader, writer = self._free.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
            writer.close()
        return await asyncio.open_connection(self._host, self._port)

    def close(self) -> None:
        """Hang up."""
        for _, writer in self._free:
            writer.close()


async def closed_load(url: str, seconds: float, n_clients: int) -> Poured:
    """So many clients that each ask again when they have their answer."""
    pool, seen, start = Pool(url), Poured(), time.perf_counter()

    async def client() -> None:
        while time.perf_counter() - start < seconds:
            await pool.ask(seen)

    await asyncio.gather(*(client() for _ in range(n_clients)))
    seen.seconds = time.perf_counter() - start
    pool.close()
    return seen


async def open_load(url: str, seconds: float, rate: float) -> Poured:
    """Requests at a rate, for a time; then until the last one has its answer."""
    pool, seen, start = Pool(url), Poured(), time.perf_counter()
    asked: set[asyncio.Task[None]] = set()
    n = 0
    while (now := time.perf_counter() - start) < seconds:
        while n < now * rate:
            asked.add(asyncio.create_task(pool.ask(seen)))
            n += 1
        await asyncio.sleep(1 / rate)
        asked = {task for task in asked if not task.done()}
    seen.seconds = time.perf_counter() - start
    await asyncio.gather(*asked)
    assert sum(seen.codes.values()) + seen.lost == n
    pool.close()
    return seen
