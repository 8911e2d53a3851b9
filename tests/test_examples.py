"""The examples run, and what they claim to compare is compared."""

import functools
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

STAGES = [
    "Embedding",
    "Positions",
    "Embedding + position",
    "Queries, keys and values of head 1",
    "Scores",
    "Scaling",
    "Softmax",
    "Weighted sum",
    "Multi-head attention",
    "Residual",
    "Norm",
    "Encoder: inside the feed-forward network",
    "Encoder: feed-forward network",
    "Encoder: add and norm",
    "Decoder: the target enters",
    "Decoder: causal mask",
    "Decoder: add and norm after self-attention",
    "Decoder: attention to the encoder",
    "Decoder: add and norm after cross-attention",
    "Decoder: inside the feed-forward network",
    "Decoder: feed-forward network",
    "Decoder: add and norm",
    "Logits",
    "Probabilities",
]

FORMULAS = [
    "embed",
    "position_waves",
    "add_positions",
    "project",
    "dot_products",
    "scale",
    "hide_the_future",
    "softmax",
    "weighted_sum",
    "multi_head",
    "residual",
    "layer_norm",
    "add_and_norm",
    "relu",
    "feed_forward",
    "enter_target",
    "logits",
    "chances",
]


@pytest.fixture
def by_hand() -> ModuleType:
    """A fresh copy of the module, which a test may spoil."""
    spec = importlib.util.spec_from_file_location("by_hand", EXAMPLES / "by_hand.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["by_hand"] = module  # where its dataclasses look up their types
    spec.loader.exec_module(module)
    return module


def test_by_hand_runs_as_a_program() -> None:
    run = subprocess.run(
        [sys.executable, EXAMPLES / "by_hand.py"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )

    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert "the two computations agree" in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 120


def test_by_hand_goes_through_every_stage(by_hand: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert by_hand.main([]) == 0

    lines = capsys.readouterr().out.splitlines()
    titles = [title for title, rule in pairwise(lines) if rule and rule == "-" * len(title)]
    assert titles == [f"{i}. {stage}" for i, stage in enumerate(STAGES, start=1)]
    assert sum(line.startswith("  largest difference") for line in lines) == len(STAGES)


@pytest.mark.parametrize("seed", [0, 7, 2017])
def test_by_hand_agrees_for_other_weights(by_hand: ModuleType, seed: int) -> None:
    assert by_hand.main([f"--seed={seed}"]) == 0


@pytest.mark.parametrize("name", FORMULAS)
def test_by_hand_notices_a_wrong_formula(
    by_hand: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    formula: Callable[..., list[list[float]]] = getattr(by_hand, name)

    @functools.wraps(formula)
    def slightly_wrong(*arguments: object) -> list[list[float]]:
        (first, *others), *rows = formula(*arguments)
        return [[first + 1e-9, *others], *rows]

    monkeypatch.setattr(by_hand, name, slightly_wrong)

    assert by_hand.main([]) == 1
    assert "do NOT agree" in capsys.readouterr().out


def test_by_hand_notices_that_the_package_is_wrong(
    by_hand: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.nn.functional.relu", lambda x: x)

    assert by_hand.main([]) == 1


def test_a_difference_to_nan_is_never_small(by_hand: ModuleType) -> None:
    infinity, nan = float("inf"), float("nan")

    assert by_hand.gap(-infinity, -infinity) == 0
    assert by_hand.gap(0.0, -infinity) == infinity
    assert by_hand.gap(nan, nan) == infinity


def test_the_recomputation_does_without_torch() -> None:
    text = (EXAMPLES / "by_hand.py").read_text(encoding="utf-8")
    _, formulas, *_ = text.split("\n# --- ")

    assert "No torch" in formulas and "torch." not in formulas and "Tensor" not in formulas
