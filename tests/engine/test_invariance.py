"""What a sentence gets from the engine depends on that sentence alone, to the last bit (P9, P10)."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from glassformer.config import DecodeConfig
from glassformer.decoding.hypothesis import Query
from glassformer.decoding.targets import Target
from glassformer.engine import Full
from tests.engine.native import every_kernel, native_of, needs_library
from tests.unit.decoding.toys import FAMILIES, SPECIALS, decoder, ending, queries

pytestmark = needs_library

WAYS = {
    "greedy": DecodeConfig(beam=1, max_length=8),
    "beam": DecodeConfig(beam=5, nbest=3, max_length=8),
    "less repetition": DecodeConfig(repetition_penalty=1.3, no_repeat_ngram=2, max_length=8),
    "sampling": DecodeConfig(temperature=0.9, top_p=0.9, nbest=2, seed=3, max_length=8),
}
N = 64


def sentences(n: int = N) -> list[Query]:
    lengths = random.Random(0)
    return queries(lengths.randint(1, 20) for _ in range(n))


@every_kernel
@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("way", WAYS)
def test_the_batch_does_not_change_the_answer(kernel: str, precision: str, family: str, way: str) -> None:
    native = native_of(ending(family, seed=1, wish=0.5), kernel, precision=precision)
    asked, config = sentences(), WAYS[way]
    alone = [native.decode([query], config)[0] for query in asked]
    order = random.Random(1).sample(range(N), N)
    for size in (2, 7, N):
        for at in range(0, N, size):
            places = order[at : at + size]

            assert native.decode([asked[i] for i in places], config) == [alone[i] for i in places]


@every_kernel
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_threads_do_not_change_the_answer(kernel: str, precision: str) -> None:
    pytorch, config = ending(seed=1, wish=0.5), WAYS["beam"]
    one = native_of(pytorch, kernel, precision=precision, threads=1)
    three = native_of(pytorch, kernel, precision=precision, threads=3)

    asked = sentences()

    assert one.decode(asked, config) == three.decode(asked, config)


def test_helpers_do_not_change_the_answer() -> None:
    """One sentence, and weights so large that idle threads help to fetch them."""
    large = decoder(d_model=512, d_ff=8192, n_encoder_layers=2, n_decoder_layers=2)
    for precision in ("float32", "int8"):
        native = native_of(large, precision=precision, threads=1)
        for query in sentences(3):
            native.engine.threads = 1
            expected = [native.decode([query], config) for config in WAYS.values()]
            native.engine.threads = 3

            assert [native.decode([query], config) for config in WAYS.values()] == expected


@every_kernel
@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("way", WAYS)
def test_a_score_is_what_scoring_gives(kernel: str, precision: str, family: str, way: str) -> None:
    native = native_of(ending(family, seed=1, wish=0.5), kernel, precision=precision)
    asked = sentences(32)
    near = 1e-5 if precision == "float32" else 1e-4
    for query, found in zip(asked, native.decode(asked, WAYS[way]), strict=True):
        targets = [Target(query.ids, each.ids, each.finished, each.n_forced) for each in found]
        for each, score in zip(found, native.score(targets), strict=True):
            pairs = zip(each.token_log_probabilities, score.token_log_probabilities, strict=True)

            assert all(abs(a - b) <= near for a, b in pairs)
            assert abs(each.log_probability - score.log_probability) <= near * max(1, each.length)


def test_beam_one_is_greedy_and_cold_sampling() -> None:
    native = native_of(ending(seed=1, wish=0.5))
    asked = sentences()
    greedy = native.decode(asked, WAYS["greedy"])
    cold = native.decode(asked, DecodeConfig(temperature=0.0, max_length=8))

    assert [found[0].ids for found in greedy] == [found[0].ids for found in cold]


def test_threads_share_an_engine() -> None:
    native, config = native_of(ending(seed=1, wish=0.5)), WAYS["beam"]
    asked = sentences()
    expected = native.decode(asked, config)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda query: native.decode([query], config)[0], asked))

    assert found == expected


def test_sentences_come_and_go() -> None:
    """Continuous batching: whoever joins late, or leaves, changes nothing for the others."""
    native, config = native_of(ending(seed=1, wish=0.5)), WAYS["beam"]
    asked = sentences(24)
    expected = native.decode(asked, config)
    session = native.engine.session(max_rows=3 * config.beam)
    waiting, slots, found, dropped = list(range(24)), dict[int, int](), dict[int, object](), 0
    while waiting or slots:
        while waiting:
            i = waiting[0]
            try:
                slot = session.add(asked[i], native.limit(asked[i], config), config, SPECIALS)
            except Full:
                break
            slots[slot] = waiting.pop(0)
            if i % 7 == 3:  # somebody hangs up
                session.remove(slot)
                del slots[slot]
                dropped += 1
        for slot in session.step():
            found[slots.pop(slot)] = session.results(slot)
            session.remove(slot)
    session.close()

    assert dropped == 3 and found == {i: expected[i] for i in range(24) if i % 7 != 3}
