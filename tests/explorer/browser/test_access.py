"""Nothing that axe calls serious or critical, in both themes, on every view."""

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it ships none

from tests.explorer.pages import Open, ready

VIEWS = (
    "translate", "tokens", "embedding", "atlas", "head", "arithmetic", "masks", "layers",
    "next-token", "beam", "what-if", "compare", "time-machine", "runs", "weights",
)  # fmt: skip


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page: Open, theme: str) -> None:
    # The only page that is opened without its policy: axe is a script of somebody else.
    page = open_page(theme=theme, options={"bypass_csp": True})
    axe = Axe()
    found = []
    for view in VIEWS:
        page.evaluate(
            "(view) => { location.hash = location.hash.replace(/&view=[^&]*|$/, '&view=' + view); }", view
        )
        ready(page, view)
        answer = axe.run(page, options={"resultTypes": ["violations"]}).response
        found += [
            f"{view}: {each['id']}: {node['target']} {node['failureSummary'].splitlines()[1].strip()}"
            for each in answer["violations"]
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"][:3]
        ]

    assert found == []
