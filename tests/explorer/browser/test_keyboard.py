"""Everything by keyboard alone: from the sentence to one number, and back."""

from playwright.sync_api import Page, expect

from tests.explorer.pages import Open, ready, selection, slow


def said(page: Page, text: str) -> None:
    """Wait until a screen reader would have been told something."""
    expect(page.locator("#live")).to_contain_text(text)


def test_from_the_sentence_to_one_weight_and_back(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("/")
    expect(page.locator("#sentence")).to_be_focused()
    page.keyboard.type("The cat")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => location.hash.includes('text=The+cat&') || location.hash.endsWith('text=The+cat')"
    )
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("5")
    ready(page, "head")
    page.keyboard.press("e")
    page.wait_for_function("() => location.hash.includes('kind=enc')")
    page.keyboard.press("]")
    page.keyboard.press(".")
    page.wait_for_function("() => location.hash.includes('layer=1') && location.hash.includes('head=1')")
    page.locator(".head-card .grid-focus").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('query=1') && location.hash.includes('key=1')")
    said(page, "query")
    said(page, "rank")
    page.keyboard.press("Enter")
    ready(page, "arithmetic")
    before = page.locator(".step[aria-current]").inner_text()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".step[aria-current]")).not_to_have_text(before, use_inner_text=True)
    page.keyboard.press("Escape")
    ready(page, "head")
    page.keyboard.press("t")
    page.wait_for_selector(".data-table")
    page.keyboard.press("t")
    page.wait_for_selector(".data-table", state="detached")


def test_the_palette_finds_views_by_a_part_of_their_name(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("Control+k")
    page.keyboard.type("atlas")
    page.keyboard.press("Enter")
    ready(page, "atlas")
    page.keyboard.press("Control+k")
    page.keyboard.type("weights")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    ready(page, "weights")


def test_the_atlas_is_a_grid_of_heads(open_page: Open) -> None:
    page = open_page(view="atlas", kind="enc")
    cell = page.locator(".atlas-plane .grid-focus").first
    cell.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    said(page, "layer 1, head 1")
    page.keyboard.press("Space")
    page.wait_for_selector(".tray:not([hidden])")
    page.keyboard.press("Enter")
    ready(page, "head")

    assert selection(page)["layer"] == "1"
    assert selection(page)["head"] == "1"


def test_the_timeline_steps_and_moves_the_query_along(open_page: Open) -> None:
    page = open_page(view="head", kind="cross")
    page.locator(".timeline [aria-current]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('step=2')")

    assert selection(page)["query"] == "2"
    said(page, "step 2")
    page.wait_for_function("() => document.activeElement.getAttribute('aria-label')?.startsWith('step 2')")


def test_letters_can_be_turned_off_and_never_act_while_typing(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("?")
    page.get_by_label("Single letters act as keys").uncheck()
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="detached")
    page.keyboard.press("5")
    assert page.locator("#view-title").inner_text() == "Translate"
    page.locator("#sentence").focus()
    page.keyboard.type("5")
    assert page.locator("#view-title").inner_text() == "Translate"
    page.keyboard.press("Control+k")
    page.wait_for_selector("dialog[open]")


def test_the_map_leads_to_the_parts(open_page: Open) -> None:
    page = open_page()
    page.locator('.map [data-part="attention-cross"]').focus()
    page.keyboard.press("Enter")
    ready(page, "head")

    expect(page.locator('.map [aria-current="true"]')).to_have_attribute("data-part", "attention-cross")


def test_what_has_the_focus_can_be_seen(open_page: Open) -> None:
    page = open_page()
    for _ in range(25):
        page.keyboard.press("Tab")
        style = page.evaluate(
            "() => { const e = document.activeElement; const own = getComputedStyle(e);"
            " const near = e.nextElementSibling && getComputedStyle(e.nextElementSibling);"
            " const box = e.querySelector?.('.box') && getComputedStyle(e.querySelector('.box'));"
            " return [own.outlineStyle, near?.outlineStyle, box ? 'box' : 'none', e.tagName]; }"
        )

        assert "auto" in style or "solid" in style or "box" in style, style


def test_the_keyboard_stays_in_the_matrix_while_another_is_on_its_way(open_page: Open) -> None:
    page = open_page(view="head", kind="cross")
    slow(page)
    page.locator(".head-card .grid-focus").first.focus()
    page.keyboard.press("e")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector('.head-card [role="grid"][aria-label^="Encoder"]')
    page.keyboard.press("ArrowRight")

    page.wait_for_function("() => location.hash.includes('query=1') && location.hash.includes('key=1')")
