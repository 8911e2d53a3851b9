"""Runs, checkpoints, curves, tokenizers, embeddings, weights: everything that needs no trace."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from fastapi.testclient import TestClient

import glassformer as gf
from glassformer.decoding import LanguageModel, TextEncoder, Translator
from glassformer.explorer.app import _new_metrics
from glassformer.nn import EncoderDecoder
from tests.explorer.api.asking import get, numbers, traced


def translator(models: Path) -> EncoderDecoder:
    found = gf.load(models / "ed")
    assert isinstance(found, Translator)
    return found.models[0]


def test_about_and_the_list_of_runs(client: TestClient) -> None:
    about, runs = get(client, "about"), get(client, "runs")["runs"]

    assert about["live"] is True and about["default_run"] == "ed" and about["limits"]["tokens"] == 512
    assert [run["id"] for run in runs] == ["ed", "lm", "mlm", "cls", "emb", "trained-01"]
    last = runs[-1]
    assert (last["kind"], last["status"], last["step"]) == ("run", "training", 30)
    assert last["languages"] == ["en", "fr"] and last["scores"] == {"loss": 4.0} and last["error"] is None


@pytest.mark.parametrize("run", ["ed", "lm", "mlm", "cls", "emb", "trained-01"])
def test_a_run_is_described_from_its_config(client: TestClient, run: str) -> None:
    told = get(client, f"runs/{run}")
    config = told["config"]

    assert told["architecture"]["family"] == config["family"] == told["family"]
    assert told["architecture"]["positions"] == config["positions"]
    assert told["architecture"]["final_norm"] is (config["norm"] != "post")
    assert told["tokenizer"]["specials"]["eos"] == 2
    assert told["parameters"] == get(client, f"runs/{run}/weights")["total"]
    assert "secret" not in json.dumps(told)


def test_checkpoints_of_a_run_in_training(client: TestClient) -> None:
    told = get(client, "runs/trained-01/checkpoints")["checkpoints"]

    assert [each["id"] for each in told] == ["step-000010", "step-000020", "step-000030"]
    assert [each["origin"] for each in told] == ["history", "checkpoint", "checkpoint"]
    assert [each["best"] for each in told] == [False, True, False]
    assert told[0]["metrics"] == {} and told[2]["metrics"]["bleu"] == 3.5
    assert get(client, "runs/ed/checkpoints")["checkpoints"][0]["id"] == "model"


def test_the_time_machine_looks_at_each_checkpoint(client: TestClient) -> None:
    found = {
        step: traced(client, "trained-01", checkpoint=f"step-0000{step}", target="Le chat.")
        for step in (10, 20, 30)
    }

    assert len({meta["id"] for meta in found.values()}) == 3
    assert [meta["step"] for meta in found.values()] == [10, 20, 30]
    assert len({round(meta["result"]["logp"], 6) for meta in found.values()}) == 3
    newest = traced(client, "trained-01", target="Le chat.")
    assert newest["checkpoint"] == "step-000030"
    finished = traced(client, "ed", target="Le chat.")  # step 30 was saved with its very weights
    assert newest["result"]["logp"] == pytest.approx(finished["result"]["logp"])
    told = get(client, f"diff/{found[10]['id']}/{found[30]['id']}")
    assert told["same_target"] is not None


def test_metrics_come_whole_or_from_where_one_left_off(client: TestClient, models: Path) -> None:
    told = get(client, "runs/trained-01/metrics")
    path = models / "trained-01" / "metrics.jsonl"

    assert len(told["lines"]) == 31 and told["done"] is False
    assert told["lines"][-1]["ppl"] is None  # infinity is no JSON
    assert get(client, f"runs/trained-01/metrics?after={told['next']}")["lines"] == []
    before = path.read_bytes()
    try:
        path.write_bytes(before + b'ne"}\n' + b'{"step": 31, "split": "train", "loss": 1.0}\n')
        new = get(client, f"runs/trained-01/metrics?after={told['next']}")
        assert [line["step"] for line in new["lines"]] == [31]
    finally:
        path.write_bytes(before)
    get(client, "runs/trained-01/metrics?after=x", 400)


def test_a_stream_of_a_run_that_has_ended_ends(client: TestClient) -> None:
    with client.stream("GET", "/api/runs/ed/metrics/stream") as reply:
        text = "".join(reply.iter_text())

    assert text == "event: end\ndata: {}\n\n"


def test_samples_and_settings(client: TestClient) -> None:
    (sample,) = get(client, "runs/trained-01/samples")["samples"]
    told = get(client, "runs/trained-01/diff/ed")["differences"]

    assert sample == {
        "step": 20,
        "rows": [{"source": "The cat.", "reference": "Le chat.", "hypothesis": "Le chien."}],
    }
    assert told == []  # one is a model alone, and their architectures agree
    assert {each["key"] for each in get(client, "runs/lm/diff/ed")["differences"]} >= {
        "model.family",
        "model.norm",
    }


def test_a_vocabulary_and_a_search_in_it(client: TestClient, models: Path) -> None:
    pieces = get(client, "runs/ed/vocabulary")["pieces"]
    found = get(client, "runs/ed/tokens?q=cat&limit=5")["tokens"]

    assert pieces[:3] == ["<pad>", "<s>", "</s>"]
    assert len(pieces) == gf.load(models / "ed").tokenizer.size
    assert found and all(pieces[each["id"]] == each["piece"] for each in found)
    assert found[0]["piece"].replace("▁", "") == "cat"


def test_merges_lead_from_characters_to_pieces(client: TestClient, models: Path) -> None:
    told = client.post("/api/tokenize", json={"run": "ed", "text": "The cats sat, 日本!"}).json()
    tokenizer = gf.load(models / "ed").tokenizer
    ids = tokenizer.encode("The cats sat, 日本!")

    assert [token["id"] for token in told["tokens"]] == [*ids, tokenizer.eos_id]
    for word in told["words"]:
        pieces = [token["piece"] for token in told["tokens"][word["first"] : word["last"] + 1]]
        last = word["merges"][-1]["symbols"] if word["merges"] else word["symbols"]
        assert last == pieces
        assert told["normalised"][word["start"] : word["end"]] == word["text"]


@pytest.mark.parametrize("run", ["ed", "lm", "mlm"])
def test_a_batch_needs_its_padding_mask(client: TestClient, run: str) -> None:
    texts = ["The cat.", "A dog is sleeping near 42 houses."]
    told = client.post("/api/batch", json={"run": run, "texts": texts}).json()

    assert told["difference"]["with_mask"] < 1e-5 < told["difference"]["without_mask"]
    assert sum(told["rows"][0]["padding"]) > 0 and sum(told["rows"][1]["padding"]) == 0
    assert all(len(row["tokens"]) == told["width"] for row in told["rows"])


def test_neighbours_are_the_nearest_by_cosine(client: TestClient, models: Path) -> None:
    told = get(client, "runs/ed/neighbours?token=40&k=5")
    table = translator(models).target_embedding.weight
    cosines = torch.cosine_similarity(table, table[40][None])
    cosines[40] = -2
    best = cosines.topk(5)

    assert [each["id"] for each in told["neighbours"]] == best.indices.tolist()
    assert [each["cosine"] for each in told["neighbours"]] == pytest.approx(best.values.tolist(), abs=1e-5)
    get(client, "runs/ed/neighbours?token=999999", 400)


def test_a_map_holds_the_tokens_asked_for(client: TestClient) -> None:
    told = get(client, "runs/ed/pca?tokens=40,41&n=50")

    assert told["ids"][:2] == [40, 41] and told["marked"] == [0, 1]
    assert len(told["points"]) == len(told["ids"]) == len(told["pieces"]) == 50
    assert 0 < told["explained"][1] <= told["explained"][0] <= 1
    assert get(client, "runs/ed/pca?tokens=40,41&n=50") == told
    get(client, "runs/ed/pca?tokens=a,b", 400)


def test_positions_as_each_model_has_them(client: TestClient, models: Path) -> None:
    waves = get(client, "runs/ed/positions?length=8")
    table = numbers(client, "runs/ed/positions/table?length=8")
    encoder = gf.load(models / "mlm")
    assert isinstance(encoder, TextEncoder) and encoder.model.encoder.sight.bias is not None
    biased = get(client, "runs/mlm/positions?length=4")
    bias = encoder.model.encoder.sight.bias(4, 4, torch.zeros(1))[0].detach()

    assert waves["kind"] == "sinusoidal" and waves["wavelengths"][0] == pytest.approx(6.283185307)
    assert table.shape == (8, 16) and waves["dots"][0] == pytest.approx(
        8.0, abs=1e-4
    )  # sin² + cos² eight times
    assert get(client, "runs/lm/positions")["frequencies"][0] == 1.0
    assert get(client, "runs/cls/positions")["slopes"] == [2.0**-4, 2.0**-8]
    assert biased["offsets"] == [-3, -2, -1, 0, 1, 2, 3]
    assert biased["bias"][1][5] == pytest.approx(bias[1, 0, 2].item())
    get(client, "runs/lm/positions/table", 404)


def test_weights_add_up_and_ties_are_shown(client: TestClient, models: Path) -> None:
    told = get(client, "runs/ed/weights")

    def leaves(node: dict[str, Any]) -> int:
        return sum(map(leaves, node["children"])) if node["children"] else node["parameters"]

    assert leaves(told["tree"]) == told["tree"]["parameters"] == told["total"]
    assert told["ties"] == [["target_embedding.weight", "source_embedding.weight", "output.weight"]]
    path = "encoder.blocks.0.attention.query.weight"
    weight = dict(translator(models).named_parameters())[path]
    stats = get(client, f"runs/ed/weights/{path}?bins=16")
    assert sum(stats["histogram"]["counts"]) == stats["count"] == 256
    assert stats["mean"] == pytest.approx(weight.mean().item(), abs=1e-6)
    assert stats["singular_values"] == pytest.approx(torch.linalg.svdvals(weight).tolist(), rel=1e-4)
    torch.testing.assert_close(
        numbers(client, f"runs/ed/weights/{path}/values?rows=2:5"), weight[2:5].detach()
    )
    get(client, "runs/ed/weights/no.such", 404)


def test_a_spectrum_is_that_of_the_product(client: TestClient, models: Path) -> None:
    told = get(client, "runs/ed/spectrum/cross.1")
    module = translator(models).decoder.blocks[1].cross_attention
    query, key = module.query.weight[8:16], module.key.weight[8:16]
    expected = torch.linalg.svdvals(query.T @ key)[:8].tolist()

    assert told["heads"][1]["qk"] == pytest.approx(expected, rel=1e-4)
    get(client, "runs/ed/spectrum/cross.7", 404)
    get(client, "runs/lm/spectrum/cross.0", 404)


@pytest.mark.parametrize(
    "path", ["runs/none", "runs/ed/none", "runs/ed?checkpoint=step-1", "traces/0123/meta", "none"]
)
def test_what_does_not_exist_is_404(client: TestClient, path: str) -> None:
    assert get(client, path, 404)["title"] == "Not Found"


def test_scores_of_a_language_model_and_refusals(client: TestClient, models: Path) -> None:
    told = client.post("/api/score", json={"run": "lm", "target": "The cat sat."}).json()
    model = gf.load(models / "lm")
    assert isinstance(model, LanguageModel) and not isinstance(model, Translator)

    assert told["logp"] == pytest.approx(model.score(["The cat sat."])[0].log_probability, abs=1e-4)
    assert client.post("/api/score", json={"run": "cls", "target": "x"}).status_code == 422


def test_new_lines_are_streamed_until_the_run_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [
        {"lines": [{"step": 1}], "next": 10, "done": False},
        {"lines": [], "next": 10, "done": False},
        {"lines": [{"step": 2}], "next": 20, "done": True},
    ]
    asked: list[int] = []

    def read(after: int) -> dict[str, Any]:
        asked.append(after)
        return answers[len(asked) - 1]

    async def quick(_: float) -> None:
        return None

    async def every() -> list[Any]:
        return [each async for each in _new_metrics(read, 3)]

    monkeypatch.setattr("glassformer.explorer.app.asyncio.sleep", quick)
    told = asyncio.run(every())

    assert asked == [3, 10, 10]
    assert [each[0] for each in told] == ["metrics", "metrics", "end"]
