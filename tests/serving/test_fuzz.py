"""Whatever is sent, the server answers within its rules, and goes on."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.serving.fuzzing import ALLOWED, PATHS, bodies, check, mutate
from tests.serving.running import Running

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@given(path=st.sampled_from(PATHS), body=bodies)
@settings(max_examples=60, derandomize=True, **QUIET)  # type: ignore[arg-type]  # a table of options
def test_nearly_right_requests(server: Running, path: str, body: object) -> None:
    check(server.client.post(path, json=body))


def test_broken_bytes(server: Running) -> None:
    draw = random.Random(6)
    for _ in range(150):
        check(
            server.client.post(
                draw.choice(PATHS), content=mutate(draw), headers={"Content-Type": "application/json"}
            )
        )
    assert server.client.get("/readyz").status_code == 200


def test_broken_http(server: Running) -> None:
    draw = random.Random(7)
    good = server.head("POST /v1/translate HTTP/1.1", "Content-Type: application/json", "Content-Length: 2")
    for _ in range(60):
        data = bytearray(good + b"{}")
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        with server.socket() as connection:
            connection.settimeout(0.2)
            connection.sendall(bytes(data))
            connection.shutdown(1)
            try:
                head = connection.recv(4096)
            except TimeoutError:
                continue
        assert not head or int(head.split()[1]) in ALLOWED

    assert server.client.get("/readyz").status_code == 200


@pytest.mark.filterwarnings("ignore")
def test_schemathesis(server: Running) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_dict(server.client.get("/openapi.json").json())

    for result in schema.get_all_operations():
        operation = result.ok()

        @given(case=operation.as_strategy())
        @settings(max_examples=3, derandomize=True, **QUIET)  # type: ignore[arg-type]  # a table of options
        def one(case) -> None:  # type: ignore[no-untyped-def]
            check(case.call(base_url=server.url, timeout=60))

        one()
