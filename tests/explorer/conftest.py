"""One Chromium and one running explorer for all tests of the page."""

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from playwright.sync_api import Browser, sync_playwright

from glassformer.explorer.app import create_app
from glassformer.explorer.guard import Access, Guard
from tests.explorer.pages import MODELS, Explorer, save_models

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
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """The explorer on a free port, in a thread, with tiny models."""
    folder = tmp_path_factory.mktemp("models")
    save_models(folder)
    app = Guard(create_app([folder / name for name in MODELS]), Access())
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.02)
    yield Explorer(f"http://127.0.0.1:{listening.getsockname()[1]}/", folder)
    server.should_exit = True
    thread.join(10)
    listening.close()
