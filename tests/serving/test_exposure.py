"""Who is let in: keys, rates, origins, and what a server refuses to start with."""

import pytest

from glassformer.errors import ConfigError
from glassformer.serving.rate import RateLimit
from glassformer.serving.settings import ServerSettings, named_models, read_keys
from tests.serving.running import Running, tiny_tools

KEY = "k" * 32
OTHER = "o" * 32
MODELS = (("en-fr", None),)


def test_a_server_that_others_can_reach_needs_a_key() -> None:
    with pytest.raises(ConfigError, match="can be reached from other machines, but there is no key"):
        ServerSettings(MODELS, host="0.0.0.0").check()

    ServerSettings(MODELS, host="0.0.0.0", keys=(KEY.encode(),)).check()
    ServerSettings(MODELS, host="0.0.0.0", insecure=True).check()
    ServerSettings(MODELS, host="127.0.0.1").check()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keys": (b"short",)}, "a key has 5 characters; it needs at least 22"),
        ({"cors": ("*",)}, "--cors *: should be an origin such as https://example.org"),
        (
            {"models": (("../x", None),)},
            "'../x' cannot name a model; use letters, digits, dot, dash, underscore",
        ),
        ({"models": (("a", None), ("a", None))}, "two models have one name: a, a"),
    ],
)
def test_what_is_refused_at_the_start(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as told:
        ServerSettings(**({"models": MODELS} | settings)).check()  # type: ignore[arg-type]  # wrong on purpose

    assert str(told.value) == message


def test_keys_come_from_a_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "keys").write_text(f"# two\n{KEY}\n\n{OTHER}\n", encoding="utf-8")

    assert read_keys(tmp_path / "keys") == (KEY.encode(), OTHER.encode())
    with pytest.raises(ConfigError, match="No such file"):
        read_keys(tmp_path / "none")


def test_models_are_named_by_their_directories() -> None:
    assert [name for name, _ in named_models(["runs/a-01", "x=/models/b", "/models/c/model"])] == [
        "a-01",
        "x",
        "c",
    ]
    assert named_models([]) == (("en-fr", None),)


def test_a_key_opens_every_way() -> None:
    with Running(tiny_tools(), keys=(KEY.encode(), OTHER.encode())) as server:
        bare = server.post("/v1/translate", text="a", max_tokens=2)
        wrong = server.client.get("/v1/models", headers={"Authorization": f"Bearer {KEY}x"})
        bearer = server.client.get("/v1/models", headers={"Authorization": f"Bearer {KEY}"})
        second = server.client.get("/v1/models", headers={"Authorization": f"Bearer {OTHER}"})
        libre = server.post("/translate", q="a", target="fr", api_key=KEY)
        libre_bare = server.post("/translate", q="a", target="fr")
        metrics = server.client.get("/metrics")
        signs = [server.client.get(path).status_code for path in ("/livez", "/readyz", "/health", "/docs")]
        in_url = server.client.get(f"/v1/models?api_key={KEY}")

    assert (bare.status_code, bare.headers["www-authenticate"]) == (401, 'Bearer realm="glassformer"')
    assert (wrong.status_code, bearer.status_code, second.status_code) == (401, 200, 200)
    assert (libre.status_code, libre_bare.status_code) == (200, 403)
    assert libre_bare.json() == {"error": "a valid key is needed"}
    assert metrics.status_code == 401 and in_url.status_code == 401
    assert signs == [200] * 4


def test_an_allowed_origin_is_told_so() -> None:
    origin = "https://example.org"
    with Running(tiny_tools(), cors=(origin,)) as server:
        preflight = server.client.options("/v1/translate", headers={"Origin": origin})
        asked = server.client.get("/livez", headers={"Origin": origin, "Sec-Fetch-Site": "cross-site"})
        other = server.client.get("/livez", headers={"Origin": "https://example.net"})

    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-headers"] == "authorization, content-type"
    assert asked.headers["access-control-allow-origin"] == origin
    assert "access-control-allow-credentials" not in asked.headers
    assert other.status_code == 403


def test_a_proxy_may_call_the_server_by_its_own_name() -> None:
    with Running({}, allowed_hosts=("translate.example.org",)) as server:
        assert server.raw(server.head("GET /livez HTTP/1.1", host="translate.example.org"))[0] == 200
        assert server.raw(server.head("GET /livez HTTP/1.1", host="example.org"))[0] == 403


def test_each_client_has_a_rate() -> None:
    with Running({}, limits={"rate": 0.5, "burst": 3}) as server:
        replies = [server.client.get("/v1/models") for _ in range(5)]
        alive = server.client.get("/livez").status_code

    assert [reply.status_code for reply in replies] == [200] * 3 + [429] * 2
    assert all(1 <= int(reply.headers["retry-after"]) <= 2 for reply in replies[3:])
    assert alive == 200


def test_a_bucket_fills_again() -> None:
    now = 0.0
    limit = RateLimit(2.0, 2, clock=lambda: now)

    assert [limit.wait(b"a"), limit.wait(b"a"), limit.wait(b"a"), limit.wait(b"b")] == [0, 0, 1, 0]
    now = 0.5
    assert [limit.wait(b"a"), limit.wait(b"a")] == [0, 1]
