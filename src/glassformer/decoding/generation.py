"""Queries in, hypotheses out: batches are made, searched or sampled, and put back in order."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from torch import nn

from glassformer.config import DecodeConfig
from glassformer.decoding.hypothesis import Hypothesis, Query, Specials
from glassformer.decoding.sampling import Sampling
from glassformer.decoding.search import BeamObserver, BeamSearch
from glassformer.decoding.shortlist import Shortlist
from glassformer.decoding.step import Decodable, Stepper
from glassformer.errors import InputError
from glassformer.nn import DecoderOnly


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
        self, queries: Sequence[Query], config: DecodeConfig, observer: BeamObserver | None = None
    ) -> BeamSearch | Sampling:
        """A search or a sampling of one batch, before its first step."""
        limits = [self.limit(query, config) for query in queries]
        watch = config.coverage > 0
        stepper = Stepper(self.models, self.specials, shortlist=self.shortlist, watch=watch)
        if config.sampling:
            return Sampling(stepper, queries, limits, config, self.specials)
        _check_required(queries, limits, config)
        return BeamSearch(stepper, queries, limits, config, self.specials, observer)

    def limit(self, query: Query, config: DecodeConfig) -> int:
        """The most tokens that the output of a query may have, ``</s>`` included, a forced prefix not."""
        model = self.models[0]
        room = model.config.max_length - len(query.prefix)
        wanted = len(query.ids) + config.max_extra
        if isinstance(model, DecoderOnly):
            room -= len(query.ids) - 1
            wanted = max(config.max_extra, 1)
        if room < 1:
            raise InputError(_no_room(query, model))
        return min(room, wanted if config.max_length is None else config.max_length)

    def _batches(self, queries: Sequence[Query], config: DecodeConfig) -> Iterator[list[int]]:
        rows = config.nbest if config.sampling else config.beam
        lengths = [len(query.ids) for query in queries]
        if not isinstance(self.models[0], DecoderOnly):
            yield from budgeted(lengths, config.batch_tokens // rows)
            return
        # Shorter prompts are padded to the longest; that must not cost them positions they may need.
        needs = [self.limit(query, config) + len(query.prefix) for query in queries]
        most = self.models[0].config.max_length
        for batch in budgeted(lengths, config.batch_tokens // rows):
            slots = max(lengths[i] for i in batch) + max(needs[i] for i in batch) - 1
            yield from [batch] if slots <= most else _equal(batch, lengths)


def _renumbered(observer: BeamObserver, batch: Sequence[int]) -> BeamObserver:
    """An observer that is told the places of queries among all, not in their batch."""
    return lambda step: observer(replace(step, inputs=tuple(batch[i] for i in step.inputs)))


def budgeted(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Places of inputs of similar length, longest first, at most so many padded tokens together."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > tokens:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


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


def _equal(batch: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """The batch in parts of equal length, which need no padding."""
    for length in sorted({lengths[i] for i in batch}, reverse=True):
        yield [i for i in batch if lengths[i] == length]


def _check_required(queries: Sequence[Query], limits: Sequence[int], config: DecodeConfig) -> None:
    for query, limit in zip(queries, limits, strict=True):
        needed = sum(map(len, dict.fromkeys(query.required)))
        if needed and config.beam_groups > 1:
            raise InputError(
                f"required terms divide the beam themselves; set beam_groups = 1, not {config.beam_groups}"
            )
        for term in query.required:
            for sequence in query.forbidden:
                if _contains(term, sequence):
                    raise InputError("a required term contains a forbidden one; drop one of the two")
        if needed >= limit:
            raise InputError(
                f"the required terms have {needed} tokens, but the output may have {limit}, </s> included; "
                "require less, or set a larger max_length"
            )


def _contains(ids: Sequence[int], part: Sequence[int]) -> bool:
    return any(ids[at : at + len(part)] == part for at in range(len(ids) - len(part) + 1))


def _no_room(query: Query, model: Decodable) -> str:
    """Why nothing can be generated."""
    most = model.config.max_length
    if query.prefix:
        return (
            f"a prefix of {len(query.prefix)} tokens leaves no room in the {most} of max_length; shorten it"
        )
    return f"a prompt of {len(query.ids)} tokens leaves no room in the {most} of max_length; shorten it"
