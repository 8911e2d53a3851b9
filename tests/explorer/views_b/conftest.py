"""Watched pages, as for the other views, and an explorer of a run that was really trained."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from glassformer.training import RunDirectory
from tests.explorer.browser.conftest import open_page, trouble
from tests.explorer.pages import served
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
    with served([Path(run.path)]) as url:
        yield url
