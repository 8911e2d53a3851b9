"""The page as a whole: each view of each family opens and fits its window; the address holds a selection."""

import pytest
from playwright.sync_api import Page

from tests.explorer.pages import MODELS, Explorer, Open, ready, selection

VIEWS = {
    "translator": {
        "translate", "tokens", "embedding", "atlas", "head", "arithmetic", "masks", "layers",
        "next-token", "beam", "what-if", "compare", "time-machine", "runs", "weights",
    },
    "writer": {"translate", "head", "beam", "next-token"},
    "filler": {"translate", "head", "next-token"},
    "judge": {"translate", "head", "weights"},
}  # fmt: skip
"""Views that a model must at least have."""

TITLES = {"translator": "Translate", "writer": "Generate", "filler": "Fill", "judge": "Classify"}


def views(page: Page) -> list[str]:
    return [str(each) for each in page.locator("#views button").all_inner_texts()]


def overflow(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


@pytest.mark.parametrize("run", MODELS)
def test_every_view_of_every_family_opens_without_trouble(open_page: Open, run: str) -> None:
    page = open_page(run)
    names = views(page)
    opened = set()
    for name in names:
        page.get_by_role("navigation").get_by_role("button", name=name, exact=True).click()
        page.wait_for_function(
            "(n) => document.querySelector('#view-title')?.textContent === n"
            " && document.querySelector('#stage-slot').dataset.ready",
            arg=name,
            timeout=60_000,
        )
        opened.add(page.evaluate("document.querySelector('#stage-slot').dataset.ready"))
        assert page.locator("#stage-slot .error").count() == 0, name

    assert names[0] == TITLES[run]
    assert opened >= VIEWS[run]


@pytest.mark.parametrize("width", [390, 1024])
def test_nothing_is_wider_than_the_window(open_page: Open, width: int) -> None:
    page = open_page(width=width)
    for view in ("translate", "tokens", "embedding", "atlas", "head", "arithmetic", "masks"):
        page.evaluate(
            "(view) => { location.hash = location.hash.replace(/&view=[^&]*|$/, '&view=' + view); }", view
        )
        ready(page, view)

        assert overflow(page) <= 0, view


def test_the_map_is_drawn_from_the_configuration(open_page: Open) -> None:
    def parts(run: str) -> list[str]:
        page = open_page(run)
        return [str(part.get_attribute("aria-label")) for part in page.locator(".map .part").all()]

    translator, writer, filler, judge = (parts(run) for run in MODELS)

    assert {"Encoder self-attention", "Decoder self-attention", "Cross-attention"} <= set(translator)
    assert "sinusoidal positions" in translator
    assert (
        translator.count("residual connection and Norm") == 5
    )  # post-norm: 2 in the encoder, 3 in the decoder
    assert "rotary positions" in writer
    assert not {"Encoder self-attention", "Cross-attention"} & set(writer)
    assert (
        "residual connection and Norm" not in writer
    )  # pre-norm: norms stand before, additions by themselves
    assert not {"Decoder self-attention", "Cross-attention", "beam search"} & set(filler)
    assert "classifier" in judge


def test_a_link_opens_the_same_selection_and_back_goes_back(open_page: Open, explorer: Explorer) -> None:
    page = open_page(view="head", kind="enc", layer=1, head=2, query=1, key=3)
    assert page.locator("#inspector h3").first.inner_text() == "Layer 1, head 2"
    page.get_by_role("navigation").get_by_role("button", name="Masks").click()
    ready(page, "masks")
    page.go_back()
    ready(page, "head")
    link = str(page.evaluate("location.href"))
    other = open_page()
    other.goto(link)
    ready(other, "head")

    assert "kind=enc" in link
    assert "layer=1" in link
    assert other.locator("#inspector h3").first.inner_text() == "Layer 1, head 2"
    assert link.startswith(explorer.url)


def test_the_theme_follows_the_system_and_the_button_stays(open_page: Open) -> None:
    page = open_page(theme="dark")
    shade = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(shade)
    page.get_by_role("button", name="Light or dark").click()
    light = page.evaluate(shade)
    page.reload()
    ready(page, "translate")

    assert dark != light
    assert page.evaluate(shade) == light


def test_a_sentence_is_run_and_its_output_shown(open_page: Open) -> None:
    page = open_page()
    page.fill("#sentence", "A dog is sleeping.")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => document.querySelector('.alignment .sentence')?.textContent.includes('dog')"
    )

    assert selection(page)["text"] == "A dog is sleeping."


def test_an_impossible_sentence_says_why_and_leaves_the_page_as_it_was(
    open_page: Open, trouble: list[str]
) -> None:
    page = open_page()
    before = page.locator(".alignment").inner_text()
    page.fill("#sentence", "   ")
    page.keyboard.press("Enter")
    page.wait_for_selector("#toast:not([hidden])")

    assert page.locator("#toast").inner_text() != ""
    assert page.locator(".alignment").inner_text() == before
    assert all("Failed to load resource" in each for each in trouble)  # Chromium's own note of a 4xx answer
    trouble.clear()


@pytest.mark.parametrize("run", ["translator", "filler"])
def test_the_tour_leads_through_the_model(open_page: Open, run: str) -> None:
    page = open_page(run, level="tour")
    stops = page.locator(".tour .stops button").count()
    seen = []
    for number in range(1, stops + 1):
        page.wait_for_function(
            "(n) => document.querySelector('.tour h2')?.textContent.startsWith(n + '. ')", arg=number
        )
        page.wait_for_selector("#stage-slot[data-ready]")
        seen.append(page.evaluate("document.querySelector('#stage-slot').dataset.ready"))
        assert page.locator("#stage-slot .error").count() == 0
        page.locator('.tour [data-move="next"]').click()
    page.wait_for_selector(".tour", state="detached")

    assert stops == {"translator": 12, "filler": 10}[run]
    assert len(set(seen)) >= 8
    assert "level" not in selection(page)


def test_a_token_in_the_address_is_taken_out_of_it(open_page: Open) -> None:
    page = open_page(token="abcdefghijklmnop")

    assert "token" not in selection(page)
