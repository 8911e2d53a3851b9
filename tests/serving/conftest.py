"""One server for the many tests that leave it as it was."""

from collections.abc import Iterator

import pytest

from tests.serving.running import Running, tiny_tools


@pytest.fixture(scope="session")
def server() -> Iterator[Running]:
    with Running(tiny_tools()) as running:
        yield running
