"""Batches by number, and the endless stream of them that training reads."""

import queue
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from glassformer.config import TrainConfig
from glassformer.data.batch import Batch, Specials, labelled_batch, masked_batch, pair_batch, window_batch
from glassformer.data.sampler import BatchOrder, BucketPlan, WindowOrder, WindowPlan, cut_anew
from glassformer.data.store import Ragged, Side, TokenStore
from glassformer.errors import DataError
from glassformer.text import Tokenizer

_MASKING, _DROPOUT, _CUTTING = 3, 4, 5  # what a generator is for; each use has numbers of its own

GROUP = 32
"""Batches whose rows are cut anew together once dropout has changed their lengths."""


@dataclass(frozen=True)
class Position:
    """A place in the sequence of all batches."""

    epoch: int
    index: int


class Batches:
    """Every batch of every epoch: ``batch(position)`` depends on nothing that ran before.

    With ``dropout`` (of merges) texts are encoded anew in each epoch, so the store must have kept them.
    That changes their lengths: the rows of some batches that follow each other are then shared out anew to as
    many, since a third of a batch of unlike lengths is padding. Dropout makes texts longer, so that batches
    hold more than ``batch_tokens``. Of several processes each encodes all rows, since into which batch a row
    falls depends on the others.
    """

    def __init__(
        self,
        store: TokenStore,
        tokenizer: Tokenizer,
        train: TrainConfig,
        *,
        shuffle: bool = True,
        dropout: float = 0.0,
    ) -> None:
        if dropout and not store.header.has_text:
            raise DataError(f"{store.folder}: dropout needs the text, which is not kept here; set keep_text")
        self.store, self.tokenizer, self.train = store, tokenizer, train
        self.dropout = dropout
        self.specials = Specials.of(tokenizer)
        self.plan = self._plan(shuffle)
        self._order: tuple[int, BatchOrder | WindowOrder] | None = None
        self._group: tuple[int, int, list[_Rows]] | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Batches of one epoch."""
        return self.plan.n_batches

    def place(self, position: int) -> Position:
        """The epoch of a position, and the place in it."""
        return Position(*divmod(position, len(self)))

    def batch(self, position: int) -> Batch:
        """The batch at a position, counted from 0 through all epochs."""
        place = self.place(position)
        epoch, index = place.epoch, place.index
        order = self._epoch(epoch)
        if isinstance(order, WindowOrder):
            return window_batch(self.store.tokens, order[index], self.specials)
        rows, source, target = self._rows(order, epoch, index)
        match self.store.kind:
            case "labelled":
                return labelled_batch(source, rows, self.store.label_places[rows], self.specials)
            case "lines":
                random = np.random.default_rng([_MASKING, self.train.seed, epoch, index])
                return masked_batch(source, rows, self.specials, self.train.mask_probability, random)
            case _:
                tags = None if self.store.tags is None else self.store.tags[rows]
                return pair_batch(source, target, rows, self.specials, tags)

    def epoch(self) -> Iterator[Batch]:
        """The batches of the first epoch, for validation."""
        return map(self.batch, range(len(self)))

    def _plan(self, shuffle: bool) -> BucketPlan | WindowPlan:
        store, train = self.store, self.train
        match store.kind:
            case "stream":
                n_tokens, context = len(store.tokens), train.context_length
                return WindowPlan(n_tokens, context, train.batch_tokens, train.seed, shuffle=shuffle)
            case "pairs":
                lengths = self._framed(store.source_lengths, store.target_lengths)
            case _:
                lengths = self._framed(store.source_lengths)
        return BucketPlan(lengths, train.batch_tokens, train.seed, shuffle=shuffle)

    def _framed(self, *lengths: NDArray[Any]) -> list[NDArray[Any]]:
        """The lengths of sides with their special tokens."""
        if len(lengths) == 1:
            return [lengths[0] + 2]
        before, after, forced = self.specials.before, self.specials.after, self.specials.forced
        around = (self.store.tags is not None) + len(before) + len(after)
        return [lengths[0] + around, lengths[1] + 1 + len(forced)]

    def _epoch(self, epoch: int) -> BatchOrder | WindowOrder:
        with self._lock:  # a training stream and its user may ask at once
            if self._order is None or self._order[0] != epoch:
                self._order = None  # let go of one order before the next is made
                self._order = (epoch, self.plan.epoch(epoch))
            return self._order[1]

    def _rows(self, order: BatchOrder, epoch: int, index: int) -> "_Rows":
        if not self.dropout:
            rows = order[index]
            sides = [side.gather(rows) for side in self.store.sides]
            return _Rows(rows, sides[0], sides[-1])
        number, place = divmod(index, GROUP)
        with self._lock:
            if self._group is None or self._group[:2] != (epoch, number):
                self._group = None
                self._group = (epoch, number, self._cut_anew(order, epoch, number))
            return self._group[2][place]

    def _cut_anew(self, order: BatchOrder, epoch: int, number: int) -> "list[_Rows]":
        """The batches of a group, of like lengths again after dropout."""
        members = range(len(order))[number * GROUP : (number + 1) * GROUP]
        rows = np.concatenate([order[index] for index in members])
        sides = [self._encode_anew(i, side, rows, epoch) for i, side in enumerate(self.store.sides)]
        lengths = self._framed(*(side.lengths for side in sides))
        random = np.random.default_rng([_CUTTING, self.train.seed, epoch, number])
        return [
            _Rows(rows[places], _taken(sides[0], places), _taken(sides[-1], places))
            for places in cut_anew(lengths, len(members), random)
        ]

    def _encode_anew(self, number: int, side: Side, rows: NDArray[np.int64], epoch: int) -> Ragged:
        source = number == 0 and self.store.kind == "pairs"
        encode = self.tokenizer.encode_source if source else self.tokenizer.encode_target
        seed = int(np.random.SeedSequence([_DROPOUT, self.train.seed, epoch, number]).generate_state(1)[0])
        encoded = encode(side.texts(rows), dropout=self.dropout, seed=seed)
        for place, ids in enumerate(encoded):
            if len(ids) > self.store.header.max_length:  # the model may have no position for it
                encoded[place] = side.row(int(rows[place])).tolist()
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        flat = np.fromiter((token for ids in encoded for token in ids), np.int64, int(lengths.sum()))
        return Ragged(flat, lengths.cumsum() - lengths, lengths)


class _Rows(NamedTuple):
    """Rows of the corpus, and the ids of both sides; of a corpus with one side, that one twice."""

    rows: NDArray[np.int64]
    source: Ragged
    target: Ragged


def _taken(ragged: Ragged, places: NDArray[np.int64]) -> Ragged:
    return Ragged(ragged.flat, ragged.starts[places], ragged.lengths[places])


class BatchStream:
    """Batches from a position on, without end, each with the position to go on from after it.

    Of ``world`` processes that start at the same position each takes every ``world``-th batch, and all have
    the same position after the same number of steps. So a position may be taken up by any number of
    processes. With ``prefetch`` a thread makes that many batches ahead; they are the same batches.
    """

    def __init__(
        self, batches: Batches, position: int = 0, *, rank: int = 0, world: int = 1, prefetch: int = 2
    ) -> None:
        self._ahead = _produce(batches, position, rank, world)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        if prefetch:
            made: _Queue = queue.Queue(prefetch)
            arguments = (self._ahead, made, self._stop)
            self._thread = threading.Thread(target=_fill, args=arguments, name="batches", daemon=True)
            self._ahead = _take(made)
            weakref.finalize(self, self._stop.set)  # the thread ends even if nobody closes the stream
            self._thread.start()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[int, Batch]:
        return next(self._ahead)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the thread; the stream gives no more batches."""
        self._stop.set()
        self._ahead = iter(())
        if self._thread is not None:
            self._thread.join()


_Made = tuple[int, Batch]
_Queue = queue.Queue[_Made | BaseException]


def _produce(batches: Batches, position: int, rank: int, world: int) -> Iterator[_Made]:
    while True:
        yield position + world, batches.batch(position + rank)
        position += world


def _fill(batches: Iterator[_Made], made: _Queue, stop: threading.Event) -> None:
    while not stop.is_set():
        item: _Made | BaseException
        try:
            item = next(batches)
        except BaseException as error:  # raised again where batches are taken
            item = error
        while not stop.is_set():
            try:
                made.put(item, timeout=0.1)
                break
            except queue.Full:
                continue
        if isinstance(item, BaseException):
            return


def _take(made: _Queue) -> Iterator[_Made]:
    while True:
        item = made.get()
        if isinstance(item, BaseException):
            raise item
        yield item
