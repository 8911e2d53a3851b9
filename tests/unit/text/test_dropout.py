"""BPE-dropout: without dropout the library's own result; with it a function of seed and text."""

import time
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.errors import ConfigError
from glassformer.text.dropout import generator, merge
from glassformer.text.vocabulary import Kind
from tests.unit.text.trained import CORPUS, KINDS, texts, tokenizer

MERGING: tuple[Kind, ...] = ("bpe", "byte")
with_merges = pytest.mark.parametrize("kind", MERGING)


@with_merges
@settings(deadline=None, max_examples=150)
@given(text=texts())
def test_without_dropout_it_is_the_library(kind: Kind, text: str) -> None:
    trained = tokenizer(kind)

    assert trained._encode_with_dropout(trained.normalise(text), 0.0, 1) == trained.encode(text)


@with_merges
@settings(deadline=None, max_examples=100)
@given(text=texts(), dropout=st.floats(0.01, 1.0), seed=st.integers(0, 2**64))
def test_any_spelling_is_the_text(kind: Kind, text: str, dropout: float, seed: int) -> None:
    trained = tokenizer(kind)
    ids = trained.encode_batch([text], dropout=dropout, seed=seed)[0]

    assert trained.decode(ids) == trained.normalise(text)
    assert trained.encode_batch(["other", text], dropout=dropout, seed=seed)[1] == ids


@with_merges
def test_seeds_give_other_spellings(kind: Kind) -> None:
    trained = tokenizer(kind)
    spelt = {tuple(trained.encode_batch([CORPUS[0]], dropout=0.3, seed=seed)[0]) for seed in range(20)}

    assert len(spelt) > 10
    assert trained.encode_target([CORPUS[0]], dropout=0.3, seed=4) == trained.encode_source(
        [CORPUS[0]], dropout=0.3, seed=4
    )


@with_merges
def test_all_dropped_leaves_characters(kind: Kind) -> None:
    trained = tokenizer(kind)
    ids = trained.encode_batch(["The cat"], dropout=1.0)[0]

    assert trained.pieces(ids) == ["▁", "T", "h", "e", "▁", "c", "a", "t"]


def test_a_merge_is_left_out_as_often_as_asked() -> None:
    kept = sum(len(merge([0, 1], {(0, 1): (0, 2)}, 0.25, generator(seed, ""))) == 1 for seed in range(4000))

    assert abs(kept / 4000 - 0.75) < 0.03  # four standard deviations


def test_merges_go_by_rank_then_from_the_left() -> None:
    merges = {(0, 0): (1, 2), (0, 1): (0, 3), (2, 0): (2, 4)}

    assert merge([0, 0, 1], merges, 0.0, Random(0)) == [0, 3]
    assert merge([0, 0, 0], merges, 0.0, Random(0)) == [4]
    assert merge([0], merges, 0.0, Random(0)) == [0]
    assert merge([], merges, 0.0, Random(0)) == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in MERGING])
def test_kinds_without_merges_refuse(kind: Kind) -> None:
    with pytest.raises(ConfigError) as error:
        tokenizer(kind).encode_batch(["a"], dropout=0.1)

    assert str(error.value) == f'dropout leaves out merges, but a tokenizer of kind "{kind}" has none'


def test_a_long_word_takes_little_time() -> None:
    begin = time.process_time()
    tokenizer("bpe").encode_batch(["cat" * 20_000], dropout=0.5)

    assert time.process_time() - begin < 10
