"""How a model learns."""

from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from glassformer.config.model import Probability
from glassformer.config.strict import Strict


class TrainConfig(Strict):
    """How a model learns (section 5 of the paper)."""

    steps: PositiveInt = 3000
    """Updates of the weights; the paper's base model took 100,000."""
    epochs: PositiveInt | None = None
    """Passes over the corpus; when set it replaces ``steps``."""
    max_minutes: PositiveFloat | None = None
    """Stop, validate and save after this time; the schedule still counts ``steps``."""
    batch_tokens: PositiveInt = 4096
    """Padded tokens of the longer side in one micro-batch; the paper had about 25,000."""
    accumulate: PositiveInt = 1
    """Micro-batches per update and process."""
    optimizer: Literal["adam", "adamw", "sgd", "muon"] = "adam"
    """Adam as in the paper; muon is for hidden matrices, with Adam for the rest."""
    learning_rate: PositiveFloat | None = None
    """Peak rate; for noam a factor before the paper's formula (unset: 1). Unset otherwise: 1e-3, sgd 0.1."""
    muon_learning_rate: PositiveFloat = 0.02
    """Peak rate of the hidden matrices when the optimizer is muon."""
    betas: Annotated[tuple[Probability, Probability], Field(strict=False)] = (0.9, 0.98)  # TOML has lists
    """Decay of Adam's two averages."""
    epsilon: PositiveFloat = 1e-9
    """Adam's small number."""
    momentum: Probability = 0.9
    """Of sgd; muon uses 0.95."""
    weight_decay: NonNegativeFloat = 0.0
    """Decoupled decay of matrices (adamw, muon); plain decay for sgd."""
    schedule: Literal["noam", "inverse-sqrt", "cosine", "linear", "constant"] = "noam"
    """Learning rate over time; noam is equation 3 of the paper."""
    warmup_steps: NonNegativeInt = 4000
    """Updates in which the learning rate rises."""
    label_smoothing: Probability = 0.1
    """Share of the target's probability spread evenly over the vocabulary (section 5.4)."""
    mask_probability: Probability = 0.15
    """Share of tokens to be guessed by a masked language model."""
    context_length: PositiveInt = 256
    """Tokens of a language model's training window."""
    clip_norm: NonNegativeFloat = 1.0
    """Largest norm of the gradient; 0: never clipped."""
    ema: Probability = 0.0
    """Decay of a running average of the weights, which is then what is validated and shipped; 0: none."""
    average_last: PositiveInt = 1
    """Checkpoints averaged into the final model; the paper took 5 (base) and 20 (big)."""
    validate_every: PositiveInt = 500
    """Updates between two validations."""
    save_every: PositiveInt = 500
    """Updates between two checkpoints."""
    keep_last: PositiveInt = 5
    """Newest checkpoints kept, beside the best one."""
    log_every: PositiveInt = 50
    """Updates between two lines of metrics."""
    best_by: Literal["loss", "bleu", "chrf", "accuracy"] = "loss"
    """The validation figure that chooses the best checkpoint and stops early."""
    patience: PositiveInt | None = None
    """Validations without improvement after which training stops; unset: never early."""
    valid_sentences: NonNegativeInt = 500
    """Validation sentences translated for BLEU, chrF and samples; the loss is over all. 0: loss only."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Arithmetic of matrix products; bfloat16 on a CPU only after a trial in a child process."""
    compile: bool = False
    """Run the model through torch.compile."""
    shard: bool = False
    """Shard weights and optimizer over processes (FSDP2) instead of copying them (DDP)."""
    seed: NonNegativeInt = 1
    """Fixes initial weights, dropout and the order of batches."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.schedule == "noam" and not self.warmup_steps:
            raise ValueError('schedule = "noam" needs warmup_steps of at least 1')
        if self.schedule in ("cosine", "linear") and self.epochs is None and self.warmup_steps >= self.steps:
            raise ValueError(f"warmup_steps = {self.warmup_steps} leaves nothing of steps = {self.steps}")
        if self.average_last > self.keep_last:
            raise ValueError(f"average_last = {self.average_last} is more than keep_last = {self.keep_last}")
        return self
