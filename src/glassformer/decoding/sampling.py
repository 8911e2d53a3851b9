"""Drawing outputs at random: temperature, then top-k, then top-p, then min-p.

Every output has a random number generator of its own, named by seed, query and number of the sample: a seed
gives the same output whatever else is in the batch.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from glassformer.config import DecodeConfig
from glassformer.decoding.constraints import Rules
from glassformer.decoding.hypothesis import Beginning, Hypothesis, Query, Specials
from glassformer.decoding.penalties import LengthPenalty
from glassformer.decoding.step import Steps
from glassformer.errors import InputError

NEVER = float("-inf")


def distribution(log_probabilities: Tensor, config: DecodeConfig) -> Tensor:
    """The probabilities that tokens are drawn with, in float64: rows of (rows, V) that sum to 1."""
    x = log_probabilities.double()
    if config.temperature == 0:
        return torch.zeros_like(x).scatter_(-1, x.argmax(-1, keepdim=True), 1.0)
    x = x / (1.0 if config.temperature is None else config.temperature)
    if 0 < config.top_k < x.size(-1):
        best = x.topk(config.top_k, dim=-1)
        x = torch.full_like(x, NEVER).scatter_(-1, best.indices, best.values)
    if config.top_p < 1:
        x = nucleus(x, config.top_p)
    if config.min_p > 0:
        least = x.amax(-1, keepdim=True) + np.log(config.min_p)
        x = x.masked_fill(x < least, NEVER)
    return x.softmax(-1)


def nucleus(x: Tensor, p: float) -> Tensor:
    """Logits with -inf outside the smallest set of best tokens whose probability is at least p."""
    ranked = x.softmax(-1).sort(dim=-1, descending=True, stable=True)
    before = ranked.values.cumsum(-1) - ranked.values  # the token that crosses p belongs to the set
    outside = torch.zeros_like(x, dtype=torch.bool).scatter_(-1, ranked.indices, before >= p)
    return x.masked_fill(outside, NEVER)


def draw(probabilities: Tensor, numbers: Tensor) -> Tensor:
    """The token of each row that a number from 0 to 1 falls on when probabilities are laid end to end."""
    edges = probabilities.cumsum(-1)
    token = torch.searchsorted(edges, (numbers * edges[:, -1])[:, None], right=True)[:, 0]
    last = probabilities.size(-1) - 1 - probabilities.gt(0).flip(-1).byte().argmax(-1)
    return token.minimum(last)  # rounding may reach past the end


class Sampling:
    """The samples of a batch, ``nbest`` of each query. ``step`` until ``done``, then take ``results``."""

    def __init__(
        self,
        stepper: Steps,
        queries: Sequence[Query],
        limits: Sequence[int],
        config: DecodeConfig,
        specials: Specials,
    ) -> None:
        """``limits`` are the most tokens that each query's output may have."""
        if any(query.required for query in queries):
            raise InputError("required terms are searched for, not drawn; leave temperature unset")
        self._stepper, self._config, self._specials = stepper, config, specials
        self._penalty = LengthPenalty(config)
        self._owners = [query for query in range(len(queries)) for _ in range(config.nbest)]
        self._queries = [queries[query] for query in self._owners]
        self._limits = [limits[query] for query in self._owners]
        self._dice = [
            np.random.default_rng((config.seed, *query.index, sample % config.nbest))
            for sample, query in enumerate(self._queries)
        ]
        self._rules = Rules(self._queries, config, specials)
        self._results: list[Hypothesis | None] = [None] * len(self._owners)
        self._live = list(range(len(self._owners)))
        self._last = stepper.start(queries)
        if config.nbest > 1:
            rows = torch.tensor(self._owners)
            stepper.keep(rows)
            self._last = self._last[rows]
        self._tokens = torch.zeros(len(self._live), 0, dtype=torch.long)
        self._log_probabilities = torch.zeros(len(self._live), 0)

    @property
    def done(self) -> bool:
        """Whether every sample is complete."""
        return not self._live

    @property
    def newest(self) -> Tensor:
        """The ids that the next step feeds, one for each row."""
        return self._last

    @property
    def live(self) -> frozenset[int]:
        """The queries that are not done."""
        return frozenset(self._owners[sample] for sample in self._live)

    def drop(self, query: int) -> None:
        """Stop drawing for a query; it gets no more results."""
        stay = [place for place, sample in enumerate(self._live) if self._owners[sample] != query]
        self._tokens, self._log_probabilities = self._tokens[stay], self._log_probabilities[stay]
        self._last = self._last[stay]
        self._live = [self._live[place] for place in stay]
        self._rules.keep(stay)
        if stay:
            self._stepper.keep(torch.tensor(stay))

    def results(self) -> list[list[Hypothesis]]:
        """For each query its samples, best first; the same output may occur twice."""
        grouped: list[list[Hypothesis]] = [[] for _ in range(1 + max(self._owners, default=-1))]
        for owner, hypothesis in zip(self._owners, self._results, strict=True):
            if hypothesis is not None:
                grouped[owner].append(hypothesis)
        return [sorted(samples, key=lambda sample: -sample.score) for samples in grouped]

    def certain(self, query: int) -> Beginning:
        """The tokens of a query's first sample so far."""
        sample = self._owners.index(query)
        finished = self._results[sample]
        if finished is not None:
            return Beginning(finished.ids, finished.token_log_probabilities[: len(finished.ids)])
        place = self._live.index(sample)
        return Beginning(tuple(self._tokens[place].tolist()), tuple(self._log_probabilities[place].tolist()))

    @torch.inference_mode()
    def step(self) -> None:
        """One token further for every sample that is not complete."""
        raw = self._stepper.log_probabilities(self._last)
        cost = self._rules.apply(raw[:, None], self._tokens[:, None])[:, 0]
        stuck = cost.isneginf().all(-1)
        chances = distribution(cost.masked_fill(stuck[:, None], 0.0), self._config)
        numbers = torch.tensor([self._dice[sample].random() for sample in self._live], dtype=torch.float64)
        token = draw(chances, numbers)
        own = raw.gather(1, token[:, None])
        stay = []
        for place, (chosen, blocked) in enumerate(zip(token.tolist(), stuck.tolist(), strict=True)):
            if not self._complete(place, chosen, float(own[place]), blocked):
                stay.append(place)
        self._tokens = torch.cat([self._tokens, token[:, None]], dim=1)[stay]
        self._log_probabilities = torch.cat([self._log_probabilities, own], dim=1)[stay]
        self._last = token[stay]
        if len(stay) < len(self._live):
            self._live = [self._live[place] for place in stay]
            self._rules.keep(stay)
            if stay:
                self._stepper.keep(torch.tensor(stay))

    def _complete(self, place: int, token: int, own: float, blocked: bool) -> bool:
        """Whether this token, or that there is none, completes a sample; its result is then kept."""
        sample = self._live[place]
        n_forced = len(self._queries[sample].prefix)
        ids, log_probabilities = self._tokens[place].tolist(), self._log_probabilities[place].tolist()
        ends = token == self._specials.end and not blocked and len(ids) >= n_forced
        if not blocked:
            log_probabilities.append(own)
            ids += [] if ends else [token]
        if not (ends or blocked or len(log_probabilities) - n_forced >= self._limits[sample]):
            return False
        total = sum(log_probabilities[n_forced:])
        score = total / self._penalty(max(len(log_probabilities) - n_forced, 1))
        self._results[sample] = Hypothesis(
            tuple(ids), tuple(log_probabilities), total, score, ends, min(n_forced, len(ids))
        )
        return True
