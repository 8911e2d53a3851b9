"""The native engine as a decoder: the same questions and answers as PyTorch's ``Decoder``."""

from collections.abc import Sequence
from dataclasses import dataclass

from glassformer.config import DecodeConfig
from glassformer.decoding.alignment import Attention, Reading
from glassformer.decoding.hypothesis import Beginning, Hypothesis, Query, Specials
from glassformer.decoding.planning import output_limit
from glassformer.decoding.shortlist import Shortlist
from glassformer.decoding.targets import Target, TargetScore
from glassformer.engine import Engine, Given, Manner


@dataclass(frozen=True, slots=True)
class NativeDecoder:
    """A model in the native engine, and what it needs to know about its vocabulary."""

    engine: Engine
    specials: Specials
    shortlist: Shortlist | None = None

    @property
    def name(self) -> str:
        """What runs, for people."""
        return self.engine.name

    def decode(self, queries: Sequence[Query], config: DecodeConfig) -> list[list[Hypothesis]]:
        """For each query its hypotheses, best first: at least one, at most ``nbest``."""
        limits = [self.limit(query, config) for query in queries]
        lists = None if self.shortlist is None else self.shortlist.lists(queries, self.specials)
        return self.engine.decode(queries, limits, config, self.specials, lists=lists).hypotheses

    def limit(self, query: Query, config: DecodeConfig) -> int:
        """The most tokens that the output of a query may have, ``</s>`` included, a forced prefix not."""
        return output_limit(self.engine.config, query, config)

    def begin(self, queries: Sequence[Query], config: DecodeConfig) -> "NativeRun":
        """A search or a sampling of these queries, before its first step."""
        return NativeRun(self, queries, config)

    def score(self, targets: Sequence[Target]) -> list[TargetScore]:
        """The score of each target, in order."""
        given = [Given(target.input, target.ids, target.finished) for target in targets]
        found, _ = self.engine.score(given, self.specials)
        return [
            TargetScore(each.token_log_probabilities, target.n_forced)
            for each, target in zip(found, targets, strict=True)
        ]

    def attention(self, targets: Sequence[Target], reading: Reading) -> list[Attention]:
        """What each token of each target looked at, as the reading has it: (tokens, source)."""
        given = [Given(target.input, target.ids) for target in targets]
        _, rows = self.engine.score(given, self.specials, Manner(reading.layer))
        return [each[1:] if reading.fed else each[:-1] for each in rows]


class NativeRun:
    """Queries decoded step by step. ``step`` until ``done``, then take ``results``."""

    def __init__(self, decoder: NativeDecoder, queries: Sequence[Query], config: DecodeConfig) -> None:
        rows = config.nbest if config.sampling else config.beam
        self._session = decoder.engine.session(rows * len(queries))
        shortlist, specials = decoder.shortlist, decoder.specials
        lists = [None] * len(queries) if shortlist is None else shortlist.lists(queries, specials)
        self._slots = [
            self._session.add(query, decoder.limit(query, config), config, specials, listed)
            for query, listed in zip(queries, lists, strict=True)
        ]

    @property
    def done(self) -> bool:
        """Whether every query has its results."""
        return not self._session.live

    def step(self) -> None:
        """One token further for every query that is not done."""
        self._session.step()

    def certain(self, query: int) -> Beginning:
        """The tokens that every hypothesis of a query begins with, of those that can still win."""
        return self._session.certain(self._slots[query])

    def results(self) -> list[list[Hypothesis]]:
        """For each query its hypotheses, best first."""
        return [self._session.results(slot) for slot in self._slots]

    def close(self) -> None:
        """Give its memory back."""
        self._session.close()
