"""A trace as one file, opened from disk, and in the frames of a notebook: every view, nothing asked for."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import glassformer
from glassformer.probe import Trace
from tests.explorer.browser.conftest import watch
from tests.explorer.pages import SENTENCE, Explorer, ready

EVIL = "<img src=x onerror=window.__ran=1> cat</script><script>window.__ran=1</script>"
SHOWN = """() => {
  const view = new URLSearchParams(location.hash.slice(1)).get('view') ?? 'translate';
  return document.getElementById('stage-slot').dataset.ready === view && view;
}"""
TEXTS = {"translator": SENTENCE, "writer": SENTENCE, "filler": "The [MASK] chased.", "judge": SENTENCE}


def traced(explorer: Explorer, run: str, text: str) -> Trace:
    return glassformer.load(explorer.folder / run, engine="pytorch").explain(text)


@pytest.fixture
def blank(chromium: Browser, trouble: list[str]) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(90_000)
    watch(page, "file:", trouble)
    yield page
    context.close()
    assert trouble == []


@pytest.mark.parametrize("run", TEXTS)
def test_every_view_opens_from_disk(explorer: Explorer, blank: Page, run: str, tmp_path: Path) -> None:
    found = traced(explorer, run, TEXTS[run])
    blank.goto(found.save_html(tmp_path / "trace.html").as_uri())
    ready(blank, "translate")
    buttons = blank.locator("#views button")
    seen = set()
    for place in range(buttons.count()):
        buttons.nth(place).click()
        seen.add(blank.wait_for_function(SHOWN).json_value())
    buttons.get_by_text("Tokens", exact=True).click()
    ready(blank, "tokens")
    shown = blank.locator("#stage-slot").inner_text()

    assert len(seen) == buttons.count() >= 6
    assert all(token.text in shown for token in found.tokens("source" if found.enc else "target"))


def test_text_in_a_file_stays_text(explorer: Explorer, blank: Page, tmp_path: Path) -> None:
    found = traced(explorer, "translator", EVIL)
    blank.goto(found.save_html(tmp_path / "trace.html").as_uri())
    ready(blank, "translate")

    assert blank.evaluate("window.__ran") is None
    assert blank.locator("#sentence").input_value() == EVIL


def test_two_frames_of_a_notebook(explorer: Explorer, blank: Page, tmp_path: Path) -> None:
    traces = [traced(explorer, "translator", SENTENCE), traced(explorer, "writer", "The dog")]
    cells = "".join(f"<div>{each._repr_html_()}</div>" for each in traces)
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><title>notebook</title>{cells}", encoding="utf-8")
    blank.goto(path.as_uri())
    for place, each in enumerate(traces):
        frame = blank.frame_locator("iframe").nth(place)
        frame.locator('#stage-slot[data-ready="translate"]').wait_for(timeout=60_000)

        assert frame.locator("#sentence").input_value() == each.answer.text
