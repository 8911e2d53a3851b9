"""What a server promises, under load on this machine: nothing lost, nothing mixed up, nothing left behind."""

import asyncio

import pytest

from tests.serving.pouring import closed_load, open_load
from tests.serving.proofs import disconnects, echoes, slow_sockets
from tests.serving.running import COPY
from tests.serving.test_life import process

pytestmark = pytest.mark.long


def test_10_000_echoes_without_a_swap() -> None:
    outcome = echoes(10_000, 128, seed=11)
    print(outcome.codes, f"{outcome.swapped} swapped")

    assert outcome.codes == {200: 10_000}
    assert (outcome.swapped, outcome.lost) == (0, 0)


QUEUE, DEADLINE = 8, 10.0


def test_ten_times_too_much_for_a_minute() -> None:
    """P16."""
    with process(f"copy={COPY}", "--max-queue", QUEUE, "--deadline", DEADLINE) as server:
        server.ready()
        alone = asyncio.run(closed_load(server.url, 5.0, n_clients=1))
        peak = asyncio.run(closed_load(server.url, 10.0, n_clients=6))
        seen = asyncio.run(open_load(server.url, 60.0, 10 * peak.rate))
        after = asyncio.run(closed_load(server.url, 1.0, n_clients=1))
    calm, crowded = alone.percentile(0.99), seen.percentile(0.99)
    print(
        f"{seen.codes}; {peak.rate:.1f}/s at the peak, {seen.rate:.1f}/s of {10 * peak.rate:.0f}/s;"
        f" p99 {1e3 * calm:.0f} ms alone, {1e3 * crowded:.0f} ms accepted; slowest {seen.slowest:.2f} s"
    )

    assert set(seen.codes) <= {200, 429, 503, 504}
    assert seen.codes[429]
    assert (seen.lost, seen.without_retry_after) == (0, 0)
    assert seen.slowest <= DEADLINE + 1
    assert crowded <= 2 * calm + QUEUE / peak.rate
    assert seen.rate >= 0.9 * peak.rate
    assert set(after.codes) == {200}


def test_200_disconnects() -> None:
    """P17; that a place is free within a step is held by tests/serving/test_worker.py."""
    left, neighbours, seconds = disconnects(200, 200)
    print(f"all places free {1e3 * seconds:.0f} ms after the last had gone")

    assert left == 0
    assert neighbours.codes == {200: 200} and neighbours.swapped == 0
    assert seconds <= 0.2


def test_200_slow_sockets_for_a_minute() -> None:
    seen = slow_sockets(200, 60.0, {})
    print(
        f"{seen.closed} closed, the last after {seen.longest_life:.1f} s;"
        f" {seen.answered} good requests answered, the slowest in {1e3 * seen.slowest:.0f} ms"
    )

    assert seen.closed >= 200
    assert seen.longest_life <= 15
    assert seen.slowest < 1
