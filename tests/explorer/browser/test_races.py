"""A reader who is faster than the machine: late answers undo nothing chosen since, and the focus stays."""

from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Page, expect

from tests.explorer.pages import SENTENCE, Open, quiet, ready, selection, slow

FIRST_LATE = (1200, 40)
"""The first answer comes after those that were asked for later."""


def focused(page: Page) -> str:
    """What has the focus, by its name."""
    return str(
        page.evaluate(
            "() => { const e = document.activeElement; return e === document.body ? '' :"
            " e.getAttribute('aria-label') ?? e.closest('label')?.querySelector('span')?.textContent"
            " ?? e.textContent; }"
        )
    )


def picture(page: Page) -> str:
    return str(page.locator(".head-card .grid-plane canvas").first.evaluate("(c) => c.toDataURL()"))


def test_a_choice_made_while_a_view_is_on_its_way_is_shown_when_it_is_there(open_page: Open) -> None:
    page = open_page(kind="enc")
    slow(page)
    page.keyboard.press("5")
    page.keyboard.press(".")
    page.keyboard.press(".")
    ready(page, "head")
    page.wait_for_selector('.head-pictures[data-shown="enc.0.2"]')

    expect(page.locator("#inspector h3").first).to_have_text("Layer 0, head 2")
    expect(page.locator("#stage-slot").get_by_label("head", exact=True)).to_have_value("2")


def test_the_head_asked_for_last_is_the_one_painted(open_page: Open) -> None:
    page = open_page(view="head", kind="enc", head=0)
    slow(page, *FIRST_LATE)
    head = page.locator("#stage-slot").get_by_label("head", exact=True)
    head.select_option("2")
    head.select_option("3")
    page.wait_for_selector('.head-pictures[data-shown="enc.0.3"]')
    quiet(page)
    other = open_page(view="head", kind="enc", head=3)

    assert picture(page) == picture(other)
    expect(page.locator("#inspector h3").first).to_have_text("Layer 0, head 3")


def test_the_step_asked_for_last_is_the_one_shown(open_page: Open) -> None:
    page = open_page(view="next-token")
    slow(page, *FIRST_LATE)
    page.locator(".timeline [aria-current]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('step=2')")
    quiet(page)

    expect(page.locator(".so-far-line")).to_contain_text("step 2")


def test_the_cell_asked_for_last_is_the_one_worked_out(open_page: Open) -> None:
    page = open_page(view="arithmetic", kind="enc")
    slow(page, *FIRST_LATE)
    key = page.get_by_label("key", exact=True)
    key.select_option("1")
    key.select_option("2")
    quiet(page)
    other = open_page(view="arithmetic", kind="enc", key=2)

    assert (
        page.locator("#inspector dl").first.inner_text() == other.locator("#inspector dl").first.inner_text()
    )


def test_another_model_chosen_while_a_sentence_runs_stays_chosen(open_page: Open) -> None:
    page = open_page()
    slow(page, *FIRST_LATE)
    page.fill("#sentence", "A dog is sleeping.")
    page.keyboard.press("Enter")
    page.get_by_label("model", exact=True).select_option("writer")
    expect(page.locator("#view-title")).to_have_text("Generate", timeout=60_000)
    quiet(page)

    assert selection(page)["run"] == "writer"
    expect(page.locator("#view-title")).to_have_text("Generate")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_the_sentence_run_last_is_the_one_shown(open_page: Open) -> None:
    page = open_page()
    slow(page, *FIRST_LATE)
    for text in ("The dog.", "A mouse."):
        page.fill("#sentence", text)
        page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('A+mouse')", timeout=60_000)
    quiet(page)

    assert selection(page)["text"] == "A mouse."
    expect(page.locator(".alignment")).to_contain_text("mouse")


