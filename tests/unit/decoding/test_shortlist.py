"""The lexical shortlist: few tokens, the same search."""

from pathlib import Path

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


def test_a_file_gives_back_what_was_saved(tmp_path: Path) -> None:
    found = Shortlist.build(PAIRS, 17, per_source=2)
    found.save(tmp_path / "list.safetensors")
    again = Shortlist.load(tmp_path / "list.safetensors")

    assert again.candidates([4, 6]).tolist() == found.candidates([4, 6]).tolist()
    found.save(tmp_path / "twice.safetensors")
    assert (tmp_path / "twice.safetensors").read_bytes() == (tmp_path / "list.safetensors").read_bytes()


def test_what_is_no_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="there is no such file"):
        Shortlist.load(tmp_path / "nowhere.safetensors")
    (tmp_path / "junk.safetensors").write_bytes(b"junk")
    with pytest.raises(CheckpointError, match="no shortlist"):
        Shortlist.load(tmp_path / "junk.safetensors")
    Shortlist(np.array([0, 9]), np.array([4]), np.array([5])).save(tmp_path / "odd.safetensors")
    with pytest.raises(CheckpointError, match="do not fit together"):
        Shortlist.load(tmp_path / "odd.safetensors")
