"""The learning rate over time: a pure function of the step, so that a resumed run has the same one."""

import math

from glassformer.config import TrainConfig


def learning_rate(config: TrainConfig, step: int, total_steps: int, d_model: int) -> float:
    """The rate of update ``step``, the first being 1."""
    return peak_rate(config, d_model) * relative_rate(config, step, total_steps)


def peak_rate(config: TrainConfig, d_model: int) -> float:
    """The largest rate: given, or by equation 3 where the schedule is the paper's."""
    if config.schedule == "noam":
        factor = config.learning_rate or 1.0
        return factor / math.sqrt(d_model * config.warmup_steps)
    return config.learning_rate or (0.1 if config.optimizer == "sgd" else 1e-3)


def relative_rate(config: TrainConfig, step: int, total_steps: int) -> float:
    """The rate as a share of its peak."""
    warmup = config.warmup_steps
    if config.schedule == "noam":
        return _noam(step, warmup)
    if step < warmup:
        return step / warmup
    progress = min(1.0, (step - warmup) / max(1, total_steps - warmup))
    match config.schedule:
        case "inverse-sqrt":
            return math.sqrt(max(1, warmup) / step)
        case "cosine":
            return 0.5 * (1 + math.cos(math.pi * progress))
        case "linear":
            return 1 - progress
        case "constant":
            return 1.0


def _noam(step: int, warmup: int) -> float:
    """Equation 3 divided by its peak, which it reaches at the end of the warm-up."""
    return min(step / warmup, math.sqrt(warmup / step))
