"""How a run looks: a bar on a terminal, plain lines elsewhere, the same lines in train.log."""

import io
import math
from pathlib import Path

import pytest
from rich.console import Console

from glassformer.cli.progress import TrainingProgress, clock, perplexity
from glassformer.training import Sample, Update, Validation

UPDATE = Update(loss=3.4123, nll=2.8449, gradient_norm=0.834, tokens=1000, rate=9.4e-4)


def show(console: Console, log: Path | None = None) -> None:
    with TrainingProgress(console, log, log_every=2) as progress:
        for step in range(1, 5):
            progress.stepped(step, 5, UPDATE, 6712.0)
        scores = {"loss": 2.98, "ppl": 19.7, "bleu": 21.44, "chrf": 44.9}
        progress.validated(Validation(4, scores, (Sample("a [b] c", "x", "y", -0.5),), improved=True))
        progress.validated(Validation(5, scores | {"loss": 3.09}, (), improved=False))
        progress.saved(Path("checkpoints/step-000004"), 0.4)
        progress.warned("disk is full; training goes on")


def test_plain_lines_off_a_terminal(tmp_path: Path) -> None:
    out = io.StringIO()
    show(Console(file=out, soft_wrap=True), tmp_path / "train.log")
    lines = out.getvalue().splitlines()

    assert [line.partition(" eta=")[0] for line in lines[:2]] == [
        f"step={step} loss=3.412 ppl=17.2 lr=9.4e-04 tok/s=6712 gnorm=0.83" for step in (2, 4)
    ]
    assert lines[2:] == [
        " valid @ 4   loss 2.980   ppl 19.7   BLEU 21.4   chrF 44.9   ▲ best",
        "   a [b] c → y",
        " valid @ 5   loss 3.090 ↑0.110   ppl 19.7   BLEU 21.4   chrF 44.9",
        "warning: disk is full; training goes on",
    ]
    log = (tmp_path / "train.log").read_text().splitlines()
    assert [line for line in log if not line.startswith(" saved")] == lines
    assert " saved step-000004 (0.4 s)" in log


def test_a_bar_on_a_terminal() -> None:
    out = io.StringIO()
    show(Console(file=out, force_terminal=True, width=140, color_system="truecolor"))
    text = out.getvalue()

    assert "\x1b[" in text
    assert "4/5" in text and "loss 3.41  ppl 17.2  lr 9.4e-04  6.7k tok/s  ETA 0:0" in text
    assert "step=2 loss" not in text
    assert " valid @ 4   loss 2.980" in text


def test_no_colour_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out = io.StringIO()
    show(Console(file=out, force_terminal=True, width=140))

    assert "\x1b[3" not in out.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (972, "16:12"), (7501, "2:05:01"), (math.nan, "–")]
)
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def test_perplexity_does_not_overflow() -> None:
    assert perplexity(1e6) == math.exp(700)
