"""10,000 requests that are wrong in every way: no 500, no growth, and the next good one is answered."""

import random

import httpx
import pytest
from hypothesis import HealthCheck, given, settings

from glassformer.serving.memory import resident
from tests.serving.fuzzing import PATHS, bodies, check, mutate
from tests.serving.running import Running, tiny_tools

pytestmark = pytest.mark.long
MOST_GROWTH = 50 << 20


@pytest.mark.filterwarnings("ignore")
def test_10_000_fuzzed_requests() -> None:
    draw = random.Random()
    seed = draw.randrange(2**32)
    print(f"seed {seed}")
    draw.seed(seed)
    with Running(tiny_tools()) as server:
        good = server.text("The cat", max_tokens=4)
        for _ in range(300):  # what is allocated once is no growth
            check(server.client.post(draw.choice(PATHS), json={"text": "The cat", "max_tokens": 2}))
        before = resident()
        for _ in range(5_000):
            content = mutate(draw)
            kind = {"Content-Type": "application/json"}
            check(server.client.post(draw.choice(PATHS), content=content, headers=kind))
        _structured(server, 4_000)
        _by_schema(server)
        growth = resident() - before
        print(f"memory grew by {growth >> 20} MiB")

        assert server.client.get("/readyz").status_code == 200
        assert server.text("The cat", max_tokens=4) == good
        assert growth <= MOST_GROWTH


def _structured(server: Running, n: int) -> None:
    draw = random.Random(1)

    @given(body=bodies)
    @settings(max_examples=n, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    def one(body: object) -> None:
        try:
            check(server.client.post(draw.choice(PATHS), json=body))
        except httpx.ReadTimeout:
            pytest.fail("no answer")

    one()


def _by_schema(server: Running) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_dict(server.client.get("/openapi.json").json())
    for result in schema.get_all_operations():

        @given(case=result.ok().as_strategy())
        @settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        def one(case) -> None:  # type: ignore[no-untyped-def]  # schemathesis has no types
            check(case.call(base_url=server.url, timeout=60))

        one()
