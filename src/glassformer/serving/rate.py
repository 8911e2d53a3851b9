"""How often each client may ask: a bucket of tokens for each, refilled at a steady rate."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable

MOST_CLIENTS = 10_000
"""Buckets that are remembered; the one unused longest is forgotten first."""


class RateLimit:
    """Buckets by client. A rate of 0 lets everybody through."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def wait(self, client: bytes) -> int:
        """0 if a client may ask now, which then counts; else in how many seconds it may."""
        if self._rate == 0:
            return 0
        now = self._clock()
        left, at = self._buckets.pop(client, (float(self._burst), now))
        left = min(self._burst, left + (now - at) * self._rate)
        allowed = left >= 1
        self._buckets[client] = (left - 1 if allowed else left, now)
        if len(self._buckets) > MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0 if allowed else max(1, math.ceil((1 - left) / self._rate))
