"""The loss is label-smoothed cross-entropy, summed, without ever holding all logits."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from glassformer.nn import cross_entropy, loss, projected_cross_entropy
from tests.support.equality import assert_exact, assert_near
from tests.support.native import needs_native

SMOOTHINGS = [0.0, 0.1, 0.6]


def by_loops(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[float, float]:
    """The definition: -Σ q log p with q = (1 - ε) at the target and ε / V everywhere, itself included."""
    smoothed, nll = [], []
    for row, target in zip(logits.tolist(), targets.tolist(), strict=True):
        log_sum = math.log(math.fsum(math.exp(logit) for logit in row))
        nll.append(log_sum - row[target])
        for token, logit in enumerate(row):
            share = smoothing / len(row) + (1 - smoothing if token == target else 0.0)
            smoothed.append(share * (log_sum - logit))
    return math.fsum(smoothed), math.fsum(nll)


@settings(deadline=None, max_examples=50)
@given(
    n=st.integers(1, 9),
    vocabulary=st.integers(2, 9),
    smoothing=st.floats(0, 0.99),
    seed=st.integers(0, 2**32),
)
def test_the_loss_is_its_closed_form(n: int, vocabulary: int, smoothing: float, seed: int) -> None:
    torch.manual_seed(seed)
    logits, targets = torch.randn(n, vocabulary).double() * 3, torch.randint(vocabulary, (n,))
    smoothed, nll = by_loops(logits, targets, smoothing)
    actual = cross_entropy(logits, targets, smoothing)

    assert float(actual.smoothed) == pytest.approx(smoothed, abs=1e-11)
    assert float(actual.nll) == pytest.approx(nll, abs=1e-11)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_the_loss_is_that_of_torch(smoothing: float) -> None:
    logits, targets = torch.randn(7, 11).double(), torch.randint(11, (7,))
    expected = F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)

    assert_exact(cross_entropy(logits, targets, smoothing).smoothed, expected)
    assert_exact(
        cross_entropy(logits, targets, smoothing).nll, F.cross_entropy(logits, targets, reduction="sum")
    )


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("chunk", [1, 3, 7, 100])
def test_the_projected_loss_is_the_loss_of_the_projection(
    smoothing: float, with_bias: bool, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loss, "CHUNK_ROWS", chunk)
    hidden = torch.randn(7, 5).double().requires_grad_()
    weight = torch.randn(11, 5).double().requires_grad_()
    bias = torch.randn(11).double().requires_grad_() if with_bias else None
    targets = torch.randint(11, (7,))
    inputs = [hidden, weight, *([] if bias is None else [bias])]
    actual = projected_cross_entropy(hidden, weight, bias, targets, smoothing)
    logits = F.linear(hidden, weight, bias)
    expected = F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    factor = 0.37  # what divides by the number of tokens

    assert_exact(actual.smoothed, expected)
    assert_exact(actual.nll, F.cross_entropy(logits, targets, reduction="sum"))
    assert not actual.nll.requires_grad
    for a, b in zip(
        torch.autograd.grad(actual.smoothed * factor, inputs),
        torch.autograd.grad(expected * factor, inputs),
        strict=True,
    ):
        assert_exact(a, b)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("with_bias", [False, True])
def test_the_projected_loss_passes_gradcheck(
    smoothing: float, with_bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loss, "CHUNK_ROWS", 2)
    hidden = torch.randn(5, 3).double().requires_grad_()
    weight = torch.randn(4, 3).double().requires_grad_()
    bias = torch.randn(4).double().requires_grad_() if with_bias else None
    targets = torch.randint(4, (5,))

    def smoothed(*inputs: Tensor) -> Tensor:
        return projected_cross_entropy(
            inputs[0], inputs[1], inputs[2] if with_bias else None, targets, smoothing
        ).smoothed

    inputs = (hidden, weight) if bias is None else (hidden, weight, bias)
    assert torch.autograd.gradcheck(smoothed, inputs)


@pytest.mark.parametrize("frozen", [0, 1])
def test_only_the_gradients_asked_for_are_computed(frozen: int) -> None:
    inputs = [torch.randn(5, 3).double().requires_grad_(), torch.randn(4, 3).double().requires_grad_()]
    inputs[frozen].requires_grad_(False)
    targets = torch.randint(4, (5,))
    learned = inputs[1 - frozen]
    projected = projected_cross_entropy(inputs[0], inputs[1], None, targets, 0.1).smoothed
    (actual,) = torch.autograd.grad(projected, learned)
    plain = cross_entropy(inputs[0] @ inputs[1].T, targets, 0.1).smoothed

    assert_exact(actual, torch.autograd.grad(plain, learned)[0])


def test_the_loss_can_be_taken_without_a_graph() -> None:
    hidden, weight, targets = torch.randn(5, 3), torch.randn(4, 3), torch.randint(4, (5,))
    result = projected_cross_entropy(hidden, weight, None, targets)

    assert not result.smoothed.requires_grad
    assert_near(result.smoothed, F.cross_entropy(hidden @ weight.T, targets, reduction="sum"))


def test_no_rows_no_loss_no_gradient() -> None:
    hidden = torch.zeros(0, 3, requires_grad=True)
    weight = torch.randn(4, 3, requires_grad=True)
    bias = torch.randn(4, requires_grad=True)
    result = projected_cross_entropy(hidden, weight, bias, torch.zeros(0, dtype=torch.long), 0.1)
    result.smoothed.backward()

    assert (float(result.smoothed.detach()), float(result.nll)) == (0.0, 0.0)
    assert hidden.grad is not None
    assert hidden.grad.shape == (0, 3)
    assert torch.equal(weight.grad, torch.zeros(4, 3))  # type: ignore[arg-type]
    assert torch.equal(bias.grad, torch.zeros(4))  # type: ignore[arg-type]


def test_the_loss_of_a_whole_is_the_sum_over_its_parts() -> None:
    hidden, weight, targets = torch.randn(9, 3).double(), torch.randn(4, 3).double(), torch.randint(4, (9,))
    whole = projected_cross_entropy(hidden, weight, None, targets, 0.1)
    parts = [
        projected_cross_entropy(hidden[i : i + 4], weight, None, targets[i : i + 4], 0.1) for i in (0, 4, 8)
    ]

    assert_exact(torch.stack([part.smoothed for part in parts]).sum(), whole.smoothed)
    assert_exact(torch.stack([part.nll for part in parts]).sum(), whole.nll)


def test_huge_logits_give_a_finite_loss() -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0]])
    result = cross_entropy(logits, torch.tensor([1]))

    assert float(result.nll) == 2e4


class LargestTensor(TorchDispatchMode):
    """Remembers how many numbers the largest tensor held that any operation made."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        sizes = [leaf.numel() for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        self.numbers = max([self.numbers, *sizes])
        return result


