"""Smaller numbers on disk: how far from the true ones, and what is exact."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from glassformer.checkpoint.storage import Storage, restore, row_scales, store, stored_types
from glassformer.errors import CheckpointError

finite = st.floats(-(2.0**120), 2.0**120, width=32)
matrices = arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=finite)


def round_trip(values: NDArray[np.float32], storage: Storage) -> NDArray[np.float32]:
    return restore("w", store("w", values, storage))


@settings(deadline=None)
@given(matrices)
def test_int8_is_within_half_a_step_of_each_row(values: NDArray[np.float32]) -> None:
    error = np.abs(round_trip(values, "int8").astype(np.float64) - values)
    step = row_scales(values).astype(np.float64)[:, None]
    largest = np.abs(values).max(axis=1, keepdims=True).astype(np.float64)

    assert (error <= step / 2 * (1 + 1e-6)).all()
    assert (step <= np.maximum(largest / 127 * (1 + 2.0**-15), 2.0**-100)).all()


@settings(deadline=None)
@given(matrices)
def test_storing_what_was_restored_gives_the_same_bytes(values: NDArray[np.float32]) -> None:
    first = store("w", values, "int8")
    second = store("w", restore("w", first), "int8")

    assert first["w"].array.tobytes() == second["w"].array.tobytes()
    assert first["w.scale"].array.tobytes() == second["w.scale"].array.tobytes()


@settings(deadline=None)
@given(matrices)
def test_restoring_int8_rounds_nothing(values: NDArray[np.float32]) -> None:
    tensors = store("w", values, "int8")
    exact = tensors["w"].array.astype(np.float64) * tensors["w.scale"].array.astype(np.float64)[:, None]

    assert np.array_equal(restore("w", tensors).astype(np.float64), exact)


def test_a_row_of_zeros_stays_zeros_and_leaves_its_neighbours_alone() -> None:
    values = np.array([[0, 0], [1, -1], [1e-30, 5]], np.float32)
    restored = round_trip(values, "int8")

    assert np.array_equal(restored[0], [0, 0])
    assert np.array_equal(restored[1], -restored[1][::-1])
    assert restored[2, 1] == pytest.approx(5, rel=2e-5)


def test_float16_is_numpy_s_nearest_and_float32_is_exact() -> None:
    values = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)

    assert np.array_equal(round_trip(values, "float16"), values.astype(np.float16).astype(np.float32))
    assert round_trip(values, "float32") is values


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_norms_and_biases_are_never_rounded(storage: Storage) -> None:
    values = np.array([1 / 3, 1e30], np.float32)

    assert np.array_equal(round_trip(values, storage), values)
    assert stored_types({"w": (2,)}, storage) == {"w": store("w", values, storage)["w"].type}


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_the_types_expected_are_those_stored(storage: Storage) -> None:
    values = np.ones((3, 2, 2, 2), np.float32)
    stored = store("w", values, storage)

    assert stored_types({"w": values.shape}, storage) == {name: raw.type for name, raw in stored.items()}


@pytest.mark.parametrize(("storage", "number"), [("float16", 1e6), ("int8", 3.4e38)])
def test_a_number_that_has_no_room_is_refused(storage: Storage, number: float) -> None:
    with pytest.raises(CheckpointError) as refused:
        store("encoder.w", np.full((2, 2), number, np.float32), storage)

    assert str(refused.value) == f"encoder.w: a number is too large for {storage}; store the model as float32"
