"""V9 Next token: what is shown is what the model gives, over the whole vocabulary."""

import pytest
from playwright.sync_api import Page, expect

from glassformer import load
from glassformer.config import DecodeConfig
from glassformer.decoding.sampling import distribution
from tests.explorer.pages import SENTENCE, Explorer, Open


def shown(page: Page, column: int) -> list[float]:
    """A column of bars, as exact as the page knows them."""
    return [
        float(text)
        for text in page.locator(f".candidates tbody td:nth-child({column}) .bar").evaluate_all(
            "list => list.map(e => e.title)"
        )
    ]


def ranks(page: Page) -> list[int]:
    """The ranks of the rows, counted from 0."""
    return [int(text) - 1 for text in page.locator(".candidates tbody td:nth-child(2)").all_inner_texts()]


@pytest.mark.parametrize(("place", "temperature"), [(58, 0.69), (66, 1.0), (101, 5.0)])
def test_probabilities_at_a_temperature_are_those_of_torch(
    open_page: Open, explorer: Explorer, place: int, temperature: float
) -> None:
    page = open_page(view="next-token", step=1)
    page.get_by_label("temperature T").fill(str(place))
    trace = load(explorer.folder / "translator").explain(SENTENCE)
    expected = (trace.logits[1].double() / temperature).softmax(-1).sort(descending=True, stable=True).values

    assert shown(page, 6) == pytest.approx([float(expected[rank]) for rank in ranks(page)], rel=1e-4)


def test_a_cut_leaves_what_the_decoder_would_draw_from(open_page: Open, explorer: Explorer) -> None:
    page = open_page(view="next-token", step=0)
    page.get_by_label("top-k").fill("5")
    page.get_by_label("top-p").fill("0.6")
    trace = load(explorer.folder / "translator").explain(SENTENCE)
    config = DecodeConfig(temperature=1.0, top_k=5, top_p=0.6)
    expected = (
        distribution(trace.logits[0].log_softmax(-1)[None], config)[0]
        .sort(descending=True, stable=True)
        .values
    )
    found = shown(page, 7)

    assert found == pytest.approx([float(expected[rank]) for rank in ranks(page)], abs=1e-6)
    assert page.locator(".candidates tr.cut").count() == sum(p == 0 for p in found)


def test_the_best_token_has_all_at_temperature_zero(open_page: Open) -> None:
    page = open_page(view="next-token")
    slider = page.get_by_label("temperature T")
    slider.focus()
    page.keyboard.press("Home")

    expect(page.locator(".levers output").first).to_have_text("0 greedy")
    assert shown(page, 7)[0] == 1
    assert set(shown(page, 7)[1:]) == {0}


def test_a_seed_gives_the_same_twenty_draws_again(open_page: Open) -> None:
    page = open_page(view="next-token")
    page.locator("#stage").focus()
    page.keyboard.press("s")
    page.wait_for_selector(".draw-list li")
    first = page.locator(".draw-list li").all_inner_texts()
    page.get_by_role("button", name="Next seed").click()
    other = page.locator(".draw-list li").all_inner_texts()
    page.get_by_label("seed", exact=True).fill("1")

    assert sum(int(text.split()[-1].rstrip("×")) for text in first) == 20
    assert page.locator(".draw-list li").all_inner_texts() == first
    assert first != other


def test_any_token_is_found_with_its_rank_and_can_be_pinned_over_steps(
    open_page: Open, explorer: Explorer
) -> None:
    page = open_page(view="next-token")
    model = load(explorer.folder / "translator")
    token = model.tokenizer.encode("mouse")[0]
    (piece,) = model.tokenizer.pieces([token])
    trace = model.explain(SENTENCE)
    rank = 1 + int((trace.logits[0] > trace.logits[0, token]).sum())
    page.get_by_label("look up a token").fill(piece.lstrip("▁"))
    first = page.locator(".found-one").first

    expect(first).to_contain_text(f"rank {rank}")
    first.get_by_role("button").click()
    page.get_by_role("button", name="next step").click()
    expect(page.locator(".candidates tr.pinned")).to_have_count(1)
    expect(page.get_by_text("Pinned tokens at every step")).to_be_visible()


def test_a_blank_of_a_masked_model_shows_its_distribution(open_page: Open, explorer: Explorer) -> None:
    text = "The [MASK] chased the mouse."
    page = open_page("filler", view="next-token", text=text.replace(" ", "%20"))
    trace = load(explorer.folder / "filler").explain(text)
    best = trace.logits[trace.blanks[0]].double().softmax(-1).max()

    assert shown(page, 6)[0] == pytest.approx(float(best), rel=1e-4)


def test_the_table_holds_the_whole_vocabulary(open_page: Open, explorer: Explorer) -> None:
    page = open_page("writer", view="next-token")
    page.locator("#stage").focus()
    page.keyboard.press("t")
    size = load(explorer.folder / "writer").tokenizer.size

    expect(page.locator(".data-table")).to_have_attribute("aria-rowcount", str(size + 1))
