"""Levers that ask the model again: force a token, score an output, mute heads, take masks away."""

from playwright.sync_api import Page

from tests.explorer.pages import Open, ready


def trace(page: Page) -> str:
    return str(page.evaluate("new URLSearchParams(location.hash.slice(1)).get('trace')"))


def moved(page: Page, before: str) -> None:
    """Wait for another trace."""
    page.wait_for_function(
        "(before) => new URLSearchParams(location.hash.slice(1)).get('trace') !== before"
        " && document.querySelector('#stage-slot').dataset.ready",
        arg=before,
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
    page.wait_for_selector('.hypothesis[aria-pressed="true"] >> nth=0')

    assert page.locator(".hypothesis").nth(1).get_attribute("aria-pressed") == "true"


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

    assert page.locator(".badge.warn").first.inner_text() == "1 change to the model"


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
    page.wait_for_selector("text=without it")
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

    assert f"compare={trace(page)}" in page.url


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
