"""The stream: exact from any position, shared by any number of processes, the same with a thread."""

import gc
import threading
import time
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.config import TrainConfig
from glassformer.data import Batch, Batches, BatchOrder, BatchStream, Position, StoreOptions, TokenStore
from glassformer.data.batch import NO_LABEL
from glassformer.data.stream import GROUP
from glassformer.errors import DataError
from glassformer.text import Pairs
from tests.unit.data.prepared import made_up_pairs, prepare, prepared_pairs, tokenizer

N_ROWS = 1000
Run = tuple[int, int, int, int]  # processes, micro-batches per update, updates, batches made ahead
segments = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(0, 12), st.sampled_from([0, 0, 0, 0, 2])),
    min_size=1,
    max_size=5,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return prepared_pairs(tmp_path_factory.mktemp("pairs"), N_ROWS)


def consume(
    batches: Batches, position: int, run: tuple[int, int, int, int], found: dict[int, list[int]]
) -> int:
    """One run of ``world`` processes and its stop; gives the position that its checkpoint would hold."""
    world, accumulate, n_updates, prefetch = run
    after = position
    ends = set()
    for rank in range(world):
        after = position
        with BatchStream(batches, position, rank=rank, world=world, prefetch=prefetch) as stream:
            for _ in range(n_updates * accumulate):
                at = after + rank
                after, batch = next(stream)
                assert at not in found
                found[at] = batch.rows.tolist()
        ends.add(after)
    assert ends == {position + n_updates * accumulate * world}  # all ranks stand at the same place
    return after


