"""The order of batches: each row once, never over the budget, a function of seed and epoch alone."""

import random as global_random
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from glassformer.config import TokenizerConfig
from glassformer.data import BucketPlan, WindowPlan, build_store, fill
from glassformer.data.sampler import _greedy_bounds, cut_anew
from glassformer.errors import ConfigError, DataError
from glassformer.text import Pairs, Tokenizer
from tests.unit.data import prepared

MULTI30K = Path(__file__).parents[4] / "shared" / "data" / "multi30k"

Lengths = NDArray[np.int64]
lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=80).map(
    lambda pairs: [np.array(side) for side in zip(*pairs, strict=True)]
)
budgets = st.integers(30, 300)
numbers = st.integers(0, 2**40)


@given(lengths, budgets, numbers, st.integers(0, 1000), st.booleans())
@settings(max_examples=200, deadline=None)
def test_every_epoch_has_each_row_once_within_the_budget(
    sides: list[Lengths], budget: int, seed: int, epoch: int, shuffle: bool
) -> None:
    plan = BucketPlan(sides, budget, seed, shuffle=shuffle)
    order = plan.epoch(epoch)
    batches = [order[index] for index in range(len(order))]

    assert len(order) == plan.n_batches
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(sides[0])))
    for rows in batches:
        assert 0 < len(rows) * max(side[rows].max() for side in sides) <= budget


@given(lengths, budgets, st.integers(0, 5))
@settings(max_examples=200, deadline=None)
def test_cuts_by_length_are_those_of_filling_row_by_row(
    sides: list[Lengths], budget: int, first: int
) -> None:
    longest = sorted(np.maximum(*sides).tolist())
    first = min(first, len(longest) - 1)
    levels = [(length, longest.count(length)) for length in sorted(set(longest))]
    expected, begin = ([0, first] if first else [0]), first
    for row in range(first, len(longest)):
        if (row - begin + 1) * longest[row] > budget:
            begin = row
            expected.append(row)

    assert _greedy_bounds(levels, budget, first).tolist() == [*expected, len(longest)]


def batches_of(plan: BucketPlan, epoch: int) -> list[list[int]]:
    order = plan.epoch(epoch)
    return [order[index].tolist() for index in range(len(order))]


def some_lengths(n_rows: int, low: int = 3, high: int = 20) -> list[Lengths]:
    random = np.random.default_rng(0)
    return [random.integers(low, high, n_rows), random.integers(low, high, n_rows)]


def test_the_order_is_a_function_of_seed_and_epoch() -> None:
    sides = some_lengths(500)
    plan = BucketPlan(sides, 200, seed=7)
    first = batches_of(plan, 3)
    batches_of(plan, 0)
    np.random.seed(1)
    torch.manual_seed(1)
    global_random.seed(1)

    assert batches_of(plan, 3) == first
    assert batches_of(BucketPlan(sides, 200, seed=7), 3) == first
    assert batches_of(plan, 4) != first
    assert batches_of(BucketPlan(sides, 200, seed=8), 3) != first


def test_no_global_generator_is_touched() -> None:
    before = torch.get_rng_state(), str(np.random.get_state()), global_random.getstate()
    BucketPlan(some_lengths(50), 200, seed=7).epoch(1)
    WindowPlan(100, 8, 32, seed=7).epoch(1)

    assert torch.equal(torch.get_rng_state(), before[0])
    assert str(np.random.get_state()) == before[1]
    assert global_random.getstate() == before[2]


def test_rows_meet_other_rows_in_another_epoch() -> None:
    """Not only the order of batches changes: about half of a row's batch-mates do."""
    plan = BucketPlan(some_lengths(2000), 400, seed=1)
    epochs = [batches_of(plan, epoch) for epoch in (0, 1)]
    pairs = [{(a, b) for batch in epoch for a in batch for b in batch if a < b} for epoch in epochs]

    assert len(pairs[0] & pairs[1]) / len(pairs[0]) < 0.7


def test_batches_do_not_come_by_length() -> None:
    sides = some_lengths(2000)
    longest = np.array([np.maximum(*sides)[rows].max() for rows in batches_of(BucketPlan(sides, 400, 1), 0)])

    assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.3


def test_a_corpus_smaller_than_a_batch_is_one_batch() -> None:
    plan = BucketPlan(some_lengths(10), 10_000, seed=1)

    assert plan.n_batches == 1 and sorted(batches_of(plan, 5)[0]) == list(range(10))


