"""The one thread that models run on, and the short line before it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from glassformer.explorer.answers import Problem

T = TypeVar("T")


class Worker:
    """Runs functions one after the other; when too many wait, a request is told to come again."""

    def __init__(self, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="explorer-model")
        self._most, self._waiting = waiting, 0

    async def run(self, function: Callable[[], T]) -> T:
        """What the function gives, without stopping the server meanwhile."""
        if self._waiting >= self._most:
            raise Problem(429, f"{self._waiting} requests wait for the model already; try again in a moment")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, function)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Let the thread end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
