"""The mean of checkpoints."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from glassformer.checkpoint import average_checkpoints, average_tensors
from glassformer.errors import CheckpointError
from tests.unit.checkpoint.tiny import filled_store, groups


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_mean_of_equal_ones_is_exactly_themselves(dtype: torch.dtype, count: int) -> None:
    one = {"a": torch.randn(50, dtype=torch.float64).to(dtype), "n": torch.arange(3)}
    mean = average_tensors([one] * count)

    assert mean["a"].dtype == dtype
    assert all(torch.equal(mean[name], one[name]) for name in one)


def test_the_mean_is_that_of_float64_rounded_once() -> None:
    sets = [{"a": torch.randn(100) * 1000} for _ in range(5)]
    exact = torch.stack([tensors["a"].double() for tensors in sets]).mean(0)

    torch.testing.assert_close(average_tensors(sets)["a"], exact.float(), rtol=6e-8, atol=0)


def test_checkpoints_are_averaged_group_by_group(tmp_path: Path) -> None:
    store = filled_store(tmp_path, steps=3, keep_last=3)
    checkpoints = [store.load(store.path(step)) for step in store.steps()]

    assert average_checkpoints(checkpoints)["a.bias"].tolist() == [2.0] * 4
    assert set(average_checkpoints(checkpoints)) == set(groups(1)["model"])


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        ([], "average: there is nothing to average"),
        (
            [{"a": torch.zeros(2)}, {"a": torch.zeros(3)}],
            "average: set 2 has other tensors than the first; all must be of one model",
        ),
        (
            [{"a": torch.tensor(1)}, {"a": torch.tensor(2)}],
            "average: 'a' holds integers that differ; they have no mean",
        ),
    ],
)
def test_what_has_no_mean_is_refused(sets: list[dict[str, Tensor]], told: str) -> None:
    with pytest.raises(CheckpointError) as refused:
        average_tensors(sets)

    assert str(refused.value) == told


def test_the_inputs_are_left_alone() -> None:
    one = {"a": torch.zeros(3, dtype=torch.float64)}
    average_tensors([one, {"a": torch.ones(3, dtype=torch.float64)}])

    assert torch.equal(one["a"], torch.zeros(3, dtype=torch.float64))
