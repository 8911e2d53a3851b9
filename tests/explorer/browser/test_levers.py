"""Levers that ask the model again: force a token, score an output, mute heads, take masks away."""

import pytest
from playwright.sync_api import Page, expect

from tests.explorer.pages import Open, ready, selection


def trace(page: Page) -> str:
    return selection(page)["trace"]


def moved(page: Page, before: str) -> None:
    """Wait until another trace is shown."""
    page.wait_for_function(
        "(before) => { const now = new URLSearchParams(location.hash.slice(1)).get('trace');"
        " const { ready, trace } = document.querySelector('#stage-slot').dataset;"
        " return now !== before && ready && trace === now; }",
        arg=before,
        timeout=60_000,
    )


def test_a_forced_token_stands_in_the_output_and_can_be_undone(open_page: Open) -> None:
    page = open_page(step=1)
    before = trace(page)
    button = page.locator(".alternatives button").nth(2)
    wanted = button.locator("bdi").inner_text()
    button.click()
    moved(page, before)
    page.wait_for_selector(".badge.warn")
    forced = page.locator('.output-tokens [data-step="1"] bdi').inner_text()
    changed = trace(page)
    page.get_by_role("button", name="Undo").click()
    moved(page, changed)

    assert forced == wanted
    assert trace(page) == before


def test_another_whole_output_can_be_looked_at(open_page: Open) -> None:
    page = open_page()
    before = trace(page)
    page.locator(".hypothesis").nth(1).click()
    moved(page, before)

    expect(page.locator(".hypothesis").nth(1)).to_have_attribute("aria-pressed", "true")


def test_an_output_of_ones_own_is_scored_token_by_token(open_page: Open) -> None:
    page = open_page()
    page.get_by_label("an output of your own").fill("Le chat.")
    page.get_by_role("button", name="Score it").click()
    page.wait_for_selector("text=perplexity")
    before = trace(page)
    page.get_by_role("button", name="Look inside this one").click()
    moved(page, before)

    assert "Le chat." in page.locator(".alignment").inner_text().replace("\n", " ")


def test_m_mutes_the_selected_head(open_page: Open) -> None:
    page = open_page(view="head", kind="enc", layer=1, head=1)
    before = trace(page)
    page.keyboard.press("m")
    moved(page, before)
    page.keyboard.press("1")
    ready(page, "translate")

    expect(page.locator(".badge.warn").first).to_have_text("1 change to the model")


def test_importance_is_measured_by_muting_each_head_once(open_page: Open) -> None:
    page = open_page(view="atlas")
    page.get_by_role("button", name="Measure importance").click()
    page.wait_for_function(
        "() => document.querySelector('.controls select')?.value === 'importance'", timeout=60_000
    )
    page.locator("#stage").focus()
    page.keyboard.press("t")
    page.wait_for_selector(".data-table tbody td")
    importance = page.evaluate(
        "[...document.querySelectorAll('.data-table tbody tr')].map((tr) => tr.cells[8].textContent)"
    )

    assert len(importance) == 3 * 2 * 4
    assert "–" not in importance


def test_masks_can_be_taken_away_and_the_damage_is_a_number(open_page: Open) -> None:
    page = open_page(view="masks")
    page.get_by_role("button", name="Run without the mask").click()
    page.wait_for_selector("text=without it", timeout=60_000)
    page.get_by_role("button", name="Make the batch").click()
    page.wait_for_selector(".batch td.pad")
    words = page.locator("p", has_text="Largest change of any state").locator("b .num")

    assert float(words.nth(0).get_attribute("title") or 1) < 1e-4
    assert float(words.nth(1).get_attribute("title") or 0) > 1e-2


def test_positions_can_be_dropped(open_page: Open) -> None:
    page = open_page(view="embedding")
    before = trace(page)
    page.get_by_role("button", name="Run without positions").click()
    moved(page, before)

    assert page.locator("#stage-slot .error").count() == 0


def test_a_kept_trace_is_there_to_compare_with(open_page: Open) -> None:
    page = open_page(view="head")
    page.keyboard.press("x")
    page.wait_for_function("() => location.hash.includes('compare=')")

    assert selection(page)["compare"] == trace(page)


