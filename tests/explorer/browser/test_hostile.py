"""Text of any kind is shown as itself: nothing in it runs, loads, turns around or breaks the page."""

from urllib.parse import quote_plus

import pytest

from tests.explorer.pages import Open, ready

PAYLOADS = (
    "<script>window.__ran = 1</script>",
    "<img src=x onerror=window.__ran=1>",
    "<svg onload=window.__ran=1>",
    "<svg><script>window.__ran=1</script></svg>",
    "<iframe srcdoc='<script>parent.__ran=1</script>'></iframe>",
    "<body onload=window.__ran=1>",
    "<a href=javascript:window.__ran=1>x</a>",
    "<math><mtext><script>window.__ran=1</script></mtext></math>",
    "<style>*{display:none}</style>",
    "<link rel=stylesheet href=//example.org/x.css>",
    "<meta http-equiv=refresh content=0;url=//example.org>",
    "<base href=//example.org/>",
    "<template><script>window.__ran=1</script></template>",
    "<textarea></textarea><script>window.__ran=1</script>",
    "</title><script>window.__ran=1</script>",
    "</textarea><script>window.__ran=1</script>",
    "--><script>window.__ran=1</script><!--",
    "]]><script>window.__ran=1</script>",
    "\"'><script>window.__ran=1</script>",
    "' onfocus=window.__ran=1 autofocus '",
    '" onmouseover="window.__ran=1" "',
    "javascript:window.__ran=1",
    "${window.__ran=1}",
    "{{constructor.constructor('window.__ran=1')()}}",
    "`;window.__ran=1;`",
    "&lt;script&gt; &amp; &#60;b&#62;",
    "__proto__ constructor prototype toString hasOwnProperty",
    "#view=masks&run=nobody&token=stolen",
    "../../../../etc/passwd",
    "%3Cscript%3Ewindow.__ran%3D1%3C/script%3E",
    '=HYPERLINK("http://example.org","x")',
    "שלום עולם مرحبا بالعالم",
    "a \u202eright to left\u202c b",
    "zero\u200bwidth\u200djoin\u2060er \ufeff",
    "e\u0301e\u0302\u0303\u0304 Z\u0351\u036b\u0343\u036a\u0302 algo",
    "👨‍👩‍👧‍👦 🏳️‍🌈 🇫🇷 👍🏽",
    "𝕳𝖊𝖑𝖑𝖔 \U0001f9ff \u2063",
    "NULL undefined NaN None true",
    "\\u003cscript\\u003e \\x3c \\n \\0",
    "the " + "verylongword" * 40,
)


def test_forty_payloads() -> None:
    assert len(set(PAYLOADS)) == 40


def test_hostile_text_is_shown_literally_and_does_nothing(open_page: Open) -> None:
    page = open_page(view="tokens")
    for first in range(0, len(PAYLOADS), 10):
        some = PAYLOADS[first : first + 10]
        page.fill(".editor", " | ".join(some))
        page.wait_for_function(
            "(text) => document.querySelector('.characters')"
            "?.textContent.replaceAll('␣', ' ').startsWith(text)",
            arg=some[0][:20] if some[0].isascii() else "",
        )
        page.wait_for_function("() => document.querySelectorAll('.piece .token').length > 100")
        shown = page.locator(".characters").evaluate("(p) => p.textContent").replace("␣", " ")
        for text in some:
            assert not text.isascii() or text in shown
    assert page.evaluate("window.__ran") is None
    assert page.locator("#stage-slot :is(script, iframe, style, link, img, meta, base)").count() == 0


@pytest.mark.parametrize("text", [PAYLOADS[0], PAYLOADS[31], PAYLOADS[32]])
def test_hostile_sentences_go_through_the_whole_page(open_page: Open, text: str) -> None:
    page = open_page(text=quote_plus(text))
    for digit, view in enumerate(
        ("translate", "tokens", "embedding", "atlas", "head", "arithmetic", "masks"), 1
    ):
        page.keyboard.press(str(digit))
        ready(page, view)
        page.evaluate("() => document.activeElement.blur()")

        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view
    assert page.input_value("#sentence") == text
    assert page.evaluate("window.__ran") is None
    assert page.locator(":is(#stage, #inspector, #timeline) :is(script, iframe, style, img)").count() == 0
    assert page.evaluate("() => [...document.querySelectorAll('#timeline bdi, .grid-rows bdi')].length") > 0


def test_markup_is_refused_by_the_browser_itself(open_page: Open, trouble: list[str]) -> None:
    """Trusted Types: even a mistake in a source could not put markup into the page."""
    page = open_page()
    refused = page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; return false; } catch { return true; } }"
    )

    assert refused
    trouble.clear()
