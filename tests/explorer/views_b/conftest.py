"""Watched pages, as for the other views, and an explorer of a run that was really trained."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from glassformer.explorer.app import create_app
from glassformer.explorer.guard import Access, Guard
from glassformer.training import RunDirectory
from tests.explorer.browser.conftest import open_page, trouble
from tests.support.corpora import tiny_run
from tests.support.runs import train

__all__ = ["open_page", "trouble"]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A tiny run that has ended, with several checkpoints."""
    folder = tmp_path_factory.mktemp("run")
    return train(tiny_run(folder), folder)


@pytest.fixture(scope="session")
def run_url(run: RunDirectory) -> Iterator[str]:
    """An explorer that shows the run."""
    app = Guard(create_app([Path(run.path)]), Access())
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    server.should_exit = True
    thread.join(10)
    listening.close()
