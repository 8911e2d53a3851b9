"""One position further: the step that greedy search, beam search and sampling share.

A row is a hypothesis in the making. Rows can be reordered, dropped and multiplied between steps; what each of
them has read and said so far is in the caches that a ``Stepper`` holds, never in a model.
"""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Protocol

import torch
from torch import Tensor

from glassformer.decoding.hypothesis import Query, Specials
from glassformer.decoding.observe import head_means
from glassformer.decoding.shortlist import Shortlist
from glassformer.decoding.shortlisted import ShortlistedRows
from glassformer.errors import InputError
from glassformer.nn import Cache, DecoderOnly, EncoderDecoder, MultiHeadAttention, padding_mask
from glassformer.nn.shapes import Hidden, PaddingMask

Decodable = EncoderDecoder | DecoderOnly


class Steps(Protocol):
    """Rows that a search or a sampling can move on, whoever else shares the pass through the model."""

    attention: Tensor | None

    def start(self, queries: Sequence[Query], /) -> Tensor:
        """One row for each query; gives the ids to feed first."""

    def log_probabilities(self, last_ids: Tensor, /) -> Tensor:
        """For each row, given its newest token, the log-probability of every next one: (rows, V)."""

    def keep(self, rows: Tensor, /) -> None:
        """Row i becomes what row ``rows[i]`` was: inputs leave the batch, or get more rows."""

    def continue_from(self, rows: Tensor, /) -> None:
        """The same when each row continues one of the *same* input, whose memory need not be copied."""


class Stepper:
    """The rows of a batch under one model, or under several whose probabilities are averaged."""

    def __init__(
        self,
        models: Sequence[Decodable],
        specials: Specials,
        *,
        shortlist: Shortlist | None = None,
        watch: bool = False,
    ) -> None:
        """With a shortlist, probabilities are over it alone. ``watch`` keeps ``attention`` up to date."""
        self.vocab_size = _one_vocabulary(models)
        self.specials = specials
        self._members = [_member(model) for model in models]
        self._shortlist = shortlist
        self._listed: ShortlistedRows | None = None
        self._watched = [member.last_attention() for member in self._members] if watch else []
        self.attention: Tensor | None = None
        """When watched: what the newest step of each row looked at in the source, (rows, S)."""

    @torch.inference_mode()
    def start(self, queries: Sequence[Query]) -> Tensor:
        """One row for each query; gives the ids to feed first."""
        for member in self._members:
            member.start(queries, self.specials)
        if self._shortlist is not None:
            outputs = [member.model.output for member in self._members]
            self._listed = ShortlistedRows(self._shortlist.lists(queries, self.specials), outputs)
        if isinstance(self._members[0], _FromSource):
            return torch.full((len(queries),), self.specials.start)
        return torch.tensor([query.ids[-1] for query in queries])

    @torch.inference_mode()
    def log_probabilities(self, last_ids: Tensor) -> Tensor:
        """For each row, given its newest token, the log-probability of every next one: (rows, V)."""
        with ExitStack() as stack:
            seen = stack.enter_context(head_means(self._watched)) if self._watched else []
            hidden = [member.hidden(last_ids) for member in self._members]
        if seen:
            self.attention = torch.stack([weights[:, -1] for weights in seen]).mean(0)
        if self._listed is not None:
            return self._listed.log_probabilities(hidden)
        members = zip(self._members, hidden, strict=True)
        return average([log_softmax(member.model.output(x)[:, -1]) for member, x in members])

    @torch.inference_mode()
    def keep(self, rows: Tensor) -> None:
        """Row i becomes what row ``rows[i]`` was: inputs leave the batch, or get more rows."""
        for member in self._members:
            member.keep(rows)
        if self._listed is not None:
            self._listed.keep(rows)

    @torch.inference_mode()
    def continue_from(self, rows: Tensor) -> None:
        """The same when each row continues one of the *same* input, whose memory need not be copied."""
        if torch.equal(rows, torch.arange(len(rows))):  # always so for greedy search
            return
        for member in self._members:
            member.cache.reorder_past(rows)


