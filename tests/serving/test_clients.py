"""Clients that others wrote: LibreTranslate's, DeepL's and OpenAI's."""

from collections.abc import Iterator
from contextlib import closing
from urllib.error import HTTPError

import pytest

from tests.serving.running import Running, copier, tiny_tools

KEY = "k" * 32


@pytest.fixture(scope="module")
def keyed() -> Iterator[Running]:
    tools = {"en-fr": copier(), "lm": tiny_tools()["lm"]}
    with Running(tools, keys=(KEY.encode(),)) as running:
        yield running


def test_libretranslate(keyed: Running) -> None:
    libretranslatepy = pytest.importorskip("libretranslatepy")
    client = libretranslatepy.LibreTranslateAPI(keyed.url, KEY)

    assert client.translate("abcd", "en", "fr") == "abcd"
    with pytest.raises(HTTPError) as refused:
        libretranslatepy.LibreTranslateAPI(keyed.url).translate("abcd", "en", "fr")
    refused.value.close()
    assert refused.value.code == 403
    with pytest.raises(HTTPError) as unknown:
        client.translate("abcd", "en", "xx")
    unknown.value.close()
    assert unknown.value.code == 400
    with pytest.raises(HTTPError) as undetected:
        client.detect("abcd")
    undetected.value.close()
    assert undetected.value.code == 501


def test_libretranslate_lists_languages() -> None:
    libretranslatepy = pytest.importorskip("libretranslatepy")
    with Running({"en-fr": copier()}) as server:
        found = libretranslatepy.LibreTranslateAPI(server.url).languages()

    assert found == [{"code": "en", "name": "English", "targets": ["fr"]}]


def test_libretranslate_by_json(server: Running) -> None:
    lists = server.post(
        "/translate", q=["The cat", "A dog"], source="auto", target="fr", alternatives=2
    ).json()
    one = server.post("/translate", q="The cat. A dog.", source="en", target="fr").json()

    assert len(lists["translatedText"]) == 2
    assert [len(others) for others in lists["alternatives"]] == [2, 2]
    assert lists["detectedLanguage"] == [{"confidence": 0, "language": "en"}] * 2
    assert set(one) == {"translatedText"}
    assert server.post("/translate", q="a", target="fr", format="html").status_code == 400


def test_deepl() -> None:
    deepl = pytest.importorskip("deepl")
    with Running({"en-fr": copier()}, keys=(KEY.encode(),), compat=("deepl",)) as server:
        with closing(deepl.Translator(KEY, server_url=server.url)) as client:
            one = client.translate_text("abcd", target_lang="FR")
            several = client.translate_text(["efgh", "ijkl"], source_lang="EN", target_lang="FR")
            with pytest.raises(deepl.DeepLException, match="known: fr"):
                client.translate_text("abcd", target_lang="DE")
            with pytest.raises(deepl.DeepLException, match="unknown key 'formality'"):
                client.translate_text("abcd", target_lang="FR", formality="more")
        with (
            closing(deepl.Translator("x" * 32, server_url=server.url)) as stranger,
            pytest.raises(deepl.AuthorizationException),
        ):
            stranger.translate_text("abcd", target_lang="FR")

    assert (one.text, one.detected_source_lang, one.billed_characters) == ("abcd", "EN", 4)
    assert [each.text for each in several] == ["efgh", "ijkl"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_openai(keyed: Running) -> None:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"{keyed.url}/v1", api_key=KEY, max_retries=0) as client:
        names = [model.id for model in client.models.list()]
        whole = client.completions.create(
            model="lm", prompt="The cat", max_tokens=6, temperature=0, logprobs=0
        )
        chunks = list(
            client.completions.create(model="lm", prompt="The cat", max_tokens=6, temperature=0, stream=True)
        )
        several = client.completions.create(
            model="lm", prompt=["The", "A"], max_tokens=2, n=2, seed=3, echo=True
        )
        with pytest.raises(openai.NotFoundError):
            client.completions.create(model="gpt", prompt="a")
        with pytest.raises(openai.UnprocessableEntityError) as wrong:
            client.completions.create(model="lm", prompt="a", temperature=3)
    with (
        openai.OpenAI(base_url=f"{keyed.url}/v1", api_key="wrong", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        stranger.completions.create(model="lm", prompt="a")

    expected = tiny_tools()["lm"].generate(["The cat"], temperature=0.0, max_length=6)[0].text
    assert names == ["en-fr", "lm"]
    assert whole.choices[0].text == expected
    assert len(whole.choices[0].logprobs.token_logprobs) == whole.usage.completion_tokens
    assert "".join(chunk.choices[0].text for chunk in chunks) == expected
    assert chunks[-1].choices[0].finish_reason == "length"
    assert [choice.text[:1] for choice in several.choices] == ["T", "T", "A", "A"]
    assert "temperature" in str(wrong.value)
