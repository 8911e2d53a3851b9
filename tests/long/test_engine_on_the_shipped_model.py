"""The shipped model on real text: the float32 engine says what PyTorch says, int8 is as good."""

import gzip
from pathlib import Path

import pytest

from glassformer.decoding import Translator
from glassformer.decoding.pretrained import shipped_model
from glassformer.errors import CheckpointError
from glassformer.evaluation.scores import text_scores
from tests.engine.native import ROOT, every_kernel, needs_library

DATA = ROOT.parent / "shared" / "data" / "multi30k"
NEAR = 1e-4


def _shipped() -> Path | None:
    try:
        return shipped_model()
    except CheckpointError:
        return None


pytestmark = [
    pytest.mark.long,
    needs_library,
    pytest.mark.skipif(not DATA.is_dir(), reason="the sentences of Multi30k are not here"),
    pytest.mark.skipif(_shipped() is None, reason="no model comes with this installation"),
]


def lines(language: str) -> list[str]:
    with gzip.open(DATA / f"test_2016_flickr.{language}.gz", "rt", encoding="utf-8") as file:
        return file.read().splitlines()


@pytest.mark.parametrize("beam", [1, 4])
def test_float32_says_what_pytorch_says(beam: int) -> None:
    """500 of 500; near-ties are listed."""
    texts = lines("en")[:500]
    native = Translator.from_pretrained(engine="native", precision="float32").translate(texts, beam=beam)
    pytorch = Translator.from_pretrained(engine="pytorch").translate(texts, beam=beam)
    ties = []
    for i, (a, b) in enumerate(zip(native, pytorch, strict=True)):
        assert a.score is not None and b.score is not None
        assert abs(a.score - b.score) <= NEAR
        if [token.id for token in a.tokens] != [token.id for token in b.tokens]:
            ties.append((i, a.score, b.score))
    print(f"beam {beam}: {500 - len(ties)} of 500 equal; near-ties {ties}")

    assert len(ties) <= 2


@pytest.mark.parametrize("beam", [1, 4])
def test_int8_is_as_good(beam: int) -> None:
    """BLEU within 0.2 on a thousand sentences."""
    texts, references = lines("en"), [[line] for line in lines("fr")]
    found = {}
    for precision in ("float32", "int8"):
        model = Translator.from_pretrained(engine="native", precision=precision)
        outputs = [each.text for each in model.translate(texts, beam=beam)]
        found[precision] = text_scores(outputs, references).bleu.value
    print(f"beam {beam}: {found}")

    assert abs(found["float32"] - found["int8"]) <= 0.2


@every_kernel
def test_every_kernel_gives_the_same_int8(kernel: str) -> None:
    """Integers do not round: whatever the CPU, the same model says the same."""
    from glassformer.checkpoint import open_model
    from glassformer.config import DecodeConfig
    from glassformer.decoding.hypothesis import Query
    from glassformer.engine import Engine

    model = Translator.from_pretrained()
    queries = [Query(ids) for ids in model.framing.sources(lines("en")[:40])]
    limits = [60] * len(queries)
    with open_model(shipped_model()) as files:
        own = Engine.load(files, "int8", kernels=kernel)
    with open_model(shipped_model()) as files:
        portable = Engine.load(files, "int8", kernels="portable")
    config = DecodeConfig(beam=4)
    found = own.decode(queries, limits, config, model.specials).hypotheses
    expected = portable.decode(queries, limits, config, model.specials).hypotheses

    assert [each[0].ids for each in found] == [each[0].ids for each in expected]
