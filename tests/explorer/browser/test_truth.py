"""What the page shows is what PyTorch computed: pixels, labels, tables and the numbers of the arithmetic."""

import math
import re

import pytest
import torch
from playwright.sync_api import Page

import glassformer
from glassformer.probe import Trace
from tests.explorer.pages import SENTENCE, Explorer, Open, ready

MASKED = "The [MASK] chased the mouse."
RUNS = {
    "translator": (SENTENCE, ("enc", "dec", "cross")),
    "writer": (SENTENCE, ("dec",)),
    "filler": (MASKED, ("enc",)),
}
PIXELS = """() => {
  const canvas = document.querySelector('.head-card .grid-plane canvas');
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  return {width: canvas.width, height: canvas.height, words: [...new Uint32Array(data.buffer)]};
}"""
COLOURS = """async (theme) => {
  const colour = await import(new URL('draw/colour.js', document.baseURI).href);
  return [...colour.sequential(theme)];
}"""


def truth(explorer: Explorer, run: str) -> Trace:
    model = glassformer.load(explorer.folder / run, engine="pytorch")
    return model.explain(RUNS[run][0])


def number(text: str) -> float:
    """A number as the page writes it."""
    plain = text.replace("−", "-").strip()
    match = re.fullmatch(r"(-?[\d.]+)·10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", plain)
    if match:
        power = match[2].translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
        return float(f"{match[1]}e{power}")
    return float(plain)


def inspected(page: Page) -> dict[str, str]:
    names = page.locator("#inspector dl dt").all_inner_texts()
    values = page.locator("#inspector dl dd").all_inner_texts()
    return dict(zip(names, values, strict=True))


@pytest.mark.parametrize(
    ("run", "theme"),
    [("translator", "light"), ("translator", "dark"), ("writer", "light"), ("filler", "dark")],
)
def test_every_pixel_of_a_head_is_its_weight(
    open_page: Open, explorer: Explorer, run: str, theme: str
) -> None:
    found = truth(explorer, run)
    page = open_page(run, theme=theme, view="head", scale="sqrt", text=RUNS[run][0])
    table = page.evaluate(COLOURS, theme)
    for kind in RUNS[run][1]:
        page.evaluate(
            "(kind) => { location.hash = location.hash.replace(/&(kind|layer|head)=[^&]*/g, '')"
            " + `&kind=${kind}&layer=1&head=3`; }",
            kind,
        )
        page.wait_for_selector(f'.head-pictures[data-shown="{kind}.1.3"]')
        weights = found.layers(kind)[1].weights[3]  # type: ignore[arg-type]  # one of the kinds
        shown = page.evaluate(PIXELS)
        codes = torch.tensor([table.index(word) for word in shown["words"]]).view(weights.shape)

        # The page gets half precision: a code may be off by one next to a border.
        assert (codes - (255 * weights.sqrt()).round()).abs().max() <= 1
        assert len(set(table)) > 200  # the table tells codes apart


def test_labels_and_table_show_the_weights_of_the_tokens(open_page: Open, explorer: Explorer) -> None:
    found = truth(explorer, "translator")
    weights = found.layers("cross")[0].weights[2]
    page = open_page(view="head", kind="cross", layer=0, head=2)
    columns = page.locator(".head-card .grid-columns span").all_inner_texts()
    page.locator("#stage").focus()
    page.keyboard.press("t")
    page.wait_for_selector(".data-table tbody td")
    cells = page.evaluate(
        "[...document.querySelectorAll('.data-table tbody tr')].slice(0, 20)"
        ".map((tr) => [...tr.cells].map((td) => td.querySelector('.num')?.title ?? td.textContent))"
    )

    assert columns == [token.piece.removeprefix("▁") or token.piece for token in found.source]
    for query, _, key, name, value in cells:
        assert name == (found.source[int(key)].piece.removeprefix("▁") or "▁")
        assert math.isclose(float(value), weights[int(query), int(key)], abs_tol=5e-4)


@pytest.mark.parametrize(("run", "kind"), [("translator", "cross"), ("writer", "dec"), ("filler", "enc")])
def test_the_arithmetic_adds_up_to_what_pytorch_gives(
    open_page: Open, explorer: Explorer, run: str, kind: str
) -> None:
    layer = truth(explorer, run).layers(kind)[1]  # type: ignore[arg-type]  # one of the kinds
    q, k = layer.q[2, 3], layer.k[2, 1]
    scores = layer.scores[2, 3]
    page = open_page(
        run,
        view="arithmetic",
        kind=kind,
        layer=1,
        head=2,
        query=3,
        key=1,
        step=3,
        text=RUNS[run][0].replace(" ", "+"),
    )
    numbers = inspected(page)

    assert number(numbers["q·k"]) == pytest.approx(float(q @ k), rel=5e-3, abs=1e-4)
    assert number(numbers["score"]) == pytest.approx(float(scores[1]), rel=5e-3, abs=1e-4)
    assert number(numbers["weight α"]) == pytest.approx(float(scores.softmax(-1)[1]), rel=5e-3, abs=1e-6)
    assert number(numbers["denominator"]) == pytest.approx(
        float((scores - scores.max()).exp().sum()), rel=5e-3
    )


def test_tokens_timeline_and_result_are_the_models_own(open_page: Open, explorer: Explorer) -> None:
    found = truth(explorer, "translator")
    page = open_page()
    shown = page.evaluate("[...document.querySelectorAll('.timeline li button')].map((b) => b.title)")
    chances = [float(re.search(r"p ([\d.]+(?:·10\S+)?)\s%", title)[1].split("·")[0]) for title in shown]  # type: ignore[index]
    wanted = [100 * math.exp(step.log_probability or 0.0) for step in found.steps]

    for chance, exact in zip(chances, wanted, strict=True):
        if exact > 1e-2:
            assert chance == pytest.approx(exact, rel=6e-3)
    assert page.locator(".badge", has_text="Δ kernel").inner_text().endswith("✓")
    page.locator(".views").get_by_role("button", name="Tokens").click()
    ready(page, "tokens")
    ids = [int(text) for text in page.locator(".piece-id").all_inner_texts()]
    assert ids == [token.id for token in found.source]


def test_masks_show_where_the_model_may_look(open_page: Open, explorer: Explorer) -> None:
    mask = truth(explorer, "translator").layers("dec")[0].mask
    page = open_page(view="masks", kind="dec")
    words = page.evaluate(
        "() => { const c = document.querySelector('.masks .kind-dec .grid-plane canvas');"
        " const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);"
        " return [...new Uint32Array(data.buffer)]; }"
    )

    seen = torch.tensor([word == words[0] for word in words]).view(mask.shape)  # the first token sees itself
    assert torch.equal(seen, mask)
