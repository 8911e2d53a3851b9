"""Which engine answers: the native one what it can be asked, PyTorch everything else."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

from glassformer.config import DecodeConfig, ModelConfig
from glassformer.decoding.alignment import Attention, Reading, token_weights
from glassformer.decoding.hypothesis import Beginning, Hypothesis, Query, Specials
from glassformer.decoding.native import NativeDecoder
from glassformer.decoding.shortlist import Shortlist
from glassformer.decoding.targets import Target, TargetScore
from glassformer.engine import Engine
from glassformer.engine.parameters import parameter_shapes
from glassformer.errors import InputError

if TYPE_CHECKING:
    from glassformer.decoding.generation import Decoder
    from glassformer.nn import DecoderOnly, EncoderDecoder

EngineChoice = Literal["auto", "native", "pytorch"]
"""Who may answer. ``auto``: the native engine where it can; ``native``: nobody else."""

PYTORCH = "pytorch"

M = TypeVar("M", "EncoderDecoder", "DecoderOnly")


class Run(Protocol):
    """A search or a sampling on its way."""

    @property
    def done(self) -> bool:
        """Whether every query has its results."""

    def step(self) -> None:
        """One token further for every query that is not done."""

    def certain(self, query: int, /) -> Beginning:
        """The tokens of a query that cannot change any more."""

    def results(self) -> list[list[Hypothesis]]:
        """For each query its hypotheses, best first."""


@dataclass(frozen=True)
class Native(Generic[M]):
    """A model in the native engine, and how PyTorch gets the same one where it is needed."""

    engine: Engine
    load: Callable[[], Sequence[M]]
    alone: bool = False
    """Never ask PyTorch to answer instead."""


class Engines(Generic[M]):
    """The engines that one model, or an ensemble, is in. PyTorch is imported when it is first needed."""

    def __init__(
        self,
        model: M | Sequence[M] | Native[M],
        vocabulary: Callable[[int], Specials],
        shortlist: Shortlist | None,
    ) -> None:
        """``vocabulary`` gives the special ids for a vocabulary of a size."""
        self._loading = Lock()
        self._native: NativeDecoder | None = None
        self._alone = False
        self._decoder: Decoder | None = None
        self._shortlist = shortlist
        self.reasons: dict[str, None] = {}
        """Why PyTorch was asked so far, each reason once."""
        self._load: Callable[[], Sequence[M]]
        if isinstance(model, Native):
            self._load, self._alone = model.load, model.alone
            self.configs: tuple[ModelConfig, ...] = (model.engine.config,)
            self.specials = vocabulary(self.config.vocab_size)
            self._native = NativeDecoder(model.engine, self.specials, shortlist)
            return
        models: tuple[M, ...] = tuple(model) if isinstance(model, Sequence) else (model,)
        self._load = lambda: models
        self.configs = tuple(each.config for each in models)
        self.specials = vocabulary(self.config.vocab_size)
        for each in models:
            each.eval()

    @property
    def config(self) -> ModelConfig:
        """The architecture, of an ensemble the first one's."""
        return self.configs[0]

    @property
    def name(self) -> str:
        """Who answers what the native engine can be asked: ``native int8 (avx512vnni)`` or ``pytorch``."""
        return PYTORCH if self._native is None else self._native.name

    @property
    def n_parameters(self) -> int:
        """Numbers that training has changed, in the first model; a tied matrix counts once."""
        return sum(prod(shape) for shape in parameter_shapes(self.config).values())

    @property
    def native(self) -> NativeDecoder | None:
        """The decoder by the native engine, where the model is in it."""
        return self._native

    @property
    def models(self) -> tuple[M, ...]:
        """The models as PyTorch has them."""
        return self.pytorch.models  # type: ignore[return-value]  # they are what was given or loaded

    @property
    def pytorch(self) -> "Decoder":
        """The decoder by PyTorch, made on first use."""
        with self._loading:
            if self._decoder is None:
                from glassformer.decoding.generation import Decoder

                self._decoder = Decoder(tuple(self._load()), self.specials, self._shortlist)
            return self._decoder

    def decode(self, queries: Sequence[Query], config: DecodeConfig) -> tuple[list[list[Hypothesis]], str]:
        """For each query its hypotheses, best first, and the name of who answered."""
        native = self._chosen(queries, config)
        if native is None:
            return self.pytorch.decode(queries, config), PYTORCH
        return native.decode(queries, config), native.name

    @contextmanager
    def begin(self, query: Query, config: DecodeConfig) -> Iterator[Run]:
        """A search or a sampling for one query, before its first step."""
        native = self._chosen([query], config)
        if native is None:
            from glassformer.decoding.generation import evaluating

            with evaluating(self.pytorch.models):
                yield self.pytorch.begin([query], config)
            return
        run = native.begin([query], config)
        try:
            yield run
        finally:
            run.close()

    def score(self, targets: Sequence[Target]) -> list[TargetScore]:
        """What the model thinks of given outputs."""
        if self._native is not None:
            return self._native.score(targets)
        from glassformer.decoding.scoring import score_targets

        return score_targets(self.pytorch.models, targets, self.specials)

    def attention(self, targets: Sequence[Target], reading: Reading) -> list[Attention]:
        """What each token of each target looked at, as the reading has it; of an ensemble the first model."""
        if self._native is not None:
            return self._native.attention(targets, reading)
        from glassformer.decoding.attending import cross_attention

        model = self.models[0]
        every = cross_attention(model, targets, self.specials)  # type: ignore[arg-type]  # only these align
        return [token_weights(each, reading) for each in every]

    def _chosen(self, queries: Sequence[Query], config: DecodeConfig) -> NativeDecoder | None:
        """The native engine if it can answer; else None, and the reason is kept."""
        if self._native is None:
            return None
        reason = Engine.cannot(queries, config)
        if not reason:
            return self._native
        if self._alone:
            raise InputError(f'the native engine has no {reason}; set engine = "auto", and PyTorch answers')
        self.reasons.setdefault(f"the native engine has no {reason}")
        return None