def test_one_row_is_enough() -> None:
    plan = BucketPlan([np.array([5]), np.array([6])], 6, seed=1)

    assert [batches_of(plan, epoch) for epoch in range(2)] == [[[0]], [[0]]]


def test_a_row_larger_than_the_budget_is_refused() -> None:
    with pytest.raises(DataError) as caught:
        BucketPlan([np.array([5, 30, 9]), np.array([6, 8, 41])], 25, seed=1)

    assert str(caught.value) == (
        "train: batch_tokens = 25 is less than one row of 41 tokens, special ones included "
        "(2 of 3 rows do not fit); set batch_tokens to 41 or more, or lower max_length in [data]"
    )


@given(st.integers(1, 400), st.integers(1, 40), st.integers(1, 4), numbers, st.integers(0, 50), st.booleans())
@settings(max_examples=200, deadline=None)
def test_windows_cover_each_token_once(
    n_tokens: int, context: int, rows: int, seed: int, epoch: int, shuffle: bool
) -> None:
    plan = WindowPlan(n_tokens, context, context * rows, seed, shuffle=shuffle)
    order = plan.epoch(epoch)
    batches = [order[index] for index in range(len(order))]
    covered = [
        (int(start) + place) % n_tokens
        for batch in batches
        for start, length in zip(batch.starts, batch.lengths, strict=True)
        for place in range(int(length))
    ]

    assert sorted(covered) == list(range(n_tokens))
    assert len(order) == plan.n_batches
    assert all(0 < len(batch.starts) <= rows and batch.lengths.max() <= context for batch in batches)
    if not shuffle:
        assert covered == list(range(n_tokens))


def test_windows_begin_elsewhere_in_another_epoch() -> None:
    plan = WindowPlan(10_000, 100, 400, seed=1)
    phases = {int(plan.epoch(epoch).windows.starts[0]) % 100 for epoch in range(20)}

    assert len(phases) > 10
    assert plan.epoch(3).windows.starts.tolist() == plan.epoch(3).windows.starts.tolist()


def test_a_window_larger_than_the_budget_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        WindowPlan(1000, context_length=256, batch_tokens=128, seed=1)

    assert str(caught.value) == (
        "train: batch_tokens = 128 is less than context_length = 256; a batch holds at least one window"
    )


@pytest.mark.skipif(not MULTI30K.exists(), reason=f"needs the captions of {MULTI30K}")
def test_multi30k_batches_are_nearly_full(tmp_path: Path) -> None:
    corpus = Pairs.from_files(MULTI30K / "train.en.gz", MULTI30K / "train.de.gz")
    some = [text for _, pair in zip(range(2000), corpus, strict=False) for text in pair]
    learned = Tokenizer.train(some, TokenizerConfig(vocab_size=4000))
    store = build_store(tmp_path / "store", corpus, learned, prepared.settings())
    sides = [store.source_lengths + 1, store.target_lengths + 1]
    order = BucketPlan(sides, batch_tokens=4096, seed=1).epoch(0)
    fills = [fill(side, order) for side in sides]
    real = sum(int(side.sum()) for side in sides)
    both = real / sum(side.sum() / share for side, share in zip(sides, fills, strict=True))
    print(f"fill: source {fills[0]:.3f}, target {fills[1]:.3f}, both {both:.3f}")

    assert len(store) == 29_000
    assert min(*fills, both) >= 0.95


@given(lengths, st.integers(1, 80), numbers)
@settings(max_examples=200, deadline=None)
def test_rows_are_cut_anew_into_as_many_batches_by_the_least_budget(
    sides: list[Lengths], n_batches: int, seed: int
) -> None:
    n_batches = min(n_batches, len(sides[0]))
    batches = cut_anew(sides, n_batches, np.random.default_rng(seed))
    again = cut_anew(sides, n_batches, np.random.default_rng(seed))
    longest = np.maximum(*sides)
    budget = max(len(rows) * int(longest[rows].max()) for rows in batches)
    levels = [(int(length), int((longest == length).sum())) for length in np.unique(longest)]

    assert len(batches) == n_batches and all(len(rows) for rows in batches)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(longest)))
    assert [rows.tolist() for rows in batches] == [rows.tolist() for rows in again]
    assert budget == longest.max() or len(_greedy_bounds(levels, budget - 1)) - 1 > n_batches


def test_fill_counts_padding() -> None:
    order = BucketPlan([np.array([2, 4, 4])], 12, seed=1, shuffle=False).epoch(0)

    assert fill(np.array([2, 4, 4]), order) == pytest.approx(10 / 12)
    assert fill(np.array([4, 4, 4]), order) == 1
