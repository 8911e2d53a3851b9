"""V10 Beam tree: every node of the search, and an order under alpha that is the decoder's."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from glassformer.config import DecodeConfig
from glassformer.decoding.penalties import LengthPenalty
from tests.explorer.pages import Explorer, Open, selection


def log_of(page: Page, explorer: Explorer) -> dict[str, Any]:
    """The beam log of the trace on the stage."""
    trace = selection(page)["trace"]
    answer: dict[str, Any] = page.request.get(f"{explorer.url}api/traces/{trace}/beam").json()
    return answer


@pytest.mark.parametrize("alpha", [-1.0, 0.0, 2.0])
def test_finished_hypotheses_stand_in_the_order_of_the_decoder(
    open_page: Open, explorer: Explorer, alpha: float
) -> None:
    page = open_page(view="beam")
    page.get_by_label("length penalty α").fill(str(alpha))
    log = log_of(page, explorer)
    penalty = LengthPenalty(DecodeConfig(alpha=alpha))
    expected = sorted((each["logp"] / penalty(each["length"]) for each in log["finished"]), reverse=True)
    shown = page.locator(".hypotheses tbody td:nth-child(6) .num").evaluate_all(
        "list => list.map(e => Number(e.title))"
    )

    assert shown == pytest.approx(expected)


def test_every_node_is_in_the_tree_or_folded(open_page: Open, explorer: Explorer) -> None:
    page = open_page("writer", view="beam")
    log = log_of(page, explorer)
    box = page.get_by_label(re.compile("show the .* dropped"))
    box.set_checked(True)
    page.get_by_role("button", name="Unfold all").click()

    expect(page.get_by_role("treeitem")).to_have_count(len(log["nodes"]))
    box.set_checked(False)
    kept = sum(node["status"] != "pruned" for node in log["nodes"])
    expect(page.get_by_role("treeitem")).to_have_count(kept)


def test_the_tree_is_walked_by_keyboard(open_page: Open) -> None:
    page = open_page(view="beam")
    tree = page.get_by_role("tree")
    tree.focus()
    page.keyboard.press("Home")
    assert tree.get_attribute("aria-activedescendant") == "tree-node-0"
    page.keyboard.press("ArrowRight")
    first = tree.get_attribute("aria-activedescendant")
    page.keyboard.press("ArrowDown")

    assert first != "tree-node-0"
    assert tree.get_attribute("aria-activedescendant") not in (first, "tree-node-0")
    expect(page.locator("#live")).to_contain_text("log-probability")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("f")
    expect(page.locator("#live")).to_have_text("folded")
    expect(page.get_by_role("treeitem")).to_have_count(1)


def test_a_node_opens_as_a_trace_of_its_own(open_page: Open) -> None:
    page = open_page(view="beam")
    before = selection(page)["trace"]
    page.get_by_role("tree").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")

    page.wait_for_function(
        "(before) => new URLSearchParams(location.hash.slice(1)).get('trace') !== before", arg=before
    )
    expect(page.get_by_text("Nothing was searched for this trace")).to_be_visible()


def test_a_search_can_go_on_from_a_node_that_was_dropped(open_page: Open, explorer: Explorer) -> None:
    page = open_page(view="beam")
    log = log_of(page, explorer)
    first = [node for node in log["nodes"] if node["step"] == 1 and node["token"] != log["end"]]
    dropped = next(node for node in first if node["status"] == "pruned")
    page.get_by_label(re.compile("show the .* dropped")).set_checked(True)
    page.locator(f"#tree-node-{dropped['id']}").click()
    before = page.url
    page.get_by_role("button", name="Continue from here").click()
    page.wait_for_url(lambda url: url != before)
    token = page.locator(".timeline .token").first

    expect(token).to_have_attribute("title", re.compile(f"^step 0: {re.escape(dropped['piece'])} .* forced"))
