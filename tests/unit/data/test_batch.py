"""Batches: framed as documented, shifted by one, padded behind, hidden at the right rate."""

import time
from pathlib import Path

import numpy as np
import pytest
import torch

from glassformer.config import TrainConfig
from glassformer.data import NO_LABEL, Batch, Batches, StoreOptions
from glassformer.data.batch import Specials, masked_batch, padded, pair_batch
from glassformer.data.store import Ragged
from glassformer.text import Labelled, Lines, Pairs
from tests.unit.data.prepared import made_up_pairs, prepare, prepared_pairs, tokenizer

SPECIALS = Specials(pad=0, bos=1, eos=2, mask=4, n_control=5, size=300)


def ragged(*rows: list[int]) -> Ragged:
    lengths = np.array([len(row) for row in rows])
    flat = np.array([token for row in rows for token in row], np.uint16)
    return Ragged(flat, lengths.cumsum() - lengths, lengths)


def test_pairs_are_framed_and_shifted() -> None:
    batch = pair_batch(ragged([7, 8, 9], [6]), ragged([11], [12, 13]), np.array([30, 20]), SPECIALS)

    assert batch.source.tolist() == [[7, 8, 9, 2], [6, 2, 0, 0]]
    assert batch.source_lengths.tolist() == [4, 2]
    assert batch.target.tolist() == [[1, 11, 0], [1, 12, 13]]
    assert batch.labels.tolist() == [[11, 2, -1], [12, 13, 2]]
    assert (batch.n_source, batch.n_targets, batch.rows.tolist(), len(batch)) == (6, 5, [30, 20], 2)


def test_a_language_tag_opens_the_source() -> None:
    batch = pair_batch(ragged([7], [8, 9]), ragged([11], [12]), np.array([0, 1]), SPECIALS, np.array([5, 6]))

    assert batch.source.tolist() == [[5, 7, 2, 0], [6, 8, 9, 2]]
    assert batch.source_lengths.tolist() == [3, 4]


def test_padding_is_the_same_as_row_by_row() -> None:
    random = np.random.default_rng(0)
    rows = [random.integers(5, 99, random.integers(0, 9)).tolist() for _ in range(50)]
    width = max(map(len, rows)) + 3
    expected = [[1, 3, *row, 2] + [0] * (width - 3 - len(row)) for row in rows]

    assert padded(ragged(*rows), 0, [1, 3], [2]).tolist() == expected


def test_a_label_is_the_next_target_token(tmp_path: Path) -> None:
    batches = Batches(prepared_pairs(tmp_path, 300), tokenizer(), TrainConfig(batch_tokens=300))
    specials = Specials.of(tokenizer())
    for batch in batches.epoch():
        real = batch.labels != NO_LABEL
        length = real.sum(1)
        inner = torch.arange(real.size(1) - 1) < length[:, None] - 1

        assert (batch.target[:, 0] == specials.bos).all()
        assert torch.equal(batch.labels[:, :-1][inner], batch.target[:, 1:][inner])
        assert (batch.labels.gather(1, length[:, None] - 1) == specials.eos).all()
        assert torch.equal(batch.target == specials.pad, ~real)
        assert int(length.sum()) == batch.n_targets
        assert torch.equal((batch.source != specials.pad).sum(1), batch.source_lengths)
        assert int(batch.source_lengths.sum()) == batch.n_source


def test_a_batch_holds_the_rows_it_names(tmp_path: Path) -> None:
    pairs = made_up_pairs(60)
    batches = Batches(prepare(tmp_path, Pairs.from_list(pairs)), tokenizer(), TrainConfig(batch_tokens=300))
    for batch in batches.epoch():
        for row, source, labels in zip(batch.rows, batch.source, batch.labels, strict=True):
            assert tokenizer().decode(source.tolist()) == pairs[row][0]
            assert tokenizer().decode(labels[labels != NO_LABEL].tolist()) == pairs[row][1]


def test_batches_keep_the_budget_special_tokens_included(tmp_path: Path) -> None:
    store = prepared_pairs(tmp_path, 300)
    for batch in Batches(store, tokenizer(), TrainConfig(batch_tokens=250)).epoch():
        assert (batch.source[:, 0] == tokenizer().language_id("fr")).all()
        assert len(batch) * max(batch.source.size(1), batch.target.size(1)) <= 250


def test_every_tensor_is_int64(tmp_path: Path) -> None:
    batch = Batches(prepared_pairs(tmp_path, 20), tokenizer(), TrainConfig()).batch(0)
    moved = batch.to(torch.device("cpu"))
    for one in (batch, moved):
        tensors = [one.source, one.source_lengths, one.target, one.labels, one.rows]

        assert {tensor.dtype for tensor in tensors} == {torch.int64}
    assert isinstance(moved, Batch) and torch.equal(moved.labels, batch.labels)


def test_windows_predict_every_token_from_the_one_before(tmp_path: Path) -> None:
    lines = ["the cat sees a dog", "", "le chat dort"] * 4
    store = prepare(tmp_path, Lines.from_list(lines))
    train = TrainConfig(context_length=7, batch_tokens=21)
    tokens = store.tokens.tolist()
    batches = Batches(store, tokenizer(), train)
    seen = []
    for batch in batches.epoch():
        for start, shown, labels in zip(batch.rows, batch.target, batch.labels, strict=True):
            length = int((labels != NO_LABEL).sum())
            places = [(int(start) + place) % len(tokens) for place in range(length)]
            seen += places

            assert labels[:length].tolist() == [tokens[place] for place in places]
            assert shown[:length].tolist() == [tokens[place - 1] for place in places]
            assert (shown[length:] == 0).all()
        assert batch.source.shape == (len(batch), 0) and batch.n_source == 0
        assert len(batch) * batch.target.size(1) <= 21
    assert sorted(seen) == list(range(len(tokens)))


