"""V8 Layers: lengths, cosines and the logit lens against the model's own states."""

import pytest
from playwright.sync_api import Page, expect
from torch.nn import functional as F

from glassformer import load
from glassformer.probe.lens import depths, lens_logits
from tests.explorer.pages import SENTENCE, Explorer, Open, quiet, slow


def rows_of(page: Page) -> list[list[str]]:
    """The table that stands for the picture; numbers whole."""
    page.locator("#stage").focus()
    page.keyboard.press("t")
    page.wait_for_selector(".data-table tbody tr[aria-rowindex]")
    rows: list[list[str]] = page.locator(".data-table tbody tr[aria-rowindex]").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(c => c.querySelector('.num')?.title ?? c.textContent))"
    )
    return rows


@pytest.mark.parametrize("run", ["translator", "writer", "filler"])
def test_lengths_cosines_and_lens_are_the_models(open_page: Open, explorer: Explorer, run: str) -> None:
    text = "The [MASK] chased the mouse." if run == "filler" else SENTENCE
    page = open_page(run, view="layers", text=text.replace(" ", "%20"))
    trace = load(explorer.folder / run).explain(text)
    states = depths(trace, "enc" if run == "filler" else "dec")

    for depth, place, _, length, cosine, piece, p, _ in rows_of(page)[:24]:
        x = states[int(depth)][int(place)]
        best = lens_logits(trace, int(depth))[int(place)].softmax(-1).max(-1)
        assert float(length) == pytest.approx(float(x.norm()), rel=1e-4)
        assert float(p) == pytest.approx(float(best.values), rel=1e-3)
        assert piece
        if int(depth):
            before = states[int(depth) - 1][int(place)]
            assert float(cosine) == pytest.approx(float(F.cosine_similarity(x, before, dim=0)), abs=1e-4)


def test_cells_are_read_by_keyboard_and_show_ten_tokens(open_page: Open) -> None:
    page = open_page(view="layers")
    cell = page.get_by_role("gridcell")
    cell.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")

    expect(page.locator("#live")).to_contain_text("layer")
    expect(page.locator(".guesses .bars-list li")).to_have_count(10)


def test_every_measure_and_both_stacks_can_be_shown(open_page: Open) -> None:
    page = open_page(view="layers")
    for stack in ("encoder", "decoder"):
        page.get_by_label(stack, exact=True).check(force=True)
        for measure in ("length", "cosine to the layer before", "attention or feed-forward"):
            page.get_by_label(measure, exact=True).check(force=True)
            expect(page.get_by_role("grid")).to_have_count(1)


def test_another_choice_while_numbers_are_on_their_way_is_no_error(open_page: Open) -> None:
    page = open_page(view="layers")
    slow(page)
    cell = page.get_by_role("gridcell")
    cell.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_label("length", exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    quiet(page)

    expect(page.get_by_label("attention or feed-forward", exact=True)).to_be_checked()
    expect(page.get_by_label("attention or feed-forward", exact=True)).to_be_focused()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_classifier_has_layers_but_no_lens(open_page: Open) -> None:
    page = open_page("judge", view="layers")

    expect(page.get_by_label("length", exact=True)).to_be_checked()
    expect(page.get_by_label("logit lens")).to_have_count(0)
