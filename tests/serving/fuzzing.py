"""Requests that are nearly right, and bytes that are not."""

import json
import random
from typing import Any

from hypothesis import strategies as st

PATHS = [
    "/v1/translate", "/v1/generate", "/v1/score", "/v1/embed", "/v1/classify", "/v1/fill", "/v1/tokenize",
    "/v1/completions", "/translate", "/detect",
]  # fmt: skip
ALLOWED = {200, 204, 400, 401, 403, 404, 405, 408, 413, 415, 422, 429, 431, 501, 503, 504}
"""Every status but 500: that would be a mistake of ours."""

_texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.sampled_from(["", "The cat", "[MASK]", "a" * 5001, "</s>", "\x00", "\u202e\ufeff", "é" * 300]),
)
_values = st.one_of(
    _texts,
    st.lists(_texts, max_size=3),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
)
_names = st.sampled_from(
    [
        "text",
        "beam",
        "alpha",
        "nbest",
        "sampling",
        "max_tokens",
        "min_tokens",
        "stream",
        "model",
        "source",
        "target",
        "prefix",
        "split",
        "return",
        "timeout",
        "pairs",
        "q",
        "prompt",
        "temperature",
        "top_p",
        "n",
        "seed",
        "logprobs",
        "echo",
        "mask",
        "top",
        "pool",
        "normalize",
        "side",
        "format",
        "alternatives",
        "forbidden",
        "nonsense",
    ]
)
bodies = st.one_of(
    st.dictionaries(_names, _values, max_size=5),
    st.builds(
        lambda text, more: {"text": text, "q": text, "prompt": text, "max_tokens": 2, **more},
        _texts,
        st.dictionaries(_names, _values, max_size=3),
    ).flatmap(
        lambda body: st.sampled_from([body, {k: v for k, v in body.items() if k in ("text", "max_tokens")}])
    ),
    st.lists(_values, max_size=2),
)


def mutate(draw: random.Random) -> bytes:
    """The bytes of a good request with a few of them changed, doubled or left out."""
    good = {"text": ["The cat", "é"], "beam": 2, "max_tokens": 2, "sampling": {"temperature": 0.5, "seed": 3}}
    data = bytearray(json.dumps(good).encode())
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(len(data))
        match draw.randrange(4):
            case 0:
                data[at] = draw.randrange(256)
            case 1:
                del data[at : at + draw.randint(1, 9)]
            case 2:
                data[at:at] = data[at : at + draw.randint(1, 30)]
            case 3:
                data[at:at] = draw.choice(
                    [b"NaN", b"[[[[", b"1e999", b'"\\ud800"', b"9" * 40, b"\xff", b"{}"]
                )
        data = data or bytearray(b"{")
    return bytes(data)


def check(reply: Any) -> None:
    """An answer within the rules: a known status, strict JSON, and no word about our insides."""
    assert reply.status_code in ALLOWED, (reply.status_code, reply.text)
    text = reply.text
    assert "Traceback" not in text and "site-packages" not in text
    if "json" in reply.headers.get("content-type", ""):
        json.loads(text, parse_constant=_refuse)
    if reply.status_code in (429, 503):
        assert "retry-after" in {name.lower() for name in reply.headers}


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} in an answer")
