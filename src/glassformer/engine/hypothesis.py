"""What is asked of a model, and what it answers, in ids."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Specials:
    """The ids with a role in decoding."""

    start: int
    """Fed before the first target token."""
    end: int
    """Ends an output."""
    pad: int
    """Fills up a batch; its content never matters."""
    suppressed: tuple[int, ...] = ()
    """Ids without a text, which are never chosen."""


@dataclass(frozen=True, slots=True)
class Query:
    """One input: the source of an encoder-decoder, or the prompt of a decoder-only model."""

    ids: tuple[int, ...]
    """As the model was trained to see them, special ones included; never empty."""
    prefix: tuple[int, ...] = ()
    """Tokens the output has to begin with."""
    required: tuple[tuple[int, ...], ...] = ()
    """Token sequences the output has to contain, none of them empty."""
    forbidden: tuple[tuple[int, ...], ...] = ()
    """Token sequences the output may not contain, none of them empty."""
    index: tuple[int, ...] = (0,)
    """Names its random numbers, together with the seed."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One output of a model.

    A forced prefix is part of the output, but nothing the model chose: ``log_probability`` and ``score``
    are about what follows it.
    """

    ids: tuple[int, ...]
    """The tokens, without ``<s>`` and ``</s>``; a forced prefix is at their beginning."""
    token_log_probabilities: tuple[float, ...]
    """Of each of the tokens, and of ``</s>`` if the output is finished; the model's own, before any
    penalty."""
    log_probability: float
    """The sum of those after the forced prefix."""
    score: float
    """What hypotheses are ranked by: the log-probability after all penalties."""
    finished: bool
    """Whether it ended by itself. If not, the length limit was met."""
    n_forced: int = 0
    """How many of the tokens were forced."""

    @property
    def length(self) -> int:
        """Generated tokens, the final ``</s>`` included; that is what length penalties count."""
        return len(self.token_log_probabilities) - self.n_forced


@dataclass(frozen=True, slots=True)
class Beginning:
    """The tokens of an output that are certain while the rest is still being made."""

    ids: tuple[int, ...] = ()
    log_probabilities: tuple[float, ...] = ()
