"""What is handed to the library."""

import ctypes
from itertools import pairwise

import numpy as np

from glassformer.config import DecodeConfig
from glassformer.engine import Query, Specials
from glassformer.engine.abi import Batch, Options
from glassformer.engine.packing import Manner, dice, pack_options, pack_queries, ragged

SPECIALS = Specials(1, 2, 0, suppressed=(0, 1))


def rows(batch: Batch, name: str, offsets: str, n: int) -> list[list[int]]:
    places = getattr(batch, offsets)[: n + 1]
    return [getattr(batch, name)[start:end] for start, end in pairwise(places)]


def test_rows_stand_one_after_the_other() -> None:
    data, offsets = ragged([(3, 4), (), (5,)])

    assert data.tolist() == [3, 4, 5] and offsets.tolist() == [0, 2, 2, 3]
    assert ragged([])[1].tolist() == [0] == ragged([()])[1].tolist()[:1]


def test_queries_keep_all_that_is_asked() -> None:
    asked = [
        Query((5, 6, 2), prefix=(7,), forbidden=((8, 9), (4,))),
        Query((3, 2)),
        Query((4, 2), forbidden=((6,),)),
    ]
    lists = [np.array([2, 5]), np.array([2]), np.array([2, 7, 8])]
    packed = pack_queries(asked, [9, 8, 7], DecodeConfig(), lists)
    batch = packed.structure

    assert batch.size == ctypes.sizeof(Batch) and batch.n == 3
    assert rows(batch, "ids", "offsets", 3) == [[5, 6, 2], [3, 2], [4, 2]]
    assert rows(batch, "prefix", "prefix_offsets", 3) == [[7], [], []]
    assert batch.limits[:3] == [9, 8, 7]
    assert rows(batch, "shortlist", "shortlist_offsets", 3) == [[2, 5], [2], [2, 7, 8]]
    assert batch.forbidden_sequences[:4] == [0, 2, 2, 3]
    assert rows(batch, "forbidden", "forbidden_offsets", 3) == [[8, 9], [4], [6]]
    assert not batch.dice


def test_what_is_not_asked_is_not_there() -> None:
    batch = pack_queries([Query((3, 2))], [4], DecodeConfig()).structure

    assert not (batch.prefix or batch.shortlist or batch.forbidden or batch.dice)


def test_dice_are_the_ones_that_pytorch_throws() -> None:
    config = DecodeConfig(temperature=1.0, nbest=2, seed=7)
    found = dice([Query((3,), index=(0,)), Query((3,), index=(4, 1))], config)
    expected = []
    for index in ((0, 0), (0, 1), (4, 1, 0), (4, 1, 1)):
        state = np.random.default_rng((7, *index)).bit_generator.state["state"]
        expected.append((state["state"], state["inc"]))

    assert [(int(a) << 64 | int(b), int(c) << 64 | int(d)) for a, b, c, d in found] == expected


def test_options_are_told() -> None:
    config = DecodeConfig(
        beam=6, nbest=3, alpha=0.4, length_penalty="average", min_length=2, no_repeat_ngram=3
    )
    told = pack_options(config, SPECIALS, threads=2, manner=Manner(1)).structure

    assert told.size == ctypes.sizeof(Options)
    assert (told.start_id, told.end_id, told.beam, told.nbest) == (1, 2, 6, 3)
    assert (told.length_penalty, told.alpha, told.min_length, told.max_length) == (1, 0.4, 2, 0)
    assert (told.no_repeat_ngram, told.repetition_penalty, told.sampling) == (3, 1.0, 0)
    assert told.suppressed[: told.n_suppressed] == [0, 1]
    assert (told.want_alignment, told.alignment_layer, told.alignment_head, told.threads) == (1, 1, -1, 2)
    assert (told.want_scores, told.stop_after) == (1, 0)


def test_sampling_is_told() -> None:
    config = DecodeConfig(temperature=0.0, top_k=5, top_p=0.5, min_p=0.1, seed=2**64 - 1)
    told = pack_options(config, SPECIALS).structure

    assert (told.sampling, told.temperature, told.top_k, told.top_p, told.min_p) == (1, 0.0, 5, 0.5, 0.1)
    assert told.seed == 2**64 - 1
