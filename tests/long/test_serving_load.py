"""What a server promises, under load on this machine: nothing lost, nothing mixed up, nothing left behind."""

import pytest

from tests.serving.proofs import disconnects, echoes, overload, slow_sockets

pytestmark = pytest.mark.long


def test_10_000_echoes_without_a_swap() -> None:
    outcome = echoes(10_000, 128, seed=11)
    print(outcome.codes, outcome.swapped)

    assert outcome.codes == {200: 10_000}
    assert (outcome.swapped, outcome.lost) == (0, 0)


def test_ten_times_too_much_for_a_minute() -> None:
    calm = overload(5.0, n_clients=2, max_queue=12)
    outcome = overload(60.0, n_clients=150, max_queue=12)
    rates = (calm.codes[200] / 5, outcome.codes[200] / 60)
    print(
        outcome.codes,
        f"{rates[0]:.0f}/s calm, {rates[1]:.0f}/s overloaded, p99 {outcome.percentile(0.99):.2f} s",
    )

    assert set(outcome.codes) <= {200, 429, 503, 504}
    assert (outcome.lost, outcome.without_retry_after, outcome.swapped) == (0, 0, 0)
    assert outcome.slowest <= 11  # deadline + 1 s
    assert outcome.codes[429]
    assert rates[1] >= 0.5 * rates[0]  # refusing costs something on the cores that the clients use too


def test_200_disconnects() -> None:
    left, neighbours = disconnects(200)

    assert left == 0
    assert neighbours.codes == {200: 40} and neighbours.swapped == 0


def test_200_slow_sockets_for_a_minute() -> None:
    slowest, closed = slow_sockets(200, 60.0)
    print(f"slowest answer meanwhile: {slowest:.2f} s")

    assert closed == 200
    assert slowest < 1
