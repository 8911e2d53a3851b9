"""Short forms of the proofs under load; their long forms are in tests/long."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from tests.serving.clients import Outcome, ask, connected
from tests.serving.proofs import disconnects, echoes, overload, slow_sockets, words_that_copy
from tests.serving.running import Running, copier


def test_no_answer_goes_to_somebody_else() -> None:
    outcome = echoes(200, 32, seed=1)

    assert outcome.codes == {200: 200}
    assert (outcome.swapped, outcome.lost) == (0, 0)


def test_overload_is_shed() -> None:
    outcome = overload(2.0, n_clients=40, max_queue=4)

    assert set(outcome.codes) <= {200, 429, 503, 504}
    assert outcome.codes[200] and outcome.codes[429]
    assert (outcome.lost, outcome.without_retry_after, outcome.swapped) == (0, 0, 0)


def test_those_who_hang_up_leave_nothing_behind() -> None:
    left, neighbours, _ = disconnects(30, 40)

    assert left == 0
    assert neighbours.codes == {200: 40} and neighbours.swapped == 0


def test_trickling_sockets_hold_up_nobody() -> None:
    seen = slow_sockets(40, 2.0, {"header_seconds": 0.5, "request_seconds": 1.0})

    assert seen.closed >= 40 and seen.answered


def test_a_server_that_stops_answers_everybody() -> None:
    outcome, pool = Outcome(), words_that_copy(40, 3)
    with Running({"copy": copier()}, limits={"max_batch_tokens": 200}) as server:

        async def stop_in_between() -> None:
            async with connected(server.url, 40) as client:
                asked = [asyncio.create_task(ask(client, outcome, word, beam=8)) for word in pool]
                while not outcome.codes[200]:
                    await asyncio.sleep(0.001)
                server.server.should_exit = True
                await asyncio.gather(*asked)

        asyncio.run(stop_in_between())

    assert set(outcome.codes) <= {200, 503} and sum(outcome.codes.values()) == 40
    assert (outcome.lost, outcome.without_retry_after, outcome.swapped) == (0, 0, 0)


def test_many_short_texts_fit_beside_each_other() -> None:
    """Their tokens are few, but every beam is a row."""
    with Running({"copy": copier("auto")}) as server, ThreadPoolExecutor(5) as pool:
        body = {"text": ["ab"] * 64, "beam": 8, "max_tokens": 4}
        replies = list(pool.map(lambda _: server.post("/v1/translate", **body), range(5)))

    assert [reply.status_code for reply in replies] == [200] * 5
    assert all(len(reply.json()["translations"]) == 64 for reply in replies)
