"""Imported tokenizers give the ids of transformers, and read back what they wrote."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.errors import InputError
from glassformer.interop import import_hugging_face
from glassformer.text import Tokenizer
from glassformer.text.imported import ImportedTokenizer
from tests.support.foreign_tokenizers import MAKERS, SAMPLE, STRANGE, marian

pytest.importorskip("transformers", reason="the originals are those of transformers")
pytest.importorskip("sentencepiece", reason="it trains the vocabularies")

Maker = Callable[[Path], Any]
Made = tuple[str, ImportedTokenizer, Any]
FRAMED = (
    "marian",
    "marian_separate",
    "t5",
    "t5_fast",
    "pegasus",
    "mbart",
    "bert",
    "bert_fast",
    "bart",
    "llama3",
)


@pytest.fixture(scope="module", params=MAKERS, ids=lambda make: make.__name__)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A tokenizer of ours, and the original."""
    make: Maker = request.param
    folder = tmp_path_factory.mktemp(make.__name__)
    theirs = make(folder)
    return make.__name__, import_hugging_face(folder).tokenizer, theirs


def test_ids_are_those_of_transformers(made: Made) -> None:
    name, ours, theirs = made
    framed = name in FRAMED
    for text in SAMPLE + STRANGE:
        ids = ours.encode_source([text])[0]
        around = [*ours.source_before, *ids, *ours.source_after] if framed else ids

        assert around == theirs(text, add_special_tokens=framed)["input_ids"], text


def test_a_saved_tokenizer_is_the_same(made: Made) -> None:
    _, ours, _ = made
    again = Tokenizer.from_json(ours.to_json())

    assert again.to_json() == ours.to_json()
    assert again.encode_batch(SAMPLE) == ours.encode_batch(SAMPLE)
    assert again.encode_source(SAMPLE) == ours.encode_source(SAMPLE)
    assert (again.bos_id, again.eos_id, again.pad_id) == (ours.bos_id, ours.eos_id, ours.pad_id)


def test_no_text_gives_a_special_id(made: Made) -> None:
    _, ours, _ = made
    silent, other = (set(side.control_ids) - {side.unk_id} for side in (ours, ours.source))
    for i in silent:
        text = ours.imported.pieces[i]

        assert not silent & set(ours.encode(text)), text
        assert not other & set(ours.encode_source([f"a {text}{text} b"])[0]), text


def test_plain_text_comes_back(made: Made) -> None:
    _, ours, _ = made
    text = "low lower lowest new newer newest"

    assert ours.decode(ours.encode(text)) == text
    stream = ours.stream()
    assert "".join([*map(stream.feed, ours.encode(text)), stream.finish()]) == text
    assert ours.offsets(ours.encode(text))[-1][1] == len(text)


def test_half_a_character_is_refused(made: Made) -> None:
    with pytest.raises(InputError, match="lone surrogate"):
        made[1].encode("half \ud800 character")


def test_targets_of_marian_are_cut_by_their_own_model(tmp_path: Path) -> None:
    theirs = marian(tmp_path)
    ours = import_hugging_face(tmp_path).tokenizer

    assert (ours.kind, ours.source.kind, ours.languages) == ("bpe", "unigram", ("fra",))
    for text in SAMPLE:
        expected = theirs(text_target=text)["input_ids"]
        assert [*ours.encode_target([text])[0], ours.eos_id] == expected, text
        assert ours.decode(expected).split() == theirs.decode(expected, skip_special_tokens=True).split()