def log_softmax(logits: Tensor) -> Tensor:
    """Log-probabilities, in float32 at least."""
    return logits.log_softmax(-1, dtype=None if logits.dtype == torch.float64 else torch.float32)


def average(log_probabilities: Sequence[Tensor]) -> Tensor:
    """The mean of several models' probabilities, computed and given as logarithms."""
    if len(log_probabilities) == 1:
        return log_probabilities[0]
    return torch.stack(list(log_probabilities)).logsumexp(0) - math.log(len(log_probabilities))


def padded_ids(rows: Sequence[Sequence[int]], pad: int, *, left: bool = False) -> Tensor:
    """Rows of ids, brought to one length by padding behind them, or before them."""
    size = max(len(row) for row in rows)
    return torch.tensor(
        [
            [*([pad] * (size - len(row))), *row] if left else [*row, *([pad] * (size - len(row)))]
            for row in rows
        ]
    )


def source_batch(sources: Sequence[Sequence[int]], pad: int) -> tuple[Tensor, PaddingMask | None]:
    """Source ids and their mask, which is None where nothing is padded."""
    lengths = torch.tensor([len(source) for source in sources])
    ids = padded_ids(sources, pad)
    return ids, None if bool((lengths == ids.size(1)).all()) else padding_mask(lengths, ids.size(1))


class _FromSource:
    """The rows of one encoder-decoder."""

    def __init__(self, model: EncoderDecoder) -> None:
        self.model = model
        self.cache: Cache

    def start(self, queries: Sequence[Query], specials: Specials) -> None:
        ids, mask = source_batch([query.ids for query in queries], specials.pad)
        self.cache = self.model.remember(self.model.encode(ids, mask), mask)

    def hidden(self, last_ids: Tensor) -> Hidden:
        return self.model.decode(last_ids[:, None], self.cache)

    def keep(self, rows: Tensor) -> None:
        self.cache.reorder(rows)

    def last_attention(self) -> MultiHeadAttention:
        return self.model.decoder.blocks[-1].cross_attention


class _FromPrompt:
    """The rows of one decoder-only model. Prompts of unequal length are padded before their beginning."""

    def __init__(self, model: DecoderOnly) -> None:
        self.model = model
        self.cache: Cache
        self.mask: PaddingMask | None = None

    def start(self, queries: Sequence[Query], specials: Specials) -> None:
        self.cache, self.mask = self.model.remember(), None
        read = [query.ids[:-1] for query in queries]  # the last token is fed by the first step
        longest = max(map(len, read))
        if longest == 0:
            return
        if any(len(ids) < longest for ids in read):
            lengths = torch.tensor([len(ids) for ids in read])
            self.mask = padding_mask(lengths, longest).flip(-1)
        self.model.decode(padded_ids(read, specials.pad, left=True), self.cache, self.mask)

    def hidden(self, last_ids: Tensor) -> Hidden:
        if self.mask is not None:
            self.mask = torch.cat([self.mask, self.mask.new_ones(len(self.mask), 1, 1, 1)], dim=-1)
        return self.model.decode(last_ids[:, None], self.cache, self.mask)

    def keep(self, rows: Tensor) -> None:
        self.cache.reorder(rows)
        if self.mask is not None:
            self.mask = self.mask.index_select(0, rows)

    def last_attention(self) -> MultiHeadAttention:
        raise InputError("a decoder-only model has no source to cover; set coverage = 0")


def _member(model: Decodable) -> _FromSource | _FromPrompt:
    return _FromSource(model) if isinstance(model, EncoderDecoder) else _FromPrompt(model)


def _one_vocabulary(models: Sequence[Decodable]) -> int:
    """The size that all models share; an ensemble cannot average what does not correspond."""
    kinds = {(type(model), model.config.vocab_size, model.config.n_source_ids) for model in models}
    if len(kinds) != 1:
        told = " and ".join(sorted(f'"{m.config.family}" of {m.config.vocab_size} ids' for m in models))
        raise InputError(f"the models of an ensemble must be alike in family and vocabulary; given: {told}")
    return models[0].config.vocab_size