def test_what_is_shown_can_be_taken_along(open_page: Open) -> None:
    page = open_page(view="head", kind="enc")
    tokens = page.locator(".head-card .grid-columns span").count()
    page.get_by_role("button", name="Export").click()
    names = page.locator(".menu-items button").all_inner_texts()
    with page.expect_download() as picture:
        page.get_by_role("button", name="Picture as PNG").click()
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as numbers:
        page.get_by_role("button", name="Numbers as CSV").click()
    lines = numbers.value.path().read_text(encoding="utf-8").splitlines()

    assert picture.value.path().read_bytes().startswith(b"\x89PNG")
    assert lines[0] == "query,query token,key,key token,weights"
    assert len(lines) == 1 + tokens * tokens
    assert {"Picture as SVG", "Numbers as JSON", "Copy Python", "Copy link", "Trace as one HTML file"} <= set(
        names
    )


def test_every_number_of_the_arithmetic_leads_to_its_tensor(open_page: Open) -> None:
    page = open_page(view="arithmetic", kind="cross", layer=1, head=2, query=1, key=2)
    steps = page.locator(".steps button").count()
    for step in range(steps):
        page.locator(".steps button").nth(step).click()
        links = page.locator(".step-links [data-tensor]")
        assert links.count() > 0
        name = str(links.last.get_attribute("data-tensor"))
        links.last.click()
        expect(page.locator(".tensor-panel h3 .mono")).to_have_text(name)
    page.locator("#inspector").get_by_role("button", name="weight α").click()
    expect(page.locator(".tensor-panel h3 .mono")).to_have_text("cross.1.2.weights")
    shown = page.locator(".tensor-panel .readout .num").get_attribute("title") or "0"
    weight = page.locator("#inspector dl").first.locator("dt:has-text('weight α') + dd .num")

    assert float(shown) == pytest.approx(float(weight.get_attribute("title") or 1), abs=5e-4)


def test_a_learned_matrix_opens_among_the_weights(open_page: Open) -> None:
    page = open_page(view="arithmetic", kind="cross", layer=1)
    page.locator("[data-parameter]").first.click()
    ready(page, "weights")

    expect(page.locator(".weight-title")).to_have_text("decoder.blocks.1.cross_attention.query.weight")


LONG = "+".join(["The", "cat", "chased", "a", "mouse"] * 22)


def test_a_long_matrix_is_zoomed_by_wheel_keys_and_buttons_and_dragged(open_page: Open) -> None:
    page = open_page(view="head", kind="enc", text=LONG)
    plane = page.locator(".head-card .grid-plane").first
    cell = page.locator(".head-card .grid-focus").first
    grid = page.locator(".head-card .grid-picture").first

    def width() -> float:
        return float(plane.evaluate("(e) => e.getBoundingClientRect().width"))

    fit = width()
    cell.focus()
    page.keyboard.press("+")
    assert width() == pytest.approx(2 * fit, rel=0.01)
    page.keyboard.press("0")
    assert width() == pytest.approx(fit, rel=0.01)
    box = grid.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, -600)
    page.wait_for_function(
        "(w) => document.querySelector('.head-card .grid-plane').clientWidth > 2 * w", arg=fit
    )
    page.get_by_role("button", name="zoom in").click()
    grid.scroll_into_view_if_needed()  # the click may have scrolled the stage
    box = grid.bounding_box()
    assert box
    before = grid.evaluate("(e) => [e.scrollLeft, e.scrollTop]")
    where = page.evaluate("() => location.hash")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 - 60, box["y"] + box["height"] / 2 - 40, steps=4)
    page.mouse.up()

    moved_to = grid.evaluate("(e) => [e.scrollLeft, e.scrollTop]")
    assert moved_to == pytest.approx([before[0] + 60, before[1] + 40], abs=1.5)
    assert page.evaluate("() => location.hash") == where  # dragging is not clicking
    page.get_by_role("button", name="Fit").click()
    assert width() == pytest.approx(fit, rel=0.01)
