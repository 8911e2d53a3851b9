"""Odd texts, alone and in company: B40 to B63."""

import pytest

from tests.serving.running import Running

ODD = {
    "B42": "x",
    "B45": "a" * 200,
    "B46": "https://" + "a" * 60,
    "B47": "a\x00b\x07\x1b\x85\x9fc",
    "B48": "one\r\ntwo\u2028three\u0085four",
    "B50": "\ufffe\uffff\U0001fffe\ue000\U0010fffd",
    "B53": "👨‍👩‍👧‍👦 🇫🇷 👍🏽",
    "B54": "שלום 123 abc مرحبا ٤٥ \u202etest",
    "B55": "日本語１２３ｶﾅ",
    "B56": "ก็ ក្ម क्\u200dष \u0627\u200c\u0628",
    "B59": "</s> <pad> <unk> ▁ @@ >>fra<<",
    "B60": '<script>alert(1)</script> " onmouseover="x',
    "B61": "=cmd|' /C calc'!A0",
    "B62": "\x1b[2J\x1b]0;x\x07",
    "B63": "%s%n {0} $(id) `id` ${x}",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_texts_are_answered_or_refused(server: Running, text: str) -> None:
    reply = server.post("/v1/translate", text=[text, "The cat"], max_tokens=4, beam=1)

    assert reply.status_code in (200, 422), reply.text
    if reply.status_code == 200:
        first, second = reply.json()["translations"]
        assert isinstance(first["text"], str)
        assert second["text"] == server.text("The cat", max_tokens=4, beam=1)
    else:
        assert reply.json()["type"] == "/docs#input_too_long"


@pytest.mark.parametrize("blank", ["", " ", "\t", "\u00a0", "\u3000", "\u200b", "\r\n \u2028"])
def test_b40_b41_blank_texts_need_no_model(server: Running, blank: str) -> None:
    before = server.client.get("/metrics").text
    reply = server.post("/v1/translate", text=blank).json()
    after = server.client.get("/metrics").text

    assert reply["translations"][0] | {"warnings": []} == {
        "text": "",
        "score": None,
        "finish_reason": "stop",
        "unknown_ratio": 0.0,
        "warnings": [],
    }
    assert reply["usage"] == {"input_tokens": 0, "output_tokens": 0}
    steps = [[line for line in text.split("\n") if "batch_size_count" in line] for text in (before, after)]
    assert steps[0] == steps[1]


def test_b43_characters_are_counted(server: Running) -> None:
    reply = server.post("/v1/translate", text=["a", "b" * 5001])

    assert reply.status_code == 422
    assert reply.json()["detail"] == "text 2: a text of 5001 characters; 5000 are read"


def test_b44_tokens_are_counted_or_the_text_is_split(server: Running) -> None:
    text = "The cat sat on the mat. " * 8
    whole = server.post("/v1/translate", text=text)
    split = server.post("/v1/translate", text=text, split=True, max_tokens=3, beam=1)

    assert whole.status_code == 422
    assert whole.json()["type"] == "/docs#input_too_long" and "split" in whole.json()["hint"]
    assert split.status_code == 200
    one = server.text("The cat sat on the mat.", max_tokens=3, beam=1)
    assert split.json()["translations"][0]["text"].split(" ")[0] == one.split(" ")[0]


def test_b51_ligatures_that_explode_are_refused(server: Running) -> None:
    assert server.post("/v1/translate", text="\ufdfa" * 1000).status_code == 422


def test_b52_too_many_marks_are_told(server: Running) -> None:
    reply = server.post("/v1/translate", text="e" + "\u0301" * 500, max_tokens=2)

    assert reply.status_code in (200, 422)
    if reply.status_code == 200:
        assert "combining marks" in " ".join(reply.json()["translations"][0]["warnings"])


def test_b57_composed_and_decomposed_are_the_same(server: Running) -> None:
    assert server.text("e\u0301t\u00e9", max_tokens=5) == server.text("\u00e9te\u0301", max_tokens=5)


def test_b58_an_unknown_script_is_told(server: Running) -> None:
    (found,) = server.post("/v1/translate", text="ꦗꦮ", max_tokens=2).json()["translations"]

    assert found["unknown_ratio"] > 0.5
    assert any("does not know" in warning for warning in found["warnings"])


def test_b59_special_tokens_are_literals(server: Running) -> None:
    (found,) = server.post("/v1/tokenize", text="</s><pad>").json()["tokens"]

    assert min(found["ids"]) >= 5
    assert found["text"] == "</s><pad>"


def test_b53_streams_are_valid_utf8(server: Running) -> None:
    body = {
        "text": "👨‍👩‍👧‍👦 🇫🇷",
        "stream": True,
        "max_tokens": 12,
        "sampling": {"seed": 4, "temperature": 2},
    }
    with server.client.stream("POST", "/v1/translate", json=body) as reply:
        chunks = b"".join(reply.iter_raw())

    assert chunks.decode("utf-8", errors="strict")
