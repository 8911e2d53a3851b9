"""Every route answers what the package itself would say, in the shape that its description promises."""

from typing import Any

import pytest
from pydantic import BaseModel

from glassformer.serving import replies
from tests.serving.running import Running, events, tiny_tools

TEXTS = ["The cat sat on the mat.", "A dog is sleeping.", "", "Le chat"]


def reply(server: Running, path: str, shape: type[BaseModel], **body: Any) -> Any:
    answer = server.post(path, **body)
    assert answer.status_code == 200, answer.text
    shape.model_validate_json(answer.content)  # as the OpenAPI description has it
    return answer.json()


def test_translate_says_what_the_translator_says(server: Running) -> None:
    found = reply(server, "/v1/translate", replies.TranslateReply, text=TEXTS, beam=3, nbest=2, max_tokens=8)
    expected = tiny_tools()["en-fr"].translate(TEXTS, beam=3, nbest=2, max_length=8)

    assert [each["text"] for each in found["translations"]] == [each.text for each in expected]
    assert [[other["text"] for other in each["alternatives"]] for each in found["translations"]] == [
        [other.text for other in each.alternatives] for each in expected
    ]
    for each, wanted in zip(found["translations"], expected, strict=True):
        assert each["score"] == (None if wanted.score is None else pytest.approx(wanted.score, abs=1e-4))
    assert found["usage"]["input_tokens"] == sum(each.n_input_tokens for each in expected)


def test_translate_gives_tokens_and_alignment(server: Running) -> None:
    found = reply(
        server,
        "/v1/translate",
        replies.TranslateReply,
        text=TEXTS[0],
        max_tokens=5,
        **{"return": ["tokens", "alignment"]},
    )
    (expected,) = tiny_tools()["en-fr"].translate(TEXTS[:1], max_length=5, alignment=True)
    (first,) = found["translations"]

    assert [token["id"] for token in first["tokens"]] == [token.id for token in expected.tokens]
    links = [(link.source, link.target) for link in expected.alignment.links]
    assert [tuple(link[:2]) for link in first["alignment"]] == links


def test_sampling_is_fixed_by_its_seed(server: Running) -> None:
    options = {"temperature": 1.5, "top_k": 20, "seed": 9}
    expected = tiny_tools()["en-fr"].translate(TEXTS, max_length=6, **options)
    found = reply(server, "/v1/translate", replies.TranslateReply, text=TEXTS, sampling=options, max_tokens=6)

    assert [each["text"] for each in found["translations"]] == [each.text for each in expected]


def test_forbidden_and_prefix(server: Running) -> None:
    plain = server.text(TEXTS[0], max_tokens=5, beam=1)
    expected = tiny_tools()["en-fr"].translate(
        TEXTS[:1], forbidden=[plain[0]], prefix="Le", max_length=5, beam=1
    )

    assert server.text(TEXTS[0], max_tokens=5, beam=1, prefix="Le", forbidden=[plain[0]]) == expected[0].text


def test_generate_says_what_the_language_model_says(server: Running) -> None:
    prompts = ["The cat", "", "A dog is"]
    found = reply(server, "/v1/generate", replies.GenerateReply, text=prompts, beam=2, max_tokens=6)
    expected = tiny_tools()["lm"].generate(prompts, beam=2, max_length=6)

    assert [each["text"] for each in found["generations"]] == [each.text for each in expected]


@pytest.mark.parametrize(
    "options", [{"beam": 1}, {"beam": 4}, {"sampling": {"seed": 2, "temperature": 1.5}}], ids=str
)
@pytest.mark.parametrize("path", ["/v1/translate", "/v1/generate"])
def test_a_stream_joins_to_the_whole(server: Running, path: str, options: dict[str, Any]) -> None:
    body = {"text": TEXTS[:2], "max_tokens": 7, **options}
    whole = server.post(path, **body).json()
    name = "translations" if path == "/v1/translate" else "generations"
    told = events(server.post(path, **body, stream=True).text)
    joined = ["", ""]
    for event, data in told[:-1]:
        assert event == "token"
        joined[data["i"]] += data["text"]

    assert told[-1][0] == "done"
    assert joined == [each["text"] for each in whole[name]]
    assert [each["text"] for each in told[-1][1][name]] == joined


def test_a_split_stream_keeps_the_order_of_sentences(server: Running) -> None:
    body = {"text": "The cat sat. A dog is sleeping near houses.\nLe chat !", "split": True, "max_tokens": 5}
    whole = server.post("/v1/translate", **body).json()["translations"][0]["text"]
    told = events(server.post("/v1/translate", **body, stream=True).text)

    assert "".join(data["text"] for event, data in told if event == "token") == whole
    numbers = [data["index"] for event, data in told if event == "token"]
    assert numbers == list(range(len(numbers)))


