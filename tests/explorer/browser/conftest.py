"""Pages that fail a test when anything goes wrong inside them: errors, warnings, requests to elsewhere."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request

from tests.explorer.pages import Explorer, Open, ready


@pytest.fixture
def trouble() -> list[str]:
    """What went wrong in the pages of a test; must be empty at its end."""
    return []


@pytest.fixture
def open_page(chromium: Browser, explorer: Explorer, trouble: list[str]) -> Iterator[Open]:
    """Open the explorer at a selection, wait until its view is there, and watch it."""
    contexts: list[BrowserContext] = []

    def opened(
        run: str = "translator",
        *,
        width: int = 1440,
        theme: str = "light",
        options: Any = None,
        **selection: object,
    ) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if theme == "dark" else "light",
            reduced_motion="reduce",
            **(options or {}),
        )
        context.set_default_timeout(90_000)
        contexts.append(context)
        page = context.new_page()
        watch(page, explorer.url, trouble)
        page.goto(explorer.at(run, **selection))
        ready(page, str(selection.get("view", "translate")))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert trouble == []


def watch(page: Page, own: str, trouble: list[str]) -> None:
    """Keep whatever goes wrong in a page, and whatever it asks for that does not begin with ``own``."""
    page.on("request", lambda request: _asked(request, own, trouble))
    page.on("console", lambda message: _heard(message, trouble))
    page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
    page.on("dialog", lambda dialog: _dialog(dialog, trouble))


def _asked(request: Request, url: str, trouble: list[str]) -> None:
    if not request.url.startswith((url, "blob:", "data:")):
        trouble.append(f"request to elsewhere: {request.url}")


def _dialog(dialog: Dialog, trouble: list[str]) -> None:
    trouble.append(f"dialog: {dialog.message}")
    dialog.dismiss()


def _heard(message: ConsoleMessage, trouble: list[str]) -> None:
    if message.type in ("error", "warning"):
        trouble.append(f"{message.type}: {message.text} at {message.location.get('url')}")
