"""Learning rates against their formulas."""

import math

import pytest

from glassformer.config import TrainConfig
from glassformer.training.schedule import learning_rate


@pytest.mark.parametrize("step", [1, 10, 3_999, 4_000, 4_001, 40_000])
def test_noam_is_equation_three(step: int) -> None:
    expected = 512**-0.5 * min(step**-0.5, step * 4_000**-1.5)

    assert learning_rate(TrainConfig(), step, 100_000, 512) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("inverse-sqrt", {1: 0.1, 10: 1.0, 40: 0.5, 90: 1 / 3}),
        ("cosine", {1: 0.1, 10: 1.0, 55: 0.5, 100: 0.0}),
        ("linear", {1: 0.1, 10: 1.0, 55: 0.5, 100: 0.0}),
        ("constant", {1: 0.1, 10: 1.0, 100: 1.0, 1_000: 1.0}),
    ],
)
def test_each_schedule_rises_then_does_what_its_name_says(schedule: str, expected: dict[int, float]) -> None:
    config = TrainConfig.model_validate(
        {"schedule": schedule, "warmup_steps": 10, "learning_rate": 2.0, "steps": 100}
    )

    for step, share in expected.items():
        assert learning_rate(config, step, 100, 512) == pytest.approx(2 * share, abs=1e-12)


def test_without_warm_up_the_first_step_has_the_full_rate() -> None:
    config = TrainConfig(schedule="constant", warmup_steps=0, learning_rate=0.5)

    assert learning_rate(config, 1, 10, 64) == 0.5


@pytest.mark.parametrize("schedule", ["noam", "inverse-sqrt", "cosine", "linear", "constant"])
def test_rates_are_finite_and_never_negative(schedule: str) -> None:
    config = TrainConfig.model_validate({"schedule": schedule, "warmup_steps": 7, "steps": 50})
    rates = [learning_rate(config, step, 50, 128) for step in range(1, 80)]

    assert all(math.isfinite(rate) and rate >= 0 for rate in rates)