def test_validation_windows_keep_the_order_and_begin_after_an_end(tmp_path: Path) -> None:
    store = prepare(tmp_path, Lines.from_list(["the cat sees a dog", "le chat dort"]))
    train = TrainConfig(context_length=5, batch_tokens=10)
    batches = list(Batches(store, tokenizer(), train, shuffle=False).epoch())
    labels = [int(token) for batch in batches for token in batch.labels.flatten() if token != NO_LABEL]

    assert labels == store.tokens.tolist()
    assert batches[0].target[0, 0] == tokenizer().eos_id


def masked(rows: list[list[int]], probability: float, seed: int = 0) -> tuple[Batch, torch.Tensor]:
    random = np.random.default_rng(seed)
    batch = masked_batch(ragged(*rows), np.arange(len(rows)), SPECIALS, probability, random)
    return batch, torch.from_numpy(padded(ragged(*rows), 0, [1], [2]))


def test_tokens_are_hidden_at_the_rates_of_bert() -> None:
    rows = np.random.default_rng(1).integers(5, 300, (1000, 100)).tolist()
    batch, original = masked(rows, 0.15)
    chosen = batch.labels != NO_LABEL
    shown, right = batch.source[chosen], batch.labels[chosen]
    n = len(right)

    assert n / 1e5 == pytest.approx(0.15, abs=0.005)
    assert (shown == SPECIALS.mask).sum() / n == pytest.approx(0.8, abs=0.015)
    assert (shown == right).sum() / n == pytest.approx(0.1, abs=0.015)
    assert torch.equal(right, original[chosen])
    assert torch.equal(batch.source[~chosen], original[~chosen])
    assert batch.n_targets == n


def test_special_tokens_are_never_hidden_nor_put_in() -> None:
    rows = [[3, 7, 8], [9, 3]] * 50
    batch, original = masked(rows, 0.9)
    special = original < SPECIALS.n_control

    assert (batch.labels[special] == NO_LABEL).all()
    assert torch.equal(batch.source[special], original[special])
    assert (batch.labels[~special].unique() >= NO_LABEL).all()
    assert set(batch.source[~special].unique().tolist()) - {SPECIALS.mask} <= set(range(5, 300))
    assert batch.source_lengths.tolist() == [5, 4] * 50


@pytest.mark.parametrize("seed", range(5))
def test_there_is_always_something_to_guess(seed: int) -> None:
    batch, _ = masked([[7, 8]], 0.0, seed)

    assert batch.n_targets == 1


def test_nothing_can_be_guessed_where_there_is_no_token() -> None:
    batch, _ = masked([[3]], 0.5)

    assert batch.n_targets == 0


def test_masks_are_a_function_of_the_position(tmp_path: Path) -> None:
    lines = [source for source, _ in made_up_pairs(100)]
    store = prepare(tmp_path, Lines.from_list(lines), StoreOptions(stream=False))
    train = TrainConfig(batch_tokens=200)
    batches, again = Batches(store, tokenizer(), train), Batches(store, tokenizer(), train)
    again.batch(3)
    first, second = batches.batch(5), again.batch(5)

    assert torch.equal(first.source, second.source) and torch.equal(first.labels, second.labels)


def test_the_same_rows_are_hidden_otherwise_in_another_epoch(tmp_path: Path) -> None:
    lines = [source for source, _ in made_up_pairs(100)]
    store = prepare(tmp_path, Lines.from_list(lines), StoreOptions(stream=False))
    batches = Batches(store, tokenizer(), TrainConfig(batch_tokens=200), shuffle=False)
    first, later = batches.batch(5), batches.batch(5 + len(batches))

    assert torch.equal(first.rows, later.rows)
    assert not torch.equal(first.labels, later.labels)


def test_labelled_texts_have_one_label_each(tmp_path: Path) -> None:
    examples = [("the cat", "pos"), ("a dog sleeps", "neg"), ("le chat", "pos")]
    batch = Batches(prepare(tmp_path, Labelled.from_list(examples)), tokenizer(), TrainConfig()).batch(0)

    assert sorted(batch.rows.tolist()) == [0, 1, 2]
    assert batch.labels.tolist() == [[1, 0, 1][row] for row in batch.rows]
    assert (batch.source[:, 0] == 1).all() and batch.target.shape == (3, 0)
    assert (batch.source.gather(1, batch.source_lengths[:, None] - 1) == 2).all()
    assert batch.n_targets == 3


def test_a_million_tokens_are_collated_in_a_second() -> None:
    """In truth about ten million; the bound leaves room for a busy machine."""
    rows = ragged(*np.random.default_rng(0).integers(5, 300, (256, 15)).tolist())
    start = time.perf_counter()
    made = [pair_batch(rows, rows, np.arange(256), SPECIALS) for _ in range(50)]
    seconds = time.perf_counter() - start

    assert sum(batch.n_source + batch.n_targets for batch in made) / seconds > 1e6
