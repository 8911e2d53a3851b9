"""512 tokens × 6 layers × 8 heads × 3 kinds: what is sent, made and drawn is counted; times: tests/long."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Response

from tests.explorer.large import ATLAS_BYTES, HEAD_BYTES, HEADS, LAYERS, TOKENS, Large, large_explorer
from tests.explorer.pages import Open, ready

COUNT = """() => {
  window.drawn = {};
  const pen = CanvasRenderingContext2D.prototype;
  for (const name of ['putImageData', 'bezierCurveTo', 'strokeRect', 'fillText', 'drawImage']) {
    const own = pen[name];
    window.drawn[name] = 0;
    pen[name] = function (...given) {
      window.drawn[name]++;
      return own.apply(this, given);
    };
  }
  const ask = window.fetch;
  window.asked = [];
  window.fetch = (...what) => {
    window.asked.push(String(what[0]));
    return ask(...what);
  };
  window.count = async (act) => {
    await new Promise((go) => requestIdleCallback(go));
    for (const name of Object.keys(window.drawn)) window.drawn[name] = 0;
    window.asked = [];
    await act();
    await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
    return { ...window.drawn, asked: window.asked };
  };
}"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Large]:
    with large_explorer(tmp_path_factory.mktemp("large"), d_model=64, d_ff=64) as found:
        yield found


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    found = context.new_page()
    found.set_default_timeout(120_000)
    found.add_init_script(f"({COUNT})()")
    yield found
    context.close()


def sizes(page: Page) -> dict[str, int]:
    """Bytes of each answer that the page gets from now on, by the end of its address."""
    found: dict[str, int] = {}

    def note(reply: Response) -> None:
        found[reply.url.split("/api/")[-1].split("/", 2)[-1]] = int(reply.headers.get("content-length", 0))

    page.on("response", note)
    return found


def count(page: Page, selector: str) -> int:
    return page.locator(selector).count()


def test_512_tokens_of_144_heads_stay_within_their_counts_and_bytes(page: Page, large: Large) -> None:
    trace = large.trace(large.words, large.words)
    sent = sizes(page)
    page.goto(large.at(trace, view="atlas"))
    ready(page, "atlas")
    shapes = page.evaluate(f"async () => (await (await fetch('api/traces/{trace}/meta')).json()).shapes")
    page.wait_for_function("() => document.querySelectorAll('.atlas-plane').length === 3")

    assert set(shapes) == {"enc", "dec", "cross"}
    assert {(one["queries"], one["keys"]) for one in shapes.values()} == {(TOKENS, TOKENS)}
    assert [sent[f"atlas/{kind}"] for kind in ("enc", "dec", "cross")] == [ATLAS_BYTES] * 3
    assert sum(sent.values()) <= 1_600_000  # the page itself is among them
    assert count(page, "#stage *") < 900  # no element for each cell or head
    assert page.evaluate("window.drawn.drawImage") <= 4 * 3 * LAYERS * HEADS  # a thumbnail is drawn, not made

    sent.clear()
    page.keyboard.press("e")
    page.keyboard.press("5")
    page.wait_for_selector('.head-pictures[data-shown="enc.0.0"]')

    assert sent["t/enc.0.0.weights"] == HEAD_BYTES
    assert not any(name.startswith("t/") and size > HEAD_BYTES for name, size in sent.items())
    assert page.locator(".head-card .grid-plane canvas").first.evaluate("(c) => [c.width, c.height]") == [
        TOKENS,
        TOKENS,
    ]
    assert 0 < int(page.locator(".flow").get_attribute("data-links") or 0) <= 1024
    assert count(page, ".head-card *") < 1500  # labels in sight only
    assert count(page, ".minimap") == 1

    page.wait_for_function(  # the neighbour and the numbers of the cell come by themselves, after a while
        "() => ['/t/enc.0.1.weights', '/cell/enc.0.0/'].every((part) =>"
        " performance.getEntriesByType('resource').some(({ name }) => name.includes(part)))"
    )
    drawn = page.evaluate(
        """() => window.count(async () => {
          const plane = document.querySelector('.head-card .grid-plane');
          const box = plane.getBoundingClientRect();
          for (let i = 0; i < 60; i++) {
            const [clientX, clientY] = [box.left + 3 + i, box.top + 3 + i];
            plane.dispatchEvent(new PointerEvent('pointermove', {clientX, clientY, bubbles: true}));
            if (i % 20 === 19) await new Promise(requestAnimationFrame);
          }
        })"""
    )

    assert drawn["putImageData"] == 0  # the matrix is not painted again
    assert 0 < drawn["strokeRect"] <= 2 * 6  # sixty moves in three frames: a frame draws once
    assert drawn["bezierCurveTo"] <= 5 * TOKENS  # the links of the query under the pointer, a frame each

    drawn = page.evaluate(
        """() => window.count(async () => {
          const slider = document.querySelector('.head-card input[type=range]');
          slider.value = '8';
          slider.dispatchEvent(new Event('input', { bubbles: true }));
        })"""
    )

    assert drawn["asked"] == []  # a slider asks for nothing
    assert drawn["putImageData"] == 0
    assert drawn["bezierCurveTo"] <= 1024

    page.locator("#stage").focus()
    drawn = page.evaluate(
        """() => window.count(async () => {
          document.dispatchEvent(new KeyboardEvent('keydown', { key: '.', bubbles: true }));
          while (document.querySelector('.head-pictures').dataset.shown !== 'enc.0.1')
            await new Promise(requestAnimationFrame);
        })"""
    )

    assert not any("/t/enc.0.1.weights" in each for each in drawn["asked"])  # it was there already
    assert drawn["putImageData"] <= 3  # the matrix, the map beside it, the legend
    assert page.evaluate("performance.memory.usedJSHeapSize") <= 200e6


def test_hovering_draws_on_the_overlay_only(open_page: Open) -> None:
    page = open_page(view="head", kind="enc")
    page.evaluate(COUNT)
    box = page.locator(".head-card .grid-plane").first.bounding_box()
    assert box
    for step in range(12):
        page.mouse.move(box["x"] + 5 + step * 8, box["y"] + 5 + step * 8)
    page.wait_for_function("() => document.querySelector('.readout').textContent.includes('→')")
    page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")

    assert page.evaluate("window.drawn.putImageData") == 0
