"""Drawing takes longer than training does here; test_plots.py does it by itself."""

import pytest


@pytest.fixture(autouse=True)
def _no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.training.trainer.draw_run", lambda *_: None)