@given(st.integers(150, 900), st.integers(0, 2**31), segments)
@settings(max_examples=200, deadline=None)
def test_each_row_once_per_epoch_however_it_is_stopped_and_shared(
    store: TokenStore, budget: int, seed: int, runs: list[Run]
) -> None:
    batches = Batches(store, tokenizer(), TrainConfig(batch_tokens=budget, seed=seed))
    found: dict[int, list[int]] = {}
    position = 0
    for run in runs:
        position = consume(batches, position, run, found)
    n_epochs = -(-position // len(batches))
    consume(batches, position, (1, 1, n_epochs * len(batches) - position, 0), found)

    assert sorted(found) == list(range(n_epochs * len(batches)))
    for epoch in range(n_epochs):
        order = order_of(batches, epoch)
        places = range(epoch * len(batches), (epoch + 1) * len(batches))
        assert sorted(row for place in places for row in found[place]) == list(range(N_ROWS))
        assert [found[place] for place in places] == order


def order_of(batches: Batches, epoch: int) -> list[list[int]]:
    order = batches.plan.epoch(epoch)
    assert isinstance(order, BatchOrder)
    return [order[index].tolist() for index in range(len(order))]


def same(first: Batch, second: Batch) -> bool:
    pairs = [(first.source, second.source), (first.target, second.target), (first.labels, second.labels)]
    return all(torch.equal(a, b) for a, b in pairs) and torch.equal(first.rows, second.rows)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_thread_makes_no_difference(tmp_path: Path, dropout: float) -> None:
    kept = prepare(tmp_path, Pairs.from_list(made_up_pairs(50)), StoreOptions(keep_text=True))
    batches = Batches(kept, tokenizer(), TrainConfig(batch_tokens=100), dropout=dropout)
    streams = [BatchStream(batches, 5, prefetch=ahead) for ahead in (0, 1, 4)]
    for expected in range(6, 6 + 2 * len(batches)):
        (at, batch), *others = [next(stream) for stream in streams]

        assert at == expected
        assert all(after == at and same(batch, other) for after, other in others)
    for stream in streams:
        stream.close()


def test_one_line_is_corpus_enough(tmp_path: Path) -> None:
    batches = Batches(prepared_pairs(tmp_path, 1), tokenizer(), TrainConfig())
    with BatchStream(batches) as stream:
        found = [(after, batch.rows.tolist()) for _, (after, batch) in zip(range(3), stream, strict=False)]

    assert found == [(1, [0]), (2, [0]), (3, [0])]


def test_a_position_is_an_epoch_and_a_place_in_it(store: TokenStore) -> None:
    batches = Batches(store, tokenizer(), TrainConfig(batch_tokens=400))

    assert batches.place(0) == Position(0, 0)
    assert batches.place(2 * len(batches) + 3) == Position(2, 3)


def test_closing_ends_the_thread_and_the_stream(store: TokenStore) -> None:
    stream = BatchStream(Batches(store, tokenizer(), TrainConfig()), prefetch=1)
    next(stream)
    stream.close()
    stream.close()

    assert not any(thread.name == "batches" for thread in threading.enumerate())
    assert list(stream) == []


def test_a_forgotten_stream_ends_its_thread(store: TokenStore) -> None:
    stream = BatchStream(Batches(store, tokenizer(), TrainConfig()), prefetch=1)
    next(stream)
    del stream
    gc.collect()
    deadline = time.monotonic() + 5
    while any(thread.name == "batches" for thread in threading.enumerate()) and time.monotonic() < deadline:
        time.sleep(0.01)

    assert not any(thread.name == "batches" for thread in threading.enumerate())


@pytest.mark.parametrize("prefetch", [0, 2])
def test_a_failure_reaches_whoever_reads(
    store: TokenStore, monkeypatch: pytest.MonkeyPatch, prefetch: int
) -> None:
    batches = Batches(store, tokenizer(), TrainConfig())
    whole = batches.batch

    def fails(position: int) -> Batch:
        if position == 3:
            raise OSError("the disk is gone")
        return whole(position)

    monkeypatch.setattr(batches, "batch", fails)
    with BatchStream(batches, prefetch=prefetch) as stream:
        for _ in range(3):
            next(stream)
        with pytest.raises(OSError, match="the disk is gone"):
            next(stream)


def test_dropout_spells_anew_in_each_epoch_and_again_the_same(tmp_path: Path) -> None:
    pairs = made_up_pairs(30)
    kept = prepare(tmp_path, Pairs.from_list(pairs), StoreOptions(keep_text=True))
    train = TrainConfig(batch_tokens=10_000)
    batches, again = (Batches(kept, tokenizer(), train, dropout=0.5) for _ in range(2))
    first, second = batches.batch(0), batches.batch(1)
    spelt = {int(row): ids for batch in (first,) for row, ids in zip(batch.rows, batch.source, strict=True)}

    assert same(again.batch(1), second) and same(again.batch(0), first)
    assert first.n_source != second.n_source
    assert all(tokenizer().decode(ids.tolist()) == pairs[row][0] for row, ids in spelt.items())


def padded(lengths: list[int]) -> int:
    return max(lengths) * len(lengths)


def longer_sides(batch: Batch) -> list[int]:
    return torch.maximum(batch.source_lengths, (batch.labels != NO_LABEL).sum(1)).tolist()


def test_batches_are_of_like_lengths_in_spite_of_dropout(tmp_path: Path) -> None:
    kept = prepare(tmp_path, Pairs.from_list(made_up_pairs(N_ROWS)), StoreOptions(keep_text=True))
    batches = Batches(kept, tokenizer(), TrainConfig(batch_tokens=150, seed=3), dropout=0.3)
    epoch = [batches.batch(position) for position in range(len(batches))]
    longer = {int(row): n for batch in epoch for row, n in zip(batch.rows, longer_sides(batch), strict=True)}
    found = [[longer[int(row)] for row in batch.rows] for batch in epoch]
    planned = [[longer[row] for row in rows] for rows in order_of(batches, 0)]

    assert len(batches) > 2 * GROUP and len(batches) % GROUP  # several groups, and one that is not whole
    assert sorted(row for batch in epoch for row in batch.rows.tolist()) == list(range(N_ROWS))
    assert sum(map(padded, found)) < 0.9 * sum(map(padded, planned))
    assert max(map(padded, found)) < 0.9 * max(map(padded, planned))
    for position in (len(batches) - 1, 5, GROUP, 6):  # whatever was asked for before
        assert same(batches.batch(position), epoch[position])


def test_dropout_never_makes_a_row_longer_than_may_be(tmp_path: Path) -> None:
    longest = max(len(tokenizer().encode(side)) for pair in made_up_pairs(30) for side in pair)
    kept = prepare(tmp_path, Pairs.from_list(made_up_pairs(30)), StoreOptions(keep_text=True))
    object.__setattr__(kept, "header", kept.header.model_copy(update={"max_length": longest}))
    batch = Batches(kept, tokenizer(), TrainConfig(batch_tokens=10_000), dropout=0.9).batch(0)

    assert batch.source_lengths.max() <= longest + 2  # a tag and </s>


def test_dropout_needs_the_text(store: TokenStore) -> None:
    with pytest.raises(DataError) as caught:
        Batches(store, tokenizer(), TrainConfig(), dropout=0.1)

    assert (
        str(caught.value) == f"{store.folder}: dropout needs the text, which is not kept here; set keep_text"
    )
