"""The shipped model on real text: the float32 engine says what PyTorch says, and int8 is as good.

Neither lets the batch change an answer (P9), nor says of an output what scoring does not say (P10).
"""

import gzip
import random
from pathlib import Path
from typing import Literal

import pytest

from glassformer.checkpoint import open_model
from glassformer.config import DecodeConfig
from glassformer.decoding import Translator
from glassformer.decoding.hypothesis import Query
from glassformer.decoding.pretrained import shipped_model
from glassformer.engine import Engine, Given
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


PRECISIONS = pytest.mark.parametrize("precision", ["float32", "int8"])
SEARCHES = pytest.mark.parametrize("beam", [1, 5])


def asked(n: int) -> list[Query]:
    """Captions, every tenth of them three in one: lengths differ much."""
    texts = lines("en")
    joined = [" ".join(texts[i : i + (3 if i % 10 == 0 else 1)]) for i in range(n)]
    return [Query(ids) for ids in Translator.from_pretrained().framing.sources(joined)]


def engine(precision: Literal["float32", "int8"], threads: int = 1) -> Engine:
    with open_model(shipped_model()) as files:
        return Engine.load(files, precision, threads=threads)


@PRECISIONS
@SEARCHES
def test_neither_batch_order_nor_threads_change_an_answer(
    precision: Literal["float32", "int8"], beam: int
) -> None:
    """500 of 500, to the last bit."""
    queries, config = asked(500), DecodeConfig(beam=beam)
    specials = Translator.from_pretrained().specials
    limits = [len(query.ids) + 50 for query in queries]

    def decoded(model: Engine, places: list[int], size: int) -> dict[int, object]:
        found: dict[int, object] = {}
        for at in range(0, len(places), size):
            part = places[at : at + size]
            batch, most = [queries[i] for i in part], [limits[i] for i in part]
            found |= zip(part, model.decode(batch, most, config, specials).hypotheses, strict=True)
        return found

    in_order = list(range(len(queries)))
    shuffled = random.Random(1).sample(in_order, len(in_order))
    one = engine(precision)
    alone = decoded(one, in_order, 1)
    for size in (2, 7, 32, 128):
        assert decoded(one, shuffled, size) == alone
    assert decoded(engine(precision, threads=2), shuffled, 128) == alone


@PRECISIONS
@SEARCHES
@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_what_decoding_says_is_what_scoring_says(
    precision: Literal["float32", "int8"], beam: int, alpha: float
) -> None:
    """500 of 500, with and without length penalty; int8 quantises the same rows in both."""
    queries, config = asked(500), DecodeConfig(beam=beam, alpha=alpha)
    specials, model = Translator.from_pretrained().specials, engine(precision)
    limits = [len(query.ids) + 50 for query in queries]
    found = [each[0] for each in model.decode(queries, limits, config, specials).hypotheses]
    given = [Given(query.ids, each.ids, each.finished) for query, each in zip(queries, found, strict=True)]
    scored, _ = model.score(given, specials)
    far = [
        abs(x - y)
        for a, b in zip(found, scored, strict=True)
        for x, y in zip(a.token_log_probabilities, b.token_log_probabilities, strict=True)
    ]
    print(f"{precision}, beam {beam}, alpha {alpha}: a token differs by at most {max(far):.1e}")

    assert max(far) <= 1e-5