def test_score(server: Running) -> None:
    pairs = [{"source": "The cat", "target": "Le chat"}, {"source": "", "target": "x"}]
    found = reply(server, "/v1/score", replies.ScoreReply, pairs=pairs)["scores"]
    expected = tiny_tools()["en-fr"].score([("The cat", "Le chat"), ("", "x")])

    assert found[0]["logprob"] == pytest.approx(expected[0].log_probability, abs=1e-4)
    assert found[1] == {"logprob": None, "perplexity": None, "tokens": []}


def test_score_by_a_language_model(server: Running) -> None:
    (found,) = reply(server, "/v1/score", replies.ScoreReply, pairs=[{"target": "The cat"}], model="lm")[
        "scores"
    ]
    (expected,) = tiny_tools()["lm"].score(["The cat"])

    assert found["perplexity"] == pytest.approx(expected.perplexity, rel=1e-4)


def test_embed(server: Running) -> None:
    texts = ["The cat", "", "A dog"]
    found = reply(server, "/v1/embed", replies.EmbedReply, text=texts, pool="first", normalize=False)
    expected = tiny_tools()["masked"].embed(texts, pool="first", normalize=False).tolist()

    for vector, wanted in zip(found["embeddings"], expected, strict=True):
        assert vector == pytest.approx(wanted, abs=1e-5)


def test_classify(server: Running) -> None:
    found = reply(server, "/v1/classify", replies.ClassifyReply, text=["The cat", ""])
    (expected, none) = tiny_tools()["classes"].classify(["The cat", ""])

    assert [each["name"] for each in found["labels"][0]] == [label.name for label in expected]
    assert found["labels"][1] == none == []


def test_fill(server: Running) -> None:
    found = reply(server, "/v1/fill", replies.FillReply, text="The [MASK] sat on [MASK].", top=3)
    (expected,) = tiny_tools()["masked"].fill(["The [MASK] sat on [MASK]."], top=3)

    assert [[each["id"] for each in blank] for blank in found["blanks"][0]] == [
        [guess.id for guess in blank] for blank in expected
    ]
    assert server.post("/v1/fill", text="no blank").status_code == 422


def test_tokenize(server: Running) -> None:
    (found,) = reply(server, "/v1/tokenize", replies.TokenizeReply, text="The cat")["tokens"]

    assert "".join(found["pieces"]).replace("▁", " ").strip() == found["text"] == "The cat"
    assert [found["text"][start:stop] for start, stop in found["offsets"]] == ["The", " cat"]


def test_models_are_listed_with_their_limits(server: Running) -> None:
    answer = server.client.get("/v1/models")
    replies.ModelsReply.model_validate_json(answer.content)
    first = answer.json()["data"][0]

    assert (first["id"], first["family"], first["languages"]) == ("en-fr", "encoder-decoder", [["en", "fr"]])
    assert first["limits"]["max_input_tokens"] == 38  # max_length = 40 leaves as many
    assert first["state"] == "ready"


def test_a_route_without_its_family_says_what_is_loaded() -> None:
    with Running({"lm": tiny_tools()["lm"]}) as server:
        answer = server.post("/v1/translate", text="a")

    assert answer.status_code == 404
    assert (
        answer.json()["detail"]
        == "this route needs a model of family encoder-decoder; loaded: lm (decoder-only)"
    )


def test_the_page_loads_and_runs_nothing(server: Running) -> None:
    page = server.client.get("/docs")

    assert page.status_code == 200
    assert (
        "script" not in page.text and "src=" not in page.text and "http" not in page.text.replace("http-", "")
    )
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert "/v1/translate" in page.text and "queue_full" in page.text


def test_every_answer_has_the_careful_headers(server: Running) -> None:
    for answer in (
        server.client.get("/livez"),
        server.client.get("/none"),
        server.post("/v1/translate", text="a"),
    ):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "server" not in answer.headers


def test_metrics_name_routes_and_nobody(server: Running) -> None:
    server.text("The cat", max_tokens=2)
    server.client.get("/a-path-that-somebody-made-up")
    text = server.client.get("/metrics").text

    assert 'glassformer_requests_total{code="200",route="/v1/translate"}' in text
    assert 'glassformer_model_loaded{model="en-fr"} 1.0' in text
    assert "127.0.0.1" not in text and "made-up" not in text
    for name in ("request_seconds", "queue_depth", "batch_tokens", "batch_size", "tokens_total"):
        assert f"glassformer_{name}" in text


def test_a_request_may_bring_its_id(server: Running) -> None:
    own = server.client.get("/livez", headers={"X-Request-Id": "abc-1"})
    odd = server.client.get("/livez", headers={"X-Request-Id": "a b\tc"})

    assert own.headers["x-request-id"] == "abc-1"
    assert odd.headers["x-request-id"] != "a b\tc"
