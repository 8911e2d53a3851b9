"""Every route about a trace, for every family: shapes, types, numbers equal to the model's own."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from fastapi.testclient import TestClient

import glassformer as gf
from glassformer.probe import Trace, explain
from tests.explorer.api.asking import get, numbers, traced

FAMILIES = ("ed", "lm", "mlm", "cls", "emb")
SOURCE = "The cat sat on the mat."


def own(models: Path, run: str, **options: Any) -> Trace:
    """The same trace without the explorer."""
    subject = gf.load(models / run)
    if run in ("ed", "lm"):
        options = {"max_length": 6, "nbest": 4, **options}
    return explain(subject, SOURCE, **options)


def documented(meta: dict[str, Any]) -> None:
    """The fields that docs/explorer-api.md promises."""
    assert set(meta) == {
        *(
            "id",
            "run",
            "checkpoint",
            "step",
            "family",
            "request",
            "architecture",
            "kinds",
            "shapes",
            "tokens",
        ),
        *("words", "text", "n_given", "steps", "result", "alignment", "fidelity", "interventions", "blocks"),
        *("lens", "has_beam", "has_logits", "warnings", "timings", "bytes"),
    }
    for tokens in meta["tokens"].values():
        for index, token in enumerate(tokens):
            assert set(token) == {"index", "id", "piece", "text", "start", "end", "word", "special", "bytes"}
            assert token["index"] == index
    for step in meta["steps"]:
        assert {"step", "given", "forced", "chosen", "entropy", "top"} <= set(step)
        assert len(step["top"]) == 10


@pytest.mark.parametrize("run", FAMILIES)
def test_meta_is_what_is_documented_and_true(client: TestClient, models: Path, run: str) -> None:
    meta, found = traced(client, run), own(models, run)
    documented(meta)

    assert get(client, f"traces/{meta['id']}/meta") == meta
    assert meta["fidelity"]["ok"] and meta["fidelity"]["attention"] <= 1e-5
    assert meta["kinds"] == found.kinds == meta["architecture"]["kinds"]
    assert [token["id"] for token in meta["tokens"].get("target", [])] == list(found.answer.fed)
    for kind in found.kinds:
        shape = meta["shapes"][kind]
        n_queries, n_keys = found.layers(kind)[0].mask.shape
        assert (shape["queries"], shape["keys"]) == (n_queries, n_keys)
    if found.dec:
        assert meta["result"]["text"] == found.text
        assert meta["result"]["score"] == pytest.approx(meta["result"]["logp"] / meta["result"]["divisor"])
        chosen = [step["chosen"]["id"] for step in meta["steps"]]
        assert chosen == list(found.answer.labels)


@pytest.mark.parametrize("run", FAMILIES)
def test_tensors_are_the_models_own(client: TestClient, models: Path, run: str) -> None:
    meta, found = traced(client, run), own(models, run)
    at = f"traces/{meta['id']}"
    for kind in found.kinds:
        layer = found.layers(kind)[1]
        torch.testing.assert_close(
            numbers(client, f"{at}/t/{kind}.1.1.weights"), layer.weights[1], rtol=1e-3, atol=1e-4
        )
        torch.testing.assert_close(numbers(client, f"{at}/t/{kind}.1.1.weights?dtype=f32"), layer.weights[1])
        torch.testing.assert_close(
            numbers(client, f"{at}/t/{kind}.1.weights?dtype=f32&rows=1:3"), layer.weights[:, 1:3]
        )
        torch.testing.assert_close(numbers(client, f"{at}/t/{kind}.0.1.q"), found.layers(kind)[0].q[1])
        torch.testing.assert_close(
            numbers(client, f"{at}/t/{kind}.0.1.v?rows=0:2"), found.layers(kind)[0].v[1, :2]
        )
        assert torch.equal(numbers(client, f"{at}/t/{kind}.mask"), layer.mask.float())
        scores = numbers(client, f"{at}/t/{kind}.1.0.scores")
        torch.testing.assert_close(scores, layer.scores[0])
        assert torch.equal(scores.isneginf(), ~layer.mask)
    stack = "dec" if found.dec else "enc"
    for site in meta["blocks"][stack]:
        torch.testing.assert_close(numbers(client, f"{at}/t/x.{stack}.1.{site}"), found.state(stack, 1, site))
    if meta["has_logits"]:
        row = client.get(f"/api/{at}/logits/2")
        torch.testing.assert_close(numbers(client, f"{at}/logits/2"), found.logits[2])
        assert [int(i) for i in row.headers["x-never"].split(",")] == list(found.never)


@pytest.mark.parametrize("run", FAMILIES)
def test_an_atlas_is_the_root_of_the_largest_weights(client: TestClient, models: Path, run: str) -> None:
    meta, found = traced(client, run), own(models, run)
    for kind in found.kinds:
        pictures = numbers(client, f"traces/{meta['id']}/atlas/{kind}")
        weights = torch.stack([layer.weights for layer in found.layers(kind)])

        assert pictures.shape == weights.shape  # up to 64 tokens nothing is pooled
        assert ((pictures / 255) - weights.sqrt()).abs().max() <= 0.5 / 255 + 1e-5


@pytest.mark.parametrize("run", FAMILIES)
def test_views_answer_in_the_shape_that_is_documented(client: TestClient, run: str) -> None:
    meta = traced(client, run)
    at = f"traces/{meta['id']}"
    heads = get(client, f"{at}/heads")["heads"]
    layers = get(client, f"{at}/layers")["stacks"]
    masks = get(client, f"{at}/masks")["kinds"]

    assert len(heads) == sum(shape["layers"] * shape["heads"] for shape in meta["shapes"].values())
    assert [each["kind"] for each in masks] == meta["kinds"]
    for stack, told in layers.items():
        assert told["depths"] == len(told["norm"]) == len(told["cosine"])
        assert told["sublayers"] == (
            ["attention", "cross", "feed_forward"]
            if (stack, run) == ("dec", "ed")
            else ["attention", "feed_forward"]
        )
        assert len(told["feed_forward"][0]["top"][0]) == 5
    if meta["lens"]:
        lens = get(client, f"{at}/lens?k=3")
        assert len(lens["cells"]) == lens["depths"] and len(lens["cells"][0][0]["top"]) == 3
        one, same = get(client, f"{at}/lens/1/0?k=3"), lens["cells"][1][0]
        assert [each["id"] for each in one["top"]] == [each["id"] for each in same["top"]]
        assert one["chosen"]["rank"] == same["chosen"]["rank"]
    else:
        get(client, f"{at}/lens", 404)
    kind = meta["kinds"][-1]
    cell = get(client, f"{at}/cell/{kind}.1.0/2/1")
    assert cell["weight"] == pytest.approx(
        float(numbers(client, f"{at}/t/{kind}.1.0.weights?dtype=f32")[2, 1])
    )


def test_an_alignment_of_another_head(client: TestClient) -> None:
    meta = traced(client)
    told = get(client, f"traces/{meta['id']}/alignment?layer=1&head=0")

    assert told["layer"] == 1 and told["source"] == meta["words"]["source"]
    assert len(told["weights"]) == len(told["target"])
    get(client, f"traces/{meta['id']}/alignment?layer=9", 400)
    get(client, f"traces/{traced(client, 'lm')['id']}/alignment", 404)


def test_a_beam_has_its_tree(client: TestClient) -> None:
    meta = traced(client, decode={"beam": 3, "max_length": 5})
    told = get(client, f"traces/{meta['id']}/beam")

    assert told["beam"] == 3 and told["nodes"][0]["status"] == "root"
    assert {node["status"] for node in told["nodes"][1:]} <= {"kept", "pruned", "finished"}
    assert told["chosen"] is not None
    get(client, f"traces/{traced(client, target='Le chat.')['id']}/beam", 404)


def test_the_same_question_has_the_same_id_and_its_request_can_be_sent_again(client: TestClient) -> None:
    body = {"run": "ed", "source": "A dog is sleeping.", "decode": {"max_length": 5}}
    first = client.post("/api/traces", json=body)
    again = client.post("/api/traces", json=first.json()["meta"]["request"])

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    assert client.delete(f"/api/traces/{first.json()['id']}").status_code == 204
    gone = client.get(f"/api/traces/{first.json()['id']}/meta")
    assert gone.status_code == 410
    assert client.post("/api/traces", json=body).status_code == 201


def test_a_given_target_and_a_light_score_agree(client: TestClient) -> None:
    meta = traced(client, target="Le chat s'assit.")
    told = client.post(
        "/api/score", json={"run": "ed", "source": SOURCE, "target": "Le chat s'assit."}
    ).json()

    assert meta["result"]["decoded"] is False and meta["fidelity"]["incremental"] is None
    assert meta["result"]["logp"] == pytest.approx(told["logp"], abs=1e-4)
    assert [step["chosen"]["logp"] for step in meta["steps"]] == pytest.approx(
        [t["logp"] for t in told["tokens"]], abs=1e-4
    )


def test_interventions_and_their_difference(client: TestClient) -> None:
    one = traced(client, target="Le chat.")
    mute = {"type": "mute", "kind": "cross", "layer": 0, "head": 1}
    other = traced(client, target="Le chat.", interventions=[mute])
    told = get(client, f"diff/{one['id']}/{other['id']}")
    moved = numbers(client, f"diff/{one['id']}/{other['id']}/t/cross.1.0.weights")
    a, b = (numbers(client, f"traces/{each['id']}/t/cross.1.0.weights?dtype=f32") for each in (one, other))

    assert other["interventions"] == [mute]
    assert told["same_target"]["total"] == pytest.approx(
        other["result"]["logp"] - one["result"]["logp"], abs=1e-4
    )
    torch.testing.assert_close(moved, b - a)
    assert told["comparable"] == {"enc": True, "dec": True, "cross": True}
    longer = traced(client, source="A dog is sleeping near 42 houses.")
    assert client.get(f"/api/diff/{one['id']}/{longer['id']}/t/enc.0.0.weights").status_code == 422


def test_a_sweep_tells_each_head_and_is_kept(client: TestClient) -> None:
    meta = traced(client, "lm", source="Le chat s'assit")
    reply = client.post(f"/api/traces/{meta['id']}/sweep", json={"kinds": ["dec"]})
    events = [part.split("\n") for part in reply.text.strip().split("\n\n")]
    told = [json.loads(event[1].removeprefix("data: ")) for event in events]

    assert reply.headers["content-type"].startswith("text/event-stream")
    assert [event[0] for event in events] == ["event: head"] * 4 + ["event: end"]
    assert [each["done"] for each in told[:-1]] == [1, 2, 3, 4] and told[0]["total"] == 4
    kept = {
        (h["layer"], h["head"]): h["importance"] for h in get(client, f"traces/{meta['id']}/heads")["heads"]
    }
    assert all(kept[each["layer"], each["head"]] == pytest.approx(each["importance"]) for each in told[:-1])
    assert client.post(f"/api/traces/{meta['id']}/sweep", json={"kinds": ["cross"]}).status_code == 422


@pytest.mark.parametrize(
    "path",
    [
        *(
            "t/cross.9.0.weights",
            "t/nothing",
            "atlas/dec2",
            "logits/99",
            "logits/-1",
            "cell/cross.0/1/1",
            "lens/9/0",
        ),
        *(
            "cell/cross.0.0/99/0",
            "cell/enc.0.0/0/99",
            "x",
            "t/../../etc",
            "lens/0/1000000000000000000000",
            "layers/1",
        ),
    ],
)
def test_what_is_not_there_is_404(client: TestClient, path: str) -> None:
    meta = traced(client)
    told = get(client, f"traces/{meta['id']}/{path}", 404)

    assert told["status"] == 404 and told["detail"]


@pytest.mark.parametrize("query", ["rows=x", "rows=1", "rows=-1:2", "dtype=f64"])
def test_a_wrong_query_is_400(client: TestClient, query: str) -> None:
    get(client, f"traces/{traced(client)['id']}/t/enc.0.0.weights?{query}", 400)


def test_offsets_are_those_of_javascript(client: TestClient) -> None:
    """Strings there count UTF-16 units: an emoji is two."""
    told = client.post("/api/tokenize", json={"run": "ed", "text": "😀 cat"}).json()
    encoded = told["normalised"].encode("utf-16-le")
    token = next(each for each in told["tokens"] if each["text"].startswith("c"))

    assert encoded[2 * token["start"] : 2 * token["end"]].decode("utf-16-le") == token["text"]
    assert math.isclose(token["start"], 3)
