"""What only the C interface offers: greedy search without scores, a search that stops at the first ends."""

import numpy as np
import pytest

from glassformer.config import DecodeConfig, ModelConfig
from glassformer.engine import LIBRARY, Answers, Engine
from glassformer.engine.packing import pack_options, pack_queries
from tests.native.test_kernels import SPECIALS, queries, random_engine

pytestmark = pytest.mark.skipif(
    not LIBRARY.is_file(), reason="the native engine is not built; run python native/build.py"
)

CONFIG = ModelConfig(vocab_size=61, d_model=32, d_ff=48, n_heads=4, max_length=48)


def ask(engine: Engine, config: DecodeConfig, **fields: int) -> Answers:
    asked = queries(24, CONFIG.vocab_size)
    batch = pack_queries(asked, [20] * len(asked), config)
    options = pack_options(config, SPECIALS)
    for name, value in fields.items():
        assert hasattr(options.structure, name)
        setattr(options.structure, name, value)
    return engine._results("gf_translate", batch, (), options, [len(query.ids) for query in asked])


def test_without_scores_greedy_search_says_the_same() -> None:
    engine, config = random_engine(CONFIG), DecodeConfig(beam=1)

    scored, bare = ask(engine, config, want_scores=1), ask(engine, config, want_scores=0)

    assert [found[0].ids for found in scored.hypotheses] == [found[0].ids for found in bare.hypotheses]
    assert all(found[0].score == 0 for found in bare.hypotheses)


@pytest.mark.parametrize("rows", [1, 7, 300])
def test_the_rows_side_by_side_change_nothing(rows: int) -> None:
    engine, config = random_engine(CONFIG), DecodeConfig(beam=4, nbest=3)

    assert ask(engine, config, batch_rows=rows).hypotheses == ask(engine, config).hypotheses


def test_a_search_that_stops_early_finds_nothing_better() -> None:
    engine, config = random_engine(CONFIG), DecodeConfig(beam=4)

    patient = ask(engine, config)
    for n in (1, 4):
        hasty = ask(engine, config, stop_after=n)
        pairs = zip(patient.hypotheses, hasty.hypotheses, strict=True)
        assert all(np.isclose(a[0].score, b[0].score) or a[0].score > b[0].score for a, b in pairs)
