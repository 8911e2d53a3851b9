"""How a trained model is asked."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self, TypedDict

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, model_validator

from glassformer.config.strict import Strict


class DecodeConfig(Strict):
    """How text is searched for (section 6.1 of the paper), or drawn at random.

    Lengths are counted in generated tokens: the final ``</s>`` counts, ``<s>`` and a forced prefix do not.
    """

    beam: PositiveInt = 4
    """Hypotheses kept; 1 is greedy. Without meaning when sampling."""
    alpha: Annotated[float, Field(ge=-2, le=5)] = 0.6
    """Strength of the length penalty."""
    length_penalty: Literal["gnmt", "average"] = "gnmt"
    """Log-probabilities are divided by ((5 + length) / 6)^alpha as in the paper, or by length^alpha."""
    coverage: NonNegativeFloat = 0.0
    """Weight of the penalty for source tokens that no attention fell on (GNMT's beta); 0: none."""
    nbest: PositiveInt = 1
    """Results per input, best first; at most ``beam`` of them, any number when sampling."""
    beam_groups: PositiveInt = 1
    """Groups of the beam that are kept from saying the same (diverse beam search)."""
    diversity: NonNegativeFloat = 0.0
    """What a token costs a group, in nats, for each earlier group that takes it in the same step."""
    no_repeat_ngram: NonNegativeInt = 0
    """Length of token sequences that may not occur twice; 0: none."""
    repetition_penalty: Annotated[float, Field(ge=1, le=10)] = 1.0
    """Factor on the log-probability of tokens already said; 1: none."""
    min_length: NonNegativeInt = 0
    """Fewest tokens of an output."""
    max_length: PositiveInt | None = None
    """Most tokens of an output; unset: see ``max_extra``. The model's own limit holds besides."""
    max_extra: NonNegativeInt = 50
    """Output may be this much longer than the input, in tokens; a language model adds this many."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """Set: draw tokens at random, from a distribution that is sharper below 1; 0 is greedy. Unset: search."""
    top_k: Annotated[int, Field(ge=0, le=1000)] = 0
    """Draw among this many most probable tokens only; 0: all."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Draw among the fewest most probable tokens that together have this probability."""
    min_p: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Draw among tokens at least this probable, relative to the most probable one."""
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 0
    """Fixes what is drawn for each input, in any batch."""
    split: bool = False
    """Cut each text into sentences, decode these one by one and put the results together again."""
    batch_tokens: PositiveInt = 4096
    """Padded input tokens, times hypotheses, decoded side by side. Changes speed, not results."""

    @property
    def sampling(self) -> bool:
        """Whether tokens are drawn and not searched for."""
        return self.temperature is not None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for contradiction in self._contradictions():
            raise ValueError(contradiction)
        return self

    def _contradictions(self) -> Iterator[str]:
        """Everything that two or more keys together make impossible."""
        if self.max_length is not None and self.min_length > self.max_length:
            yield f"min_length = {self.min_length} is more than max_length = {self.max_length}"
        if self.sampling:
            yield from self._only("searching", "leave temperature unset", ("coverage", "diversity"))
            if self.beam_groups > 1:
                yield f"beam_groups = {self.beam_groups} is for searching; leave temperature unset"
            return
        yield from self._only("sampling", "set temperature, for example 1.0", ("top_k", "min_p"))
        if self.top_p < 1:
            yield f"top_p = {self.top_p} is for sampling; set temperature, for example 1.0"
        if self.nbest > self.beam:
            yield f"nbest = {self.nbest} is more than beam = {self.beam}"
        yield from self._group_contradictions()

    def _only(self, job: str, remedy: str, names: tuple[str, ...]) -> Iterator[str]:
        for name in names:
            if value := getattr(self, name):
                yield f"{name} = {value} is for {job}; {remedy}"

    def _group_contradictions(self) -> Iterator[str]:
        if self.beam % self.beam_groups:
            yield f"beam_groups = {self.beam_groups} does not divide beam = {self.beam}; groups must be equal"
        if (self.beam_groups > 1) != (self.diversity > 0):
            yield (
                f"beam_groups = {self.beam_groups} and diversity = {self.diversity} do not go together; "
                "set both or neither"
            )
        if self.nbest < self.beam_groups:
            yield (
                f"nbest = {self.nbest} is less than beam_groups = {self.beam_groups}, "
                "which give at least one result each"
            )


class DecodeOptions(TypedDict, total=False):
    """Settings of ``DecodeConfig`` as keyword arguments: ``translate(texts, beam=8, nbest=3)``."""

    beam: int
    alpha: float
    length_penalty: Literal["gnmt", "average"]
    coverage: float
    nbest: int
    beam_groups: int
    diversity: float
    no_repeat_ngram: int
    repetition_penalty: float
    min_length: int
    max_length: int | None
    max_extra: int
    temperature: float | None
    top_k: int
    top_p: float
    min_p: float
    seed: int
    split: bool
    batch_tokens: int
