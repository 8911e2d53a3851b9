"""The Python that a view offers runs as it stands, and gives what the view shows."""

from typing import Any

import pytest
import torch

from tests.explorer.pages import Explorer, Open

TELLS = {
    "layers": "depths(trace",
    "next-token": "distribution(",
    "beam": "nbest=",
    "what-if": "trace.what_if(",
    "compare": "other =",
    "weights": "named_parameters",
}
"""Words in the Python of a view that no other view has."""
VIEWS = list(TELLS)


@pytest.mark.parametrize(
    ("run", "views"),
    [("translator", VIEWS), ("writer", ["next-token", "beam", "weights"]), ("judge", ["layers", "weights"])],
)
def test_the_python_of_a_view_runs(
    open_page: Open, explorer: Explorer, monkeypatch: pytest.MonkeyPatch, run: str, views: list[str]
) -> None:
    monkeypatch.chdir(explorer.folder)  # the page names a model by its directory
    page = open_page(run, view=views[0])
    for view in views:
        page.evaluate(
            "view => { location.hash = location.hash.replace(/view=[\\w-]+/, `view=${view}`); }", view
        )
        page.wait_for_selector(f'#stage-slot[data-ready="{view}"]', timeout=20_000)
        page.wait_for_selector(f'#inspector pre.code:has-text("{TELLS[view]}")')
        names: dict[str, Any] = {}
        exec(page.locator("#inspector pre.code").inner_text(), names)

        if view == "next-token":
            best = page.locator(".candidates tbody td:nth-child(7) .bar").first.get_attribute("title")
            assert float(best or 0) == pytest.approx(float(names["p"].max()), rel=1e-4)
        if view == "compare":
            assert isinstance(names["a"], torch.Tensor)
            assert names["a"].shape == names["b"].shape
