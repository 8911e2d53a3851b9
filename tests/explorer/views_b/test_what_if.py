"""V11 What-if and V12 Compare: changed traces against the probe's own."""

import re

import pytest
import torch
from playwright.sync_api import Page, expect

from glassformer import load
from glassformer.probe.importance import measure_importance
from tests.explorer.pages import SENTENCE, Explorer, Open


def run_changes(page: Page) -> None:
    page.get_by_role("button", name="Add", exact=True).click()
    page.locator(".what-list").get_by_role("button", name="Run").click()
    page.wait_for_selector(".before-after")


def test_a_muted_head_changes_the_output_as_the_probe_says(open_page: Open, explorer: Explorer) -> None:
    page = open_page(view="what-if", kind="cross", layer=1, head=2)
    run_changes(page)
    trace = load(explorer.folder / "translator").explain(SENTENCE)
    changed = trace.what_if(mute=[("cross", 1, 2)])
    same = trace.diff(changed).same_target
    assert same is not None
    shown = page.locator(".token-diff tbody .signed-bar .num").evaluate_all(
        "list => list.map(e => Number(e.title))"
    )

    assert shown == pytest.approx([b - a for a, b in zip(same.before, same.after, strict=True)], abs=1e-4)
    expect(page.locator(".before-after dd").nth(1)).to_have_text(changed.text or "∅")


def test_changes_are_added_and_removed_by_keyboard(open_page: Open) -> None:
    page = open_page("writer", view="what-if")
    what = page.get_by_label("what", exact=True)
    what.focus()
    what.select_option("uniform")
    page.get_by_role("button", name="Add", exact=True).press("Enter")
    expect(page.locator(".change")).to_have_count(1)
    page.get_by_role("button", name=re.compile("^remove")).press("Enter")

    expect(page.locator(".change")).to_have_count(0)


def test_muting_each_head_once_gives_the_importance_of_the_probe(open_page: Open, explorer: Explorer) -> None:
    page = open_page("judge", view="what-if")
    page.get_by_role("button", name="Mute each head once").click()
    expect(page.locator("#live")).to_contain_text("heads muted once")
    page.locator("#stage").focus()
    page.keyboard.press("t")
    page.wait_for_selector(".data-table tbody tr[aria-rowindex]")
    shown = page.locator(".data-table tbody tr[aria-rowindex]").evaluate_all(
        "rows => rows.map(row => [...row.cells].slice(1).map(c => Number(c.querySelector('.num').title)))"
    )
    trace = load(explorer.folder / "judge").explain(SENTENCE)
    expected = {(each.layer, each.head): each.importance for each in measure_importance(trace)}

    assert {(layer, head): value for layer, head, value in shown} == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_difference_of_two_heads_has_the_colours_of_its_numbers(
    open_page: Open, explorer: Explorer, theme: str
) -> None:
    page = open_page(view="compare", theme=theme, kind="enc", layer=0, head=1)
    page.get_by_label("difference", exact=True).check(force=True)
    page.wait_for_selector(".pair figure:only-child canvas")
    layer = load(explorer.folder / "translator").explain(SENTENCE).enc[0]
    difference = (layer.weights[2] - layer.weights[1]).double()
    n = difference.size(0)
    pixels = page.locator(".pair canvas.pixelated").evaluate(
        "c => Array.from(c.getContext('2d').getImageData(0, 0, c.width, c.height).data)"
    )
    table = page.evaluate(
        f"async () => Array.from(new Uint8Array((await import('./draw/colour.js')).signed('{theme}').buffer))"
    )
    place = ((difference / difference.abs().max() + 1) / 2 * 255).round().long().flatten()
    found = torch.tensor(pixels).view(n * n, 4)
    expected = torch.tensor(table).view(256, 4)

    nearest = torch.stack(
        [(expected[(place + shift).clamp(0, 255)] - found).abs().sum(-1) for shift in (-1, 0, 1)]
    )
    assert int(nearest.amin(0).max()) == 0, (
        "each pixel is the colour of its number, give or take the rounding of f16"
    )


def test_no_difference_has_no_colour(open_page: Open) -> None:
    page = open_page(view="compare", kind="enc", layer=0, head=1)
    page.get_by_label("difference", exact=True).check(force=True)
    page.locator("figcaption").get_by_label("head").last.select_option("1")
    page.wait_for_function(
        """() => {
          const canvas = document.querySelector(".pair figure:only-child canvas.pixelated");
          if (!canvas || !canvas.width) return false;
          const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          return data.every((byte, i) => i % 4 === 3 || byte > 235);
        }"""
    )


def test_another_sentence_is_compared_word_by_word(open_page: Open) -> None:
    page = open_page(view="compare")
    page.get_by_label("other sentence").fill("A dog is sleeping.")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Outputs")).to_be_visible(timeout=20_000)
    expect(page.locator(".pair figure")).to_have_count(2)
    expect(page.locator(".side-line")).to_have_count(2)
