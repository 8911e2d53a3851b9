"""Queries in, hypotheses out: batches are made, searched or sampled, and put back in order."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from torch import nn

from glassformer.config import DecodeConfig
from glassformer.decoding.hypothesis import Hypothesis, Query, Specials
from glassformer.decoding.planning import budgeted, check_required, output_limit
from glassformer.decoding.sampling import Sampling
from glassformer.decoding.search import BeamObserver, BeamSearch
from glassformer.decoding.shortlist import Shortlist
from glassformer.decoding.step import Decodable, Stepper, Steps


@dataclass(frozen=True, slots=True)
class Decoder:
    """Models that answer together, and what they need to know about their vocabulary."""

    models: tuple[Decodable, ...]
    specials: Specials
    shortlist: Shortlist | None = None

    def decode(
        self, queries: Sequence[Query], config: DecodeConfig, observer: BeamObserver | None = None
    ) -> list[list[Hypothesis]]:
        """For each query its hypotheses, best first: at least one, at most ``nbest``.

        An observer is shown each step of a beam search, batch after batch.
        """
        results: list[list[Hypothesis]] = [[] for _ in queries]
        with evaluating(self.models):
            for batch in self._batches(queries, config):
                told = None if observer is None else _renumbered(observer, batch)
                run = self.begin([queries[i] for i in batch], config, told)
                while not run.done:
                    run.step()
                for i, hypotheses in zip(batch, run.results(), strict=True):
                    results[i] = hypotheses
        return results

    def begin(
        self,
        queries: Sequence[Query],
        config: DecodeConfig,
        observer: BeamObserver | None = None,
        stepper: Steps | None = None,
    ) -> BeamSearch | Sampling:
        """A search or a sampling of one batch, before its first step; its rows may be handed in."""
        limits = [self.limit(query, config) for query in queries]
        if stepper is None:
            watch = config.coverage > 0
            stepper = Stepper(self.models, self.specials, shortlist=self.shortlist, watch=watch)
        if config.sampling:
            return Sampling(stepper, queries, limits, config, self.specials)
        check_required(queries, limits, config)
        return BeamSearch(stepper, queries, limits, config, self.specials, observer)

    def limit(self, query: Query, config: DecodeConfig) -> int:
        """The most tokens that the output of a query may have, ``</s>`` included, a forced prefix not."""
        return output_limit(self.models[0].config, query, config)

    def _batches(self, queries: Sequence[Query], config: DecodeConfig) -> Iterator[list[int]]:
        rows = config.nbest if config.sampling else config.beam
        return budgeted([len(query.ids) for query in queries], config.batch_tokens // rows)


def _renumbered(observer: BeamObserver, batch: Sequence[int]) -> BeamObserver:
    """An observer that is told the places of queries among all, not in their batch."""
    return lambda step: observer(replace(step, inputs=tuple(batch[i] for i in step.inputs)))


@contextmanager
def evaluating(models: Sequence[nn.Module]) -> Iterator[None]:
    """Without dropout while open; a model that was in training is so again afterwards."""
    training = [model for model in models if model.training]
    for model in training:
        model.eval()
    try:
        yield
    finally:
        for model in training:
            model.train()