def test_levers_act_on_the_sentence_that_is_shown_not_on_what_is_being_typed(open_page: Open) -> None:
    page = open_page(view="head", kind="enc", text=quote_plus(SENTENCE))
    before = selection(page)["trace"]
    page.fill("#sentence", "Something else, not run")
    page.locator("#stage").focus()
    page.keyboard.press("m")
    page.wait_for_function(
        "(before) => new URLSearchParams(location.hash.slice(1)).get('trace') !== before", arg=before
    )

    assert selection(page)["text"] == SENTENCE


def test_running_through_all_views_leaves_no_error_behind(open_page: Open) -> None:
    page = open_page()
    slow(page, 120)
    for _ in range(2):
        for digit in "923456781":
            page.keyboard.press(digit)
    ready(page, "translate")
    for view in ("compare", "weights", "what-if", "beam", "layers"):
        page.evaluate(
            "(view) => { location.hash = location.hash.replace(/&view=[^&]*|$/, '&view=' + view); }", view
        )
    ready(page, "layers")
    quiet(page)

    expect(page.locator("#stage-slot .error")).to_have_count(0)
    expect(page.locator("#toast")).to_be_hidden()


def test_a_view_that_failed_is_drawn_again_with_the_next_choice(open_page: Open) -> None:
    page = open_page(kind="enc")
    page.evaluate("() => { window.ask = fetch; window.fetch = () => Promise.reject(new TypeError()); }")
    page.keyboard.press("7")
    expect(page.get_by_role("alert")).to_contain_text("the server does not answer")
    page.evaluate("() => { window.fetch = window.ask; }")
    page.keyboard.press("l")

    ready(page, "masks")
    expect(page.get_by_role("alert")).to_have_count(0)


CONTROLS = [
    ("arithmetic", "button", "Next →", "Enter"),
    ("arithmetic", "combobox", "query", "ArrowDown"),
    ("next-token", "button", "next step", "Enter"),
    ("tokens", "button", "Back", "Enter"),
    ("embedding", "radio", "target", " "),
    ("compare", "combobox", "layer", "ArrowDown"),
    ("what-if", "combobox", "what", "ArrowDown"),
    ("what-if", "combobox", "layer", "ArrowDown"),
    ("weights", "radio", "decoder", " "),
    ("head", "combobox", "head", "ArrowDown"),
]


@pytest.mark.parametrize(("view", "role", "name", "key"), CONTROLS)
def test_a_control_keeps_the_focus_while_what_it_changes_is_drawn_anew(
    open_page: Open, view: str, role: str, name: str, key: str
) -> None:
    page = open_page(view=view, kind="enc")
    control = page.locator("#stage-slot").get_by_role(role, name=name, exact=True).first  # type: ignore[arg-type]
    control.focus()
    before = focused(page)
    slow(page, 150)
    page.keyboard.press(key)
    quiet(page)

    assert focused(page) == before


def test_a_token_that_is_pinned_keeps_the_focus(open_page: Open) -> None:
    page = open_page(view="next-token")
    pin = page.locator(".candidates .pin").nth(2)
    name = pin.get_attribute("aria-label")
    pin.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".candidates tr.pinned")).to_have_count(1)

    assert focused(page) == name


def test_the_focus_goes_from_what_was_removed_to_its_neighbour(open_page: Open) -> None:
    page = open_page(view="what-if", kind="enc")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("button", name="Add", exact=True).click()
    page.locator(".change button").nth(1).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".change")).to_have_count(1)

    assert focused(page) != ""


def test_two_compared_heads_keep_the_cell_that_was_chosen(open_page: Open) -> None:
    page = open_page(view="compare", kind="enc", query=2, key=1)
    page.wait_for_selector(".pair canvas.pixelated")
    page.keyboard.press("]")
    expect(page.locator('.pair [role="grid"]').first).to_have_attribute(
        "aria-label", "A: encoder self-attention, layer 1, head 0"
    )

    expect(page.locator('.pair [role="row"]').first).to_have_attribute("aria-rowindex", "3")
    expect(page.locator('.pair [role="gridcell"]').first).to_have_attribute("aria-colindex", "2")
