"""V8–V15 in every family, on a telephone and in the dark; and what one can take away from a view."""

import pytest
from playwright.sync_api import expect

from tests.explorer.pages import Open

VIEWS = ["layers", "next-token", "beam", "what-if", "compare", "runs", "weights", "time-machine"]
CASES = [
    ("translator", VIEWS),
    ("writer", VIEWS),
    ("filler", [view for view in VIEWS if view != "beam"]),
    ("judge", ["layers", "what-if", "compare", "weights"]),
]


@pytest.mark.parametrize(("run", "views"), CASES, ids=[run for run, _ in CASES])
def test_each_view_fits_a_telephone(open_page: Open, run: str, views: list[str]) -> None:
    text = "The%20[MASK]%20chased%20the%20mouse." if run == "filler" else "The%20cat%20chased%20the%20mouse."
    page = open_page(run, width=390, theme="dark", view=views[0], text=text)
    for view in views:
        page.evaluate(
            "view => { location.hash = location.hash.replace(/view=[\\w-]+/, `view=${view}`); }", view
        )
        page.wait_for_selector(f'#stage-slot[data-ready="{view}"]', timeout=20_000)

        expect(page.locator("#stage-slot .error")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") == 390, view


def test_what_is_shown_can_be_taken_away_in_five_forms(open_page: Open) -> None:
    page = open_page(view="next-token")
    saved = {}
    for form in ("Picture as SVG", "Picture as PNG", "Numbers as CSV", "Numbers as JSON"):
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("button", name=form).click()
        saved[form] = download.value.path().read_bytes()

    assert saved["Picture as PNG"].startswith(b"\x89PNG")
    assert b"<svg" in saved["Picture as SVG"] and b"var(" not in saved["Picture as SVG"]
    assert saved["Numbers as CSV"].startswith(b"rank,token,id,logit")
    assert b'"rows"' in saved["Numbers as JSON"]
