"""Beam search over a batch; a beam of 1 is greedy search.

What happens to an input depends on that input alone. Of its continuations the best live on; one that ends
in ``</s>`` is finished and leaves its place to the next best. A search ends when it provably cannot find
anything better: log-probabilities only fall, so the sum of the best live hypothesis, divided by the largest
length penalty it can still meet, bounds every score to come. A beam of 1 has nothing to compare and ends
with the first ``</s>``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.config import DecodeConfig
from glassformer.decoding.constraints import Rules
from glassformer.decoding.hypothesis import Beginning, Hypothesis, Query, Specials
from glassformer.decoding.penalties import LengthPenalty, coverage_penalty
from glassformer.decoding.required import RequiredTerms
from glassformer.decoding.selection import Candidates, select
from glassformer.decoding.step import Steps

NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class BeamStep:
    """Everything one step of a search looked at, for whoever wants to draw the beam."""

    step: int
    """Tokens so far, this one included."""
    inputs: tuple[int, ...]
    """Which query each row of the tensors below is about."""
    candidates: Candidates
    """What was looked at, finished and kept; a parent is a place among those kept one step before."""
    log_probabilities: Tensor
    """The model's own, of each candidate's token: (n, k)."""


BeamObserver = Callable[[BeamStep], None]


class BeamSearch:
    """The beams of a batch. ``step`` until ``done``, then take ``results``."""

    def __init__(
        self,
        stepper: Steps,
        queries: Sequence[Query],
        limits: Sequence[int],
        config: DecodeConfig,
        specials: Specials,
        observer: BeamObserver | None = None,
    ) -> None:
        """``limits`` are the most tokens that each query's output may have."""
        self._stepper, self._config, self._specials, self._observer = stepper, config, specials, observer
        self._queries, self._limits = list(queries), list(limits)
        self._penalty = LengthPenalty(config)
        self._rules = Rules(queries, config, specials)
        self._required = RequiredTerms(queries, specials)
        self._found = [_Found(config.nbest, config.beam_groups) for _ in queries]
        self._live = list(range(len(queries)))
        self._last = stepper.start(queries)
        n, groups = len(queries), config.beam_groups
        if groups > 1:  # each begins with a row of its own
            self._last = self._last.repeat_interleave(groups)
            stepper.keep(torch.arange(n).repeat_interleave(groups))
        self._total = torch.zeros(n, groups, dtype=torch.float64)
        self._tokens = torch.zeros(n, groups, 0, dtype=torch.long)
        self._log_probabilities = torch.zeros(n, groups, 0)
        self._coverage = torch.zeros(n, groups, 1)

    @property
    def done(self) -> bool:
        """Whether every input has its results."""
        return not self._live

    @property
    def newest(self) -> Tensor:
        """The ids that the next step feeds, one for each row."""
        return self._last

    @property
    def live(self) -> frozenset[int]:
        """The queries that are not done."""
        return frozenset(self._live)

    def drop(self, query: int) -> None:
        """Stop searching for a query, at any time after the first step; it gets no more results."""
        n, width = self._total.shape
        stay = [place for place, other in enumerate(self._live) if other != query]
        self._reorder(torch.arange(width).expand(n, width), stay)

    def results(self) -> list[list[Hypothesis]]:
        """For each query its hypotheses, best first: at least one, at most ``nbest``."""
        return [found.ranked() for found in self._found]

    def certain(self, query: int) -> Beginning:
        """The tokens that every hypothesis of a query begins with, of those that can still win."""
        rivals = [Beginning(each.ids, each.token_log_probabilities) for each in self._found[query].ranked()]
        if query in self._live:
            place = self._live.index(query)
            for row in (~self._total[place].isneginf()).nonzero()[:, 0].tolist():
                own = self._log_probabilities[place, row]
                rivals.append(Beginning(tuple(self._tokens[place, row].tolist()), tuple(own.tolist())))
        length = _common_length([rival.ids for rival in rivals])
        return Beginning(rivals[0].ids[:length], rivals[0].log_probabilities[:length])

    @torch.inference_mode()
    def step(self) -> None:
        """One token further for every input that is not done."""
        n, width = self._total.shape
        raw = self._stepper.log_probabilities(self._last).view(n, width, -1)
        cost = self._rules.apply(raw, self._tokens)
        config = self._config
        groups, diversity, end = config.beam_groups, config.diversity, self._specials.end
        found = select(cost, self._total, beam=config.beam, groups=groups, diversity=diversity, end=end)
        found = self._required.select(found, cost, self._total, self._live)
        own = raw[torch.arange(n)[:, None], found.parent, found.token]
        if self._observer is not None:
            self._observer(BeamStep(self._tokens.size(2) + 1, tuple(self._live), found, own))
        coverage = self._cover(n, width)
        for place, k in found.ends.nonzero().tolist():
            self._finish(place, k, found, own, coverage)
        before = (self._total, self._tokens, self._log_probabilities)
        self._advance(found, own, coverage)
        self._leave(found, before)

    def _cover(self, n: int, width: int) -> Tensor:
        """What attention has fallen on each source token in each row, this step included: (n, w, S)."""
        if self._stepper.attention is None:
            return self._coverage
        return self._coverage + self._stepper.attention.view(n, width, -1)

    def _finish(self, place: int, k: int, found: Candidates, own: Tensor, coverage: Tensor) -> None:
        """Keep a hypothesis that has come to its end."""
        row = int(found.parent[place, k])
        hypothesis = self._hypothesis(
            self._live[place],
            self._tokens[place, row],
            torch.cat([self._log_probabilities[place, row], own[place, k, None]]),
            float(found.total[place, k]),
            coverage[place, row],
            finished=True,
        )
        self._found[self._live[place]].add(hypothesis, k * self._config.beam_groups // found.token.size(1))

    def _hypothesis(
        self, query: int, ids: Tensor, own: Tensor, total: float, coverage: Tensor, *, finished: bool
    ) -> Hypothesis:
        n_forced = min(len(self._queries[query].prefix), len(ids))
        chosen = own[n_forced:].double()
        score = total / self._penalty(max(len(chosen), 1))
        if self._config.coverage:
            score += coverage_penalty(coverage[: len(self._queries[query].ids)], self._config.coverage)
        log_probability = float(chosen.sum())
        return Hypothesis(
            tuple(ids.tolist()), tuple(own.tolist()), log_probability, score, finished, n_forced
        )

    def _advance(self, found: Candidates, own: Tensor, coverage: Tensor) -> None:
        """The rows of the next step: those kept, each the continuation of its parent."""
        parent = found.parent.gather(1, found.kept)
        token = found.token.gather(1, found.kept)
        inputs = torch.arange(len(parent))[:, None]
        gone = found.token.gather(1, found.kept) == self._specials.end
        self._total = found.total.gather(1, found.kept).masked_fill(gone, NEVER)
        self._tokens = torch.cat([self._tokens[inputs, parent], token[..., None]], dim=2)
        newest = own.gather(1, found.kept)[..., None]
        self._log_probabilities = torch.cat([self._log_probabilities[inputs, parent], newest], dim=2)
        self._coverage = coverage[inputs, parent]
        self._required.advance(self._live, parent, token)

    def _leave(self, found: Candidates, before: tuple[Tensor, Tensor, Tensor]) -> None:
        """Take inputs that are done out of the batch, and bring the caches into the new order."""
        dead = self._total.isneginf().all(1).tolist()
        bounds = self._bounds()
        stay = []
        for place, query in enumerate(self._live):
            if dead[place]:
                if not self._found[query].ranked():  # everything is forbidden: what there is must do
                    self._give_up(place, before)
            elif self._length(query) >= self._limits[query]:
                self._give_up(place, (self._total, self._tokens, self._log_probabilities))
            elif not self._settled(query, bounds[place]):
                stay.append(place)
        self._reorder(found.parent.gather(1, found.kept), stay)

    def _length(self, query: int) -> int:
        return self._tokens.size(2) - len(self._queries[query].prefix)

    def _bounds(self) -> list[list[float]]:
        """The best sum of the live hypotheses in each group of each input."""
        n, groups = len(self._live), self._config.beam_groups
        return self._total.view(n, groups, -1).amax(2).tolist()

    def _settled(self, query: int, sums: Sequence[float]) -> bool:
        """Whether no live hypothesis can still become one of the results."""
        if self._config.beam == 1:
            return bool(self._found[query].ranked())
        largest = self._penalty.largest(max(self._length(query) + 1, 1), self._limits[query])
        return self._found[query].settled([total / largest for total in sums])

    def _give_up(self, place: int, rows: tuple[Tensor, Tensor, Tensor]) -> None:
        """Fill the results up with unfinished hypotheses: the limit is met, or nothing may come next."""
        query = self._live[place]
        total, tokens, own = (tensor[place] for tensor in rows)
        groups = self._config.beam_groups
        met = self._required.met(query, len(total))
        for row in sorted(range(len(total)), key=lambda row: (-met[row], -float(total[row]))):
            if not total[row].isneginf():
                unfinished = self._hypothesis(
                    query,
                    tokens[row],
                    own[row],
                    float(total[row]),
                    self._coverage[place, row],
                    finished=False,
                )
                self._found[query].add(unfinished, row * groups // len(total))

    def _reorder(self, parent: Tensor, stay: list[int]) -> None:
        n, width = parent.shape
        old_width = self._old_width(parent)
        rows = (parent + torch.arange(n)[:, None] * old_width)[stay].flatten()
        if len(stay) == n and width == old_width:
            self._stepper.continue_from(rows)
        elif stay:
            self._stepper.keep(rows)
        if len(stay) < n:
            self._live = [self._live[place] for place in stay]
            self._rules.keep(stay)
            self._total, self._tokens = self._total[stay], self._tokens[stay]
            self._log_probabilities, self._coverage = self._log_probabilities[stay], self._coverage[stay]
        self._last = self._tokens[:, :, -1].flatten()

    def _old_width(self, parent: Tensor) -> int:
        return len(self._last) // len(parent)


class _Found:
    """The best finished hypotheses of one query so far, each group with its share of places."""

    def __init__(self, nbest: int, groups: int) -> None:
        self._shares = [nbest // groups + (group < nbest % groups) for group in range(groups)]
        self._groups: list[list[Hypothesis]] = [[] for _ in range(groups)]

    def add(self, hypothesis: Hypothesis, group: int) -> None:
        """Keep it if it is new and good enough; an unfinished one only where a place is free."""
        if any(hypothesis.ids == other.ids for others in self._groups for other in others):
            return
        kept = self._groups[group]
        if hypothesis.finished or len(kept) < self._shares[group]:
            kept.append(hypothesis)
            kept.sort(key=_rank)
            del kept[self._shares[group] :]

    def settled(self, bounds: Sequence[float]) -> bool:
        """Whether every place is taken by something that scores at least what can still come."""
        return all(
            len(kept) == share and (not kept or kept[-1].score >= bound)
            for kept, share, bound in zip(self._groups, self._shares, bounds, strict=True)
        )

    def ranked(self) -> list[Hypothesis]:
        """Best first, finished ones before others."""
        return sorted((hypothesis for kept in self._groups for hypothesis in kept), key=_rank)


def _rank(hypothesis: Hypothesis) -> tuple[bool, float]:
    return not hypothesis.finished, -hypothesis.score


def _common_length(rows: Sequence[tuple[int, ...]]) -> int:
    """How many tokens all rows begin with."""
    first, last = min(rows), max(rows)  # in the order of a dictionary: what these two share, all share
    same = [a == b for a, b in zip(first, last, strict=False)]
    return same.index(False) if False in same else len(same)
