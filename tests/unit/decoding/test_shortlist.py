"""The lexical shortlist: few tokens, the same search."""

import numpy as np
import pytest
import torch

from glassformer.config import DecodeConfig
from glassformer.decoding.generation import Decoder
from glassformer.decoding.hypothesis import Query
from glassformer.decoding.shortlist import Shortlist
from glassformer.decoding.step import Stepper
from glassformer.errors import CheckpointError
from tests.unit.decoding.toys import END, SPECIALS, queries, toy

PAIRS = [(4, 5), (4, 5), (4, 6), (4, 7), (4, 7), (4, 7), (5, 8), (6, 9), (6, 9), (6, 9), (6, 9)]
EVERYTHING = [(source, target) for source in range(17) for target in range(17)]


def test_partners_are_those_seen_most_often() -> None:
    found = Shortlist.build(PAIRS, 17, per_source=2, frequent=1)

    assert found.candidates([4]).tolist() == [5, 7, 9]  # 9 is the most frequent of all
    assert found.candidates([5, 5]).tolist() == [8, 9]
    assert found.candidates([3]).tolist() == [9]
    assert Shortlist.build([], 17).candidates([4]).tolist() == []


def test_a_list_of_everything_changes_nothing() -> None:
    model, asked = toy(), queries([3, 6])
    whole = Shortlist.build(EVERYTHING, 17, per_source=17)
    plain = Decoder((model,), SPECIALS).decode(asked, DecodeConfig(max_length=6))
    listed = Decoder((model,), SPECIALS, whole).decode(asked, DecodeConfig(max_length=6))

    assert [found[0].ids for found in listed] == [found[0].ids for found in plain]
    assert [found[0].score for found in listed] == pytest.approx([found[0].score for found in plain])


def test_probabilities_are_over_the_list_of_each_input_alone() -> None:
    model = toy()
    short = Shortlist.build(PAIRS, 17, per_source=2, frequent=1)
    asked = [Query((4,)), Query((5, 6))]
    stepper = Stepper([model], SPECIALS, shortlist=short)
    found = stepper.log_probabilities(stepper.start(asked))
    plain = Stepper([model], SPECIALS)
    full = plain.log_probabilities(plain.start(asked))

    for row, whole, listed in zip(found, full, ([END, 5, 7, 9], [END, 8, 9]), strict=True):
        assert (~row.isneginf()).nonzero()[:, 0].tolist() == listed
        assert torch.allclose(row[listed], whole[listed].log_softmax(-1), atol=1e-5)


def test_neighbours_do_not_lengthen_a_list() -> None:
    searcher = Decoder((toy(),), SPECIALS, Shortlist.build(PAIRS, 17, per_source=2, frequent=1))
    asked = [Query((4, 5)), Query((6,)), Query((5, 3, 4))]
    config = DecodeConfig(beam=3, nbest=2, max_length=5)
    for query, found in zip(asked, searcher.decode(asked, config), strict=True):
        (alone,) = searcher.decode([query], config)

        assert [each.ids for each in found] == [each.ids for each in alone]


def test_what_is_demanded_is_on_the_list() -> None:
    searcher = Decoder((toy(),), SPECIALS, Shortlist.build(PAIRS, 17, per_source=2, frequent=1))
    ((found,),) = searcher.decode(
        [Query((5,), prefix=(11,), required=((12, 13),))], DecodeConfig(max_length=6)
    )

    assert found.ids[0] == 11
    assert (12, 13) in zip(found.ids, found.ids[1:], strict=False)


def test_a_file_gives_back_what_was_saved() -> None:
    found = Shortlist.build(PAIRS, 17, per_source=2)
    again = Shortlist.from_bytes(found.to_bytes(), "list", 17, 17)

    assert again.candidates([4, 6]).tolist() == found.candidates([4, 6]).tolist()
    assert again.to_bytes() == found.to_bytes()


ODD = {
    "an offset behind the end": Shortlist(np.array([0, 9]), np.array([4]), np.array([5])),
    "offsets that fall": Shortlist(np.array([1, 0]), np.array([4]), np.array([5])),
    "an id outside the vocabulary": Shortlist(np.array([0, 1]), np.array([17]), np.array([5])),
    "another number of sources": Shortlist(np.array([0, 1, 1]), np.array([4]), np.array([5])),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_does_not_fit_is_refused(odd: str) -> None:
    with pytest.raises(CheckpointError, match=r"^list: the arrays of this shortlist fit neither"):
        Shortlist.from_bytes(ODD[odd].to_bytes(), "list", 1, 17)


def test_what_is_no_list_is_refused() -> None:
    for junk in (b"", b"junk", b"\xff" * 100):
        with pytest.raises(CheckpointError, match=r"^list: no shortlist"):
            Shortlist.from_bytes(junk, "list", 1, 17)
