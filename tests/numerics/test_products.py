"""Products of large matrices: the library's beside PyTorch's, and never where they do not belong."""

from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from glassformer.nn import native
from glassformer.nn.products import Linear, product
from tests.support.native import needs_native

SIZES = st.integers(1, 70) | st.sampled_from([128, 300, 513, 1100])


@pytest.fixture(params=["native", "plain"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways, one after the other."""
    if request.param == "plain":
        monkeypatch.setattr(native, "LIBRARY", native.LIBRARY.with_name("not-there.so"))
    elif native.native_library() is None:
        pytest.skip("needs the native library and a processor with AVX-512")
    return str(request.param)


@pytest.fixture
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def matrix(rows: int, columns: int, *, turned: bool, seed: int = 0) -> Tensor:
    """Numbers; turned, they lie in memory column by column, and either way not densely."""
    generator = torch.Generator().manual_seed(seed)
    shape = (columns, rows + 3) if turned else (rows, columns + 3)
    wide = torch.randn(shape, generator=generator)
    return wide[:, :rows].T if turned else wide[:, :columns]


def assert_close(actual: Tensor, exact: Tensor, depth: int) -> None:
    assert actual.dtype == torch.float32
    assert (actual.double() - exact).abs().max() <= 1e-6 * depth**0.5 * max(1.0, float(exact.abs().max()))


@needs_native
@settings(max_examples=150, deadline=None)
@given(SIZES, SIZES, SIZES, st.booleans(), st.booleans(), st.sampled_from(["", "bias", "add"]))
def test_any_shape_is_the_product(m: int, n: int, k: int, a_turned: bool, b_turned: bool, plus: str) -> None:
    a, b = matrix(m, k, turned=a_turned, seed=1), matrix(k, n, turned=b_turned, seed=2)
    before, bias = matrix(m, n, turned=False, seed=3).contiguous(), torch.randn(n)
    exact = a.double() @ b.double()

    if plus == "bias":
        assert_close(product(a, b, bias=bias), exact + bias, k)
    elif plus == "add":
        assert_close(product(a, b, out=before.clone(), add=True), exact + before, k)
    else:
        assert_close(product(a, b), exact, k)


def test_the_result_goes_where_it_is_wanted(way: str) -> None:
    a, b = torch.randn(40, 17), torch.randn(17, 33)
    place = torch.full((60, 33), 7.0)

    product(a, b, out=place[10:50])

    assert_close(place[10:50], a.double() @ b.double(), 17)
    assert torch.all(place[:10] == 7)
    assert torch.all(place[50:] == 7), way


@needs_native
@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize(("m", "n"), [(300, 90), (90, 300), (5, 5), (1000, 33)])
def test_threads_and_other_rows_do_not_change_a_bit(m: int, n: int) -> None:
    a, b = torch.randn(m, 600), torch.randn(600, n)
    torch.set_num_threads(1)
    alone = product(a, b)
    for threads in (2, 3, 4):
        torch.set_num_threads(threads)

        assert torch.equal(product(a, b), alone)
        assert torch.equal(product(a[3:], b[:, 2:]), alone[3:, 2:])


def test_linear_is_pytorchs_forwards_and_backwards(way: str) -> None:
    layer = Linear(37, 77)
    x = torch.randn(4, 61, 37, requires_grad=True)
    slope = torch.randn(4, 61, 77)
    inputs = [x, layer.weight, layer.bias]

    actual = layer(x)
    expected = F.linear(x, layer.weight, layer.bias)

    assert ("_Linear" in type(actual.grad_fn).__name__) == (way == "native")
    torch.testing.assert_close(actual, expected)
    for ours, theirs in zip(
        torch.autograd.grad(actual, inputs, slope), torch.autograd.grad(expected, inputs, slope), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


@needs_native
def test_a_gradient_that_lies_crosswise_is_understood() -> None:
    layer = Linear(24, 40, bias=False)
    x = torch.randn(150, 24, requires_grad=True)

    layer(x).sum().backward()  # an expanded scalar: no stride is 1

    assert x.grad is not None
    assert_close(x.grad, layer.weight.detach().double().sum(0).expand(150, 24), 40)


@needs_native
def test_only_what_is_asked_for_is_computed() -> None:
    layer, x = Linear(24, 40), torch.randn(150, 24)
    layer.weight.requires_grad_(False)
    layer(x.requires_grad_()).sum().backward()

    assert layer.weight.grad is None
    assert layer.bias.grad is not None
    assert x.grad is not None


@needs_native
def test_the_library_stays_out_of_other_work() -> None:
    layer, x = Linear(24, 40), torch.randn(150, 24)
    name = "_LinearBackward"

    def taken(y: Tensor) -> bool:
        return type(y.grad_fn).__name__ == name

    assert taken(layer(x))
    assert not taken(layer(x[:5])), "few rows"
    with torch.no_grad():
        assert not taken(layer(x)), "nothing to learn"
    with torch.autocast("cpu", torch.bfloat16, enabled=True):
        assert native.native_for(x, layer.weight) is None, "autocast"
    assert native.native_for(x.double()) is None, "float64"
    assert native.native_for(x.to("meta")) is None, "not in memory"


@needs_native
def test_a_second_derivative_is_refused() -> None:
    layer, x = Linear(24, 40), torch.randn(150, 24, requires_grad=True)
    (slope,) = torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)

    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


@needs_native
@pytest.mark.parametrize(
    ("b", "bias", "out"),
    [((5, 3), None, None), ((4, 3), (4,), None), ((4, 3), None, (2, 2)), ((4, 3), None, (3, 6))],
)
def test_sizes_that_do_not_fit_are_refused(
    b: tuple[int, int], bias: tuple[int] | None, out: tuple[int, int] | None
) -> None:
    place = None if out is None else torch.zeros(out)

    with pytest.raises(ValueError, match="does not fit"):
        product(torch.ones(6, 4), torch.ones(b), bias=None if bias is None else torch.ones(bias), out=place)


@needs_native
def test_a_bias_of_another_type_is_pytorchs_to_refuse() -> None:
    with pytest.raises(RuntimeError, match="dtype"):
        product(torch.ones(6, 4), torch.ones(4, 3), bias=torch.ones(3, dtype=torch.float64))


def test_without_the_library_pytorch_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "LIBRARY", native.LIBRARY.with_name("not-there.so"))

    assert native.native_library() is None
    torch.testing.assert_close(product(torch.eye(3), torch.ones(3, 2)), torch.ones(3, 2))


@needs_native
def test_threads_that_cannot_be_put_to_work_are_left_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    found = native.native_library()
    assert found is not None
    monkeypatch.setattr(native, "_load", lambda _: found._replace(parallel=None))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)

    assert native.native_library() is None
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert native.native_library() is not None


@needs_native
@pytest.mark.parametrize(("status", "error"), [(3, MemoryError), (1, ValueError)])
def test_a_status_becomes_an_error(status: int, error: type[Exception]) -> None:
    class Library:
        def gf_product(self) -> int:
            return status

    with pytest.raises(error, match="gf_product"):
        native.Native(Library(), None).call("gf_product")  # type: ignore[arg-type]
