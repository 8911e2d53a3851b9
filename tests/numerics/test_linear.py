"""The products of training by oneDNN, against PyTorch's own ``linear``."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.nn import linear as products
from glassformer.nn.linear import Linear, linear, product

SHAPES = [(64, 24, 96), (64, 96, 24), (64, 48, 48), (1, 24, 96), (7, 5, 3), (64, 24, 1)]
"""Rows, width, output width: to more, to fewer, to as many, of one row, of odd sizes, to one."""


@pytest.fixture
def onednn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Prefer oneDNN on every processor; the shapes that it was asked for."""
    asked: list[tuple[int, ...]] = []
    multiply = products._onednn

    def watched(left: Tensor, right: Tensor, bias: Tensor | None) -> Tensor:
        asked.append((*left.shape, right.size(0)))
        return multiply(left, right, bias)

    monkeypatch.setattr(products, "prefers_onednn", lambda: True)
    monkeypatch.setattr(products, "_onednn", watched)
    return asked


def gradients(form: object, x: Tensor, weight: Tensor, bias: Tensor | None, slope: Tensor) -> list[Tensor]:
    """The output, and the gradients of all that has one."""
    leaves = [one.detach().clone().requires_grad_() for one in (x, weight, bias) if one is not None]
    output = form(*leaves) if bias is not None else form(*leaves, None)  # type: ignore[operator]
    output.backward(slope)
    return [output.detach(), *(leaf.grad for leaf in leaves if leaf.grad is not None)]


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize(("rows", "width", "wide"), SHAPES)
def test_it_is_linear_forward_and_backward(
    onednn: list[tuple[int, ...]], rows: int, width: int, wide: int, bias: bool
) -> None:
    draw = torch.Generator().manual_seed(rows + width)
    x, weight = (torch.randn(n, width, generator=draw) for n in (rows, wide))
    slope = torch.randn(rows, wide, generator=draw)
    offset = torch.randn(wide, generator=draw) if bias else None

    ours = gradients(linear, x, weight, offset, slope)
    exact = gradients(
        F.linear,
        x.double(),
        weight.double(),
        None if offset is None else offset.double(),
        slope.double(),
    )

    assert onednn[:2] == [(rows, width, wide), (rows, wide, width)]
    assert len(onednn) == (2 if width == wide else 3)  # the gradient of a square weight is MKL's
    assert len(ours) == len(exact) == (4 if bias else 3)
    for mine, other in zip(ours, exact, strict=True):
        torch.testing.assert_close(mine.double(), other, rtol=1e-5, atol=1e-5)


def test_batches_of_sentences_and_parts_of_tensors(onednn: list[tuple[int, ...]]) -> None:
    draw = torch.Generator().manual_seed(3)
    x = torch.randn(4, 6, 20, generator=draw).transpose(0, 1)[..., 2:14]  # neither whole nor in order
    weight, bias = torch.randn(8, 12, generator=draw), torch.randn(8, generator=draw)
    slope = torch.ones(()).expand(6, 4, 8)  # as the sum of an output gives it

    ours, torch_s = (gradients(form, x, weight, bias, slope) for form in (linear, F.linear))

    assert onednn
    assert ours[0].shape == (6, 4, 8)
    for mine, other in zip(ours, torch_s, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-5)


def test_only_what_needs_a_gradient_gets_one(onednn: list[tuple[int, ...]]) -> None:
    x, weight = torch.randn(3, 4), torch.randn(5, 4, requires_grad=True)

    linear(x, weight, None).sum().backward()

    assert x.grad is None and weight.grad is not None
    assert onednn == [(3, 4, 5), (4, 3, 5)]  # the output, the gradient of the weight


def test_without_gradients_in_other_types_and_rounded_it_is_pytorch_s_own(
    onednn: list[tuple[int, ...]],
) -> None:
    layer = Linear(6, 7)
    x = torch.randn(5, 6)

    with torch.no_grad():
        assert torch.equal(layer(x), F.linear(x, layer.weight, layer.bias))
    doubled = layer.double()(x.double())
    with torch.autocast("cpu", torch.bfloat16):
        rounded = layer.float()(x)
    nothing = layer(x[:0])

    assert doubled.dtype == torch.float64 and rounded.dtype == torch.bfloat16 and nothing.shape == (0, 7)
    assert onednn == []


def test_the_product_for_own_gradients(onednn: list[tuple[int, ...]]) -> None:
    left, right, bias = torch.randn(9, 6), torch.randn(11, 6), torch.randn(11)

    torch.testing.assert_close(product(left, right, bias), left @ right.T + bias, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(product(right, left), right @ left.T, rtol=1e-5, atol=1e-5)
    assert len(onednn) == 2


def test_the_choice_depends_on_the_processor_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    for vendor, wanted in (("AuthenticAMD", True), ("GenuineIntel", False), ("", False)):
        monkeypatch.setattr(products, "_processor", lambda vendor=vendor: vendor)

        assert products.prefers_onednn.__wrapped__() is wanted

    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    monkeypatch.setattr(products, "_processor", lambda: "AuthenticAMD")
    assert products.prefers_onednn.__wrapped__() is False
