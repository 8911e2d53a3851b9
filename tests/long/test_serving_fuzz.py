"""10,000 requests that are wrong in every way: no 500, no growth, and the next good one is answered."""

import random
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings

from benchmarks.serve_load import resident_mib
from glassformer.checkpoint import save_model
from tests.serving.fuzzing import PATHS, bodies, check, mutate
from tests.serving.test_life import process
from tests.unit.decoding.texts import random_model, tokenizer

pytestmark = pytest.mark.long
MODELS = {
    "en-fr": {"family": "encoder-decoder"},
    "lm": {"family": "decoder-only"},
    "masked": {"family": "encoder-only"},
    "classes": {"family": "encoder-only", "head": "classifier"},
}
MOST_GROWTH = 50
"""MiB."""


@pytest.mark.filterwarnings("ignore")
def test_10_000_fuzzed_requests(tmp_path: Path) -> None:
    draw = random.Random()
    seed = draw.randrange(2**32)
    print(f"seed {seed}")
    draw.seed(seed)
    models = []
    for name, wanted in MODELS.items():
        save_model(tmp_path / name, random_model(**wanted), tokenizer(), card="random")
        models.append(f"{name}={tmp_path / name}")
    with process(*models) as server, httpx.Client(base_url=server.url, timeout=120) as client:
        server.ready()
        words = {"model": "en-fr", "text": "The cat", "max_tokens": 4}
        good = client.post("/v1/translate", json=words).json()["translations"]
        for _ in range(300):  # what is allocated once is no growth
            check(client.post(draw.choice(PATHS), json={"text": "The cat", "max_tokens": 2}))
        before = resident_mib(server.process.pid)
        for _ in range(5_000):
            content = mutate(draw)
            kind = {"Content-Type": "application/json"}
            check(client.post(draw.choice(PATHS), content=content, headers=kind))
        _structured(client, 4_000)
        _by_schema(client, server.url)
        growth = resident_mib(server.process.pid) - before
        print(f"memory grew by {growth} MiB from {before}")

        assert server.process.poll() is None
        assert client.get("/readyz").status_code == 200
        assert client.post("/v1/translate", json=words).json()["translations"] == good
        assert growth <= MOST_GROWTH


def _structured(client: httpx.Client, n: int) -> None:
    draw = random.Random(1)

    @given(body=bodies)
    @settings(max_examples=n, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    def one(body: object) -> None:
        try:
            check(client.post(draw.choice(PATHS), json=body))
        except httpx.ReadTimeout:
            pytest.fail("no answer")

    one()


def _by_schema(client: httpx.Client, url: str) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    for result in schema.get_all_operations():

        @given(case=result.ok().as_strategy())
        @settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        def one(case) -> None:  # type: ignore[no-untyped-def]  # schemathesis has no types
            check(case.call(base_url=url, timeout=60))

        one()