def test_no_more_logits_than_a_chunk_exist_at_once() -> None:
    rows, vocabulary = 4 * loss.CHUNK_ROWS, 300
    hidden = torch.randn(rows, 8, requires_grad=True)
    weight = torch.randn(vocabulary, 8, requires_grad=True)
    targets = torch.randint(vocabulary, (rows,))
    with LargestTensor() as chunked:
        projected_cross_entropy(hidden, weight, None, targets, 0.1).smoothed.backward()
    with LargestTensor() as whole:
        cross_entropy(hidden @ weight.T, targets, 0.1).smoothed.backward()

    assert chunked.numbers == loss.CHUNK_ROWS * vocabulary
    assert whole.numbers == rows * vocabulary


@needs_native
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("width", [1, 15, 16, 33, 1000])
def test_the_librarys_loss_and_slope_are_those_of_pytorch(width: int, smoothing: float) -> None:
    generator = torch.Generator().manual_seed(width)
    logits = torch.randn(37, width, generator=generator) * 8
    targets = torch.randint(0, width, (37,), generator=generator)

    expected, wanted = loss._plain_loss_and_slope(logits.double(), targets, smoothing)
    actual, slope = loss._loss_and_slope(logits.clone(), targets, smoothing)

    torch.testing.assert_close(torch.stack(actual).double(), torch.stack(expected), rtol=1e-6, atol=1e-5)
    torch.testing.assert_close(slope.double(), wanted, rtol=1e-5, atol=1e-6)


@needs_native
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("at", [3, 20])
def test_a_logit_that_is_not_finite_is_not_hidden(value: float, at: int) -> None:
    logits = torch.randn(2, 21)
    logits[0, at] = value
    result, slope = loss._loss_and_slope(logits, torch.tensor([1, 2]), 0.0)

    assert not result.smoothed.isfinite()
    assert slope[0].isnan().all()
    assert slope[1].isfinite().all()


@needs_native
@pytest.mark.parametrize("target", [-1, 21])
def test_a_target_outside_the_vocabulary_is_refused(target: int) -> None:
    with pytest.raises(ValueError, match="refuses"):
        loss._loss_and_slope(torch.randn(2, 21), torch.tensor([0, target]), 0.1)
