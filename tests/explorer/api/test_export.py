"""One HTML file: the page and the trace in it, allowed by hashes alone, user text nowhere but in the blob."""

import base64
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

import glassformer as gf
from glassformer.explorer.blob import unpack
from glassformer.explorer.bundle import BundleError, join_modules, join_page
from glassformer.explorer.page_files import PageFiles
from tests.explorer.api.asking import get, numbers, traced

EVIL = "</script><script>alert(1)//"
DATA = re.compile(r'<script type="application/octet-stream" id="glassformer-data">([^<]*)</script>')
SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_an_exported_file_answers_as_the_server_does(client: TestClient) -> None:
    meta = traced(client)
    page = client.get(f"/api/traces/{meta['id']}/export.html")
    (blob,) = DATA.findall(page.text)
    header, payload = unpack(blob)
    entries = header["entries"]

    assert "attachment" in page.headers["content-disposition"]
    assert header["trace"] == meta["id"] and header["run"] == "ed"
    about = entries["/api/about"]
    assert json.loads(payload[about["offset"] : about["offset"] + about["length"]])["live"] is False
    always = (
        "/api/runs",
        "/api/runs/ed",
        "/api/runs/ed/vocabulary",
        *(f"/api/traces/{meta['id']}/{x}" for x in ("meta", "heads")),
    )
    assert set(always) <= set(entries)
    for path, entry in entries.items():
        assert entry["offset"] % 8 == 0
        content = payload[entry["offset"] : entry["offset"] + entry["length"]]
        if entry["type"] == "json":
            json.loads(content)
            if path.startswith("/api/traces/"):
                assert json.loads(content) == get(client, path.removeprefix("/api/"))
        elif "/t/" in path and path.endswith(("weights", "context")):
            kind = {"f16": "<f2", "f32": "<f4", "u8": "u1"}[entry["dtype"]]
            mine = np.frombuffer(content, kind).reshape(entry["shape"]).astype(np.float32)
            assert np.array_equal(mine, numbers(client, path.removeprefix("/api/")).numpy())


@pytest.mark.parametrize("run", ["lm", "mlm", "cls", "emb"])
def test_every_family_is_exported(client: TestClient, run: str) -> None:
    meta = traced(client, run)
    (blob,) = DATA.findall(client.get(f"/api/traces/{meta['id']}/export.html").text)

    assert f"/api/traces/{meta['id']}/atlas/{meta['kinds'][0]}" in unpack(blob)[0]["entries"]


def test_scripts_and_styles_are_allowed_by_their_hashes_alone(client: TestClient) -> None:
    meta = traced(client, target=EVIL)
    text = client.get(f"/api/traces/{meta['id']}/export.html").text
    (policy,) = POLICY.findall(text)
    (script,) = SCRIPT.findall(text)
    (style,) = STYLE.findall(text)

    assert f"script-src '{digest(script)}'" in policy and f"style-src '{digest(style)}'" in policy
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "alert(1)" not in text  # what users wrote is inside the blob and nowhere else
    assert text.count("<script") == 2 and "src=" not in DATA.sub("", SCRIPT.sub("", text))
    assert not re.search(r"https?://(?!www\.w3\.org)", DATA.sub("", SCRIPT.sub("", text)))


def test_a_file_stays_small_unless_all_is_asked_for(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    meta = traced(client)
    least = unpack(DATA.findall(client.get(f"/api/traces/{meta['id']}/export.html?full=true").text)[0])[0]
    monkeypatch.setattr("glassformer.explorer.export.ROOM", 60_000)
    some = DATA.findall(client.get(f"/api/traces/{meta['id']}/export.html?heads=cross.1.1").text)[0]
    entries = unpack(some)[0]["entries"]

    assert len(some) <= 60_000
    assert len(entries) < len(least["entries"])
    assert f"/api/traces/{meta['id']}/t/cross.1.1.q" in entries  # what was named comes first


def test_a_trace_saves_and_shows_itself(models: Path, tmp_path: Path) -> None:
    found = gf.load(models / "ed").explain("The cat <b>sat</b>.", max_length=5)
    path = found.save_html(tmp_path / "trace.html")
    header, payload = unpack(DATA.findall(path.read_text(encoding="utf-8"))[0])
    meta = header["entries"]["/api/traces/0000000000000000/meta"]
    shown = found._repr_html_()

    assert (
        json.loads(payload[meta["offset"] : meta["offset"] + meta["length"]])["text"]["source"]
        == "The cat <b>sat</b>."
    )
    assert shown.startswith("<iframe srcdoc=") and 'sandbox="allow-scripts allow-downloads"' in shown
    assert "<script" not in shown and "<b>" not in shown  # all of it is escaped inside the attribute
    assert shown.count('"') == 8  # four attributes


def test_the_pages_own_modules_can_be_joined() -> None:
    """The rules of page/README.md, on the real sources."""
    page = PageFiles()
    sources = {name: page.get(name).content.decode() for name in page if name.endswith(".js")}
    script = join_modules(sources, "main.js")

    assert script.count("module_0 = ") == 1
    assert not re.search(r"^\s*(import|export)\s", script, re.MULTILINE)


def test_modules_are_joined_in_the_order_of_their_imports() -> None:
    sources = {
        "main.js": 'import { a, b as c } from "./x/one.js";\nimport "./two.js";\nconsole.log(a, c);\n',
        "x/one.js": 'import {\n  two,\n} from "../two.js";\nexport const a = two();\nexport class b {}\n',
        "two.js": "export function two() {\n  return 2;\n}\nexport async function three() {}\n",
    }
    script = join_modules(sources, "main.js")

    assert script.index("return { two, three }") < script.index("const { two } = module_0;")
    assert "const { a, b: c } = module_1;" in script and "return { a, b };" in script
    assert '"use strict";' in script


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        (
            {"main.js": 'import { a } from "./a.js";\n', "a.js": 'import { m } from "./main.js";\n'},
            "in a circle",
        ),
        ({"main.js": 'import { a } from "./gone.js";\n'}, "gone.js, which does not exist"),
        ({"main.js": "export default 3;\n"}, "cannot be joined: export default"),
        ({"main.js": "export let x = 3;\n"}, "cannot be joined: export let"),
        ({"main.js": 'import * as x from "./a.js";\n', "a.js": ""}, "cannot be joined: import"),
        ({"main.js": 'const x = "</script>";\n'}, "end of a script element"),
    ],
)
def test_what_cannot_be_joined_is_said(sources: dict[str, str], words: str) -> None:
    with pytest.raises(BundleError, match=words):
        join_modules(sources, "main.js")


def test_a_page_without_a_script_is_refused() -> None:
    with pytest.raises(BundleError, match="no module script"):
        join_page({"index.html": "<html></html>"}, "", "x")
