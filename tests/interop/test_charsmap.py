"""The replacement table of a SentencePiece model: whatever passes the check cannot send a reader astray."""

import json
from pathlib import Path

import numpy as np
import pytest

from glassformer.interop.sentencepiece_model import library_table, parse
from glassformer.text.charsmap import is_sound
from glassformer.text.imported import build_vocabulary
from tests.support.foreign_tokenizers import SAMPLE, train_sentencepiece

pytest.importorskip("sentencepiece", reason="it writes the tables")


@pytest.fixture(scope="module")
def spm(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("spm") / "a.model"
    train_sentencepiece(path)
    return path.read_bytes()


def test_the_customary_table_is_sound(spm: bytes) -> None:
    table = parse(spm, "a").charsmap

    assert len(table) > 100_000 and is_sound(table)


def test_whatever_passes_can_be_walked(spm: bytes) -> None:
    """Random changes: most are refused, and no text makes a reader of the rest fail."""
    from tokenizers import normalizers

    table = parse(spm, "a").charsmap
    random = np.random.default_rng(5)
    refused = 0
    for _ in range(40):
        damaged = bytearray(table)
        size = int.from_bytes(table[:4], "little")
        for at in random.integers(4, 4 + size, 200):
            damaged[at] = random.integers(256)
        if is_sound(bytes(damaged)):
            normalizer = normalizers.Precompiled(bytes(damaged))
            for text in SAMPLE:
                normalizer.normalize_str(text)
        else:
            refused += 1

    assert refused > 0


@pytest.mark.parametrize(
    "table", [b"", b"\0\0\0\0", b"\x04\0\0\0\0\0\0\0", b"\xff" * 64, b"\x08\0\0\0" + b"\0" * 8 + b"a"]
)
def test_fragments_are_refused(table: bytes) -> None:
    assert not is_sound(table)


def test_scores_and_types_are_read(spm: bytes, tmp_path: Path) -> None:
    import sentencepiece

    model = parse(spm, "a")
    (tmp_path / "a.model").write_bytes(spm)
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "a.model"))
    size = theirs.get_piece_size()

    assert list(model.pieces) == [theirs.id_to_piece(i) for i in range(size)]
    assert list(model.scores) == [theirs.get_score(i) for i in range(size)]
    assert theirs.unk_id() == model.unknown
    assert build_vocabulary(json.loads(json.dumps(library_table(model))), {0}).kind == "unigram"
