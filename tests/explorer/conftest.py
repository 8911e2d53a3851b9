"""One Chromium and one running explorer for all tests of the page."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.explorer.pages import MODELS, Explorer, save_models, served

expect.set_options(timeout=60_000)  # a busy machine may be a hundred times slower than an idle one

ARGUMENTS = [
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]


@pytest.fixture(scope="module")  # while it runs, no other event loop can run in this thread
def chromium() -> Iterator[Browser]:
    """Debian's Chromium. CI must have it: a page that nobody opened is not tested."""
    found = shutil.which("chromium")
    if found is None and not os.environ.get("CI"):
        pytest.skip("no chromium here; the explorer's page is tested in it")
    assert found, "the explorer is tested in Chromium; install the package chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS, timeout=180_000)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """The explorer on a free port, in a thread, with tiny models."""
    folder = tmp_path_factory.mktemp("models")
    save_models(folder)
    with served([folder / name for name in MODELS]) as url:
        yield Explorer(url, folder)
