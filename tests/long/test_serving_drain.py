"""SIGTERM with a hundred requests in flight: what runs is finished, what waits is told so."""

import asyncio
import json
import signal
from collections import Counter

import httpx
import pytest

from tests.serving.proofs import words_that_copy
from tests.serving.running import COPY
from tests.serving.test_life import process

pytestmark = pytest.mark.long
ROUNDS = 20


async def in_flight(url: str, words: list[str], stop: asyncio.Event) -> Counter[str]:
    """What became of requests that are all on their way when the signal comes."""
    found: Counter[str] = Counter()
    limits = httpx.Limits(max_connections=len(words))
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:

        async def ask(word: str) -> None:
            try:
                reply = await client.post("/v1/translate", json={"text": word, "beam": 8})
            except httpx.ConnectError:
                found["refused"] += 1
                return
            except httpx.HTTPError:
                found["lost"] += 1
                return
            if reply.status_code == 200:
                right = reply.json()["translations"][0]["text"] == word
                found["right" if right else "wrong"] += 1
            else:
                found[str(reply.status_code)] += 1
                assert "retry-after" in reply.headers

        asked = [asyncio.create_task(ask(word)) for word in words]
        while found["right"] < 3:  # some are answered, some run, the others wait
            await asyncio.sleep(0.001)
        stop.set()
        await asyncio.gather(*asked)
        await ask(words[0])  # one more, which comes too late
    return found


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_sigterm_with_a_hundred_in_flight(turn: int) -> None:
    words = words_that_copy(100, 100 + turn)
    with process(f"copy={COPY}", "--max-batch-tokens", "3400") as server:
        server.ready()

        async def drill() -> Counter[str]:
            stop = asyncio.Event()

            async def end() -> None:
                await stop.wait()
                server.process.send_signal(signal.SIGTERM)

            ending = asyncio.create_task(end())
            found = await in_flight(server.url, words, stop)
            await ending
            return found

        found = asyncio.run(drill())
        code = server.end(40)
    begun = next(json.loads(line)["running"] for line in server.lines if '"draining"' in line)
    print(found, f"{begun} were running")

    assert code == 0
    assert sum(found.values()) == 101
    assert set(found) <= {"right", "503", "refused"}
    assert found["right"] >= max(begun, 3)  # what had begun was finished
    assert found["503"] + found["refused"] >= 1
