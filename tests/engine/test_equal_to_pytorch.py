"""The float32 engine is PyTorch's twin: the same tokens, the same scores, whatever is asked.

Random models have near-ties more often than trained ones. Where two results differ, both must be what PyTorch
itself thinks equally good; such sentences are counted and listed.
"""

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from glassformer.config import DecodeConfig
from glassformer.decoding.alignment import Reading, token_weights
from glassformer.decoding.attending import cross_attention
from glassformer.decoding.generation import Decoder
from glassformer.decoding.hypothesis import Hypothesis, Query
from glassformer.decoding.native import NativeDecoder
from glassformer.decoding.scoring import score_targets
from glassformer.decoding.shortlist import Shortlist
from glassformer.decoding.targets import Target
from glassformer.nn import EncoderDecoder
from tests.engine.native import every_kernel, native_of, needs_library
from tests.support.models import POSITIONS
from tests.unit.decoding.toys import FAMILIES, SPECIALS, decoder, ending, queries

pytestmark = needs_library

NEAR = 1e-4
WAYS = {
    "greedy": DecodeConfig(beam=1, max_length=8),
    "beam": DecodeConfig(beam=5, nbest=3, max_length=8),
    "wide beam": DecodeConfig(beam=12, nbest=12, max_length=6),
    "average": DecodeConfig(beam=4, alpha=1.0, length_penalty="average", max_length=8),
    "no penalty": DecodeConfig(beam=4, alpha=0.0, max_length=8),
    "reward of length": DecodeConfig(beam=4, alpha=-1.0, max_length=8),
    "least length": DecodeConfig(beam=3, min_length=4, max_length=8),
    "no repetition": DecodeConfig(beam=4, no_repeat_ngram=2, max_length=8),
    "less repetition": DecodeConfig(beam=4, repetition_penalty=1.3, max_length=8),
    "of the input's length": DecodeConfig(beam=4, max_extra=2),
    "sampling": DecodeConfig(temperature=0.9, nbest=2, seed=3, max_length=8),
    "sampling of few": DecodeConfig(temperature=1.2, top_k=4, top_p=0.8, min_p=0.05, nbest=3, max_length=8),
    "sampling the best": DecodeConfig(temperature=0.0, max_length=8),
}
SWITCHES: dict[str, dict[str, object]] = {
    "paper": {},
    "pre": {"norm": "pre", "activation": "gelu"},
    "sandwich": {"norm": "sandwich", "norm_kind": "rms", "activation": "silu", "gated": True},
    "without biases": {"bias": False, "activation": "gelu-tanh", "gated": True},
    "untied": {"tying": "none", "output_bias": True, "embedding_norm": True, "scale_embedding": False},
    "grouped heads": {"n_kv_heads": 2, "d_k": 6, "d_v": 10},
    "odd sizes": {"d_model": 18, "d_ff": 25, "n_heads": 3, "d_k": 4, "d_v": 5, "vocab_size": 37},
    "unequal depth": {"n_encoder_layers": 3, "n_decoder_layers": 1},
}


def sentences(n: int) -> list[Query]:
    lengths = random.Random(0)
    return queries(lengths.randint(1, 20) for _ in range(n))


def equal(found: Sequence[Hypothesis], expected: Sequence[Hypothesis]) -> bool:
    """The same hypotheses, with the same numbers."""
    if [each.ids for each in found] != [each.ids for each in expected]:
        return False
    for a, b in zip(found, expected, strict=True):
        assert (a.finished, a.n_forced) == (b.finished, b.n_forced)
        assert abs(a.score - b.score) <= NEAR and abs(a.log_probability - b.log_probability) <= NEAR
        assert np.allclose(a.token_log_probabilities, b.token_log_probabilities, rtol=0, atol=NEAR)
    return True


def near_ties(
    native: NativeDecoder, pytorch: Decoder, asked: Sequence[Query], config: DecodeConfig
) -> list[tuple[int, list[Hypothesis], list[Hypothesis]]]:
    """The queries whose results differ though nothing but rounding does."""
    found, expected = native.decode(asked, config), pytorch.decode(asked, config)
    ties = [(i, a, b) for i, (a, b) in enumerate(zip(found, expected, strict=True)) if not equal(a, b)]
    for _, a, b in ties:
        assert len(a) == len(b)
        if not config.sampling:
            assert all(abs(x.score - y.score) <= NEAR for x, y in zip(a, b, strict=True))
    return ties


@every_kernel
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("way", WAYS)
def test_whatever_is_asked(kernel: str, family: str, way: str) -> None:
    pytorch = ending(family, seed=1, wish=0.5)
    ties = near_ties(native_of(pytorch, kernel), pytorch, sentences(40), WAYS[way])
    print(f"{kernel}, {family}, {way}: near-ties {[i for i, *_ in ties]}")

    assert len(ties) <= 1


@every_kernel
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("positions", POSITIONS)
def test_whatever_the_positions(kernel: str, family: str, positions: str) -> None:
    pytorch = decoder(family, seed=2, positions=positions)
    ties = near_ties(native_of(pytorch, kernel), pytorch, sentences(16), DecodeConfig(max_length=20))

    assert len(ties) <= 1


@every_kernel
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("switch", SWITCHES)
def test_whatever_the_architecture(kernel: str, family: str, switch: str) -> None:
    pytorch = decoder(family, seed=3, **SWITCHES[switch])
    ties = near_ties(native_of(pytorch, kernel), pytorch, sentences(16), DecodeConfig(max_length=12))

    assert len(ties) <= 1


@every_kernel
def test_two_vocabularies(kernel: str) -> None:
    pytorch = decoder(source_vocab_size=29, tying="two-way")
    asked = [Query((28, 20, 2)), Query((27, 3, 19, 25, 2))]

    assert near_ties(native_of(pytorch, kernel), pytorch, asked, DecodeConfig(max_length=9)) == []


@every_kernel
@pytest.mark.parametrize("beam", [1, 4])
def test_five_hundred_sentences(kernel: str, beam: int) -> None:
    """P9's number; near-ties are listed."""
    pytorch = ending(seed=4, wish=0.7)
    ties = near_ties(
        native_of(pytorch, kernel), pytorch, sentences(500), DecodeConfig(beam=beam, max_length=12)
    )
    print(f"{kernel}, beam {beam}: {500 - len(ties)} of 500 equal; near-ties {[i for i, *_ in ties]}")

    assert len(ties) <= 2


@every_kernel
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("way", ["greedy", "beam", "sampling"])
def test_prefixes_and_forbidden_sequences(kernel: str, family: str, way: str) -> None:
    pytorch = ending(family, seed=5, wish=0.5)
    dice = random.Random(5)
    asked = [
        Query(
            query.ids,
            prefix=tuple(dice.randint(3, 16) for _ in range(dice.randint(0, 3))),
            forbidden=tuple(
                tuple(dice.randint(3, 16) for _ in range(dice.randint(1, 2)))
                for _ in range(dice.randint(0, 4))
            ),
            index=query.index,
        )
        for query in sentences(40)
    ]
    ties = near_ties(native_of(pytorch, kernel), pytorch, asked, WAYS[way])

    assert len(ties) <= 1


@every_kernel
def test_when_everything_is_forbidden(kernel: str) -> None:
    pytorch = decoder(seed=6)
    asked = [Query((4, 5, 2), forbidden=tuple((token,) for token in range(17)))]
    native = native_of(pytorch, kernel)
    for config in (DecodeConfig(beam=1), DecodeConfig(beam=3), DecodeConfig(temperature=1.0)):
        (found,), (expected,) = native.decode(asked, config), pytorch.decode(asked, config)

        assert equal(found, expected)


@every_kernel
@pytest.mark.parametrize("family", FAMILIES)
def test_scores_of_given_outputs(kernel: str, family: str) -> None:
    pytorch = ending(family, seed=7)
    dice = random.Random(7)
    targets = [
        Target(
            query.ids, tuple(dice.randint(3, 16) for _ in range(dice.randint(0, 9))), dice.random() < 0.7, 0
        )
        for query in sentences(40)
    ]
    found = native_of(pytorch, kernel).score(targets)
    expected = score_targets(pytorch.models, targets, SPECIALS)

    for a, b in zip(found, expected, strict=True):
        assert np.allclose(a.token_log_probabilities, b.token_log_probabilities, rtol=0, atol=1e-5)


@every_kernel
@pytest.mark.parametrize("fed", [False, True])
def test_attention_to_the_source(kernel: str, fed: bool) -> None:
    pytorch = decoder(seed=8)
    model = pytorch.models[0]
    assert isinstance(model, EncoderDecoder)
    targets = [Target((4, 5, 6, 2), (7, 8)), Target((9, 2), (3, 4, 5)), Target((9, 3, 2), ())]
    every = cross_attention(model, targets, SPECIALS)
    for layer in range(2):
        reading = Reading(layer, fed)
        found = native_of(pytorch, kernel).attention(targets, reading)

        for a, b in zip(found, every, strict=True):
            assert np.allclose(a, token_weights(b, reading), rtol=0, atol=1e-5)


@every_kernel
def test_a_shortlist(kernel: str) -> None:
    pairs = [(source, target) for source in range(3, 17) for target in range(3, 17) if (source * target) % 3]
    listed = Shortlist.build(pairs, 17, per_source=3, frequent=4)
    plain = ending(seed=9)
    pytorch = Decoder(plain.models, SPECIALS, listed)
    ties = near_ties(native_of(pytorch, kernel), pytorch, sentences(40), DecodeConfig(max_length=8))

    assert len(ties) <= 1


@every_kernel
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("way", ["greedy", "beam", "sampling", "no repetition"])
def test_steps_end_where_one_call_does(kernel: str, family: str, way: str) -> None:
    """And at each step, what is certain is what the result will begin with."""
    native = native_of(ending(family, seed=1, wish=0.5), kernel)
    asked, config = sentences(12), WAYS[way]
    run = native.begin(asked, config)
    told: list[list[tuple[int, ...]]] = [[] for _ in asked]
    while not run.done:
        run.step()
        for i, beginnings in enumerate(told):
            beginnings.append(run.certain(i).ids)
    results = run.results()
    run.close()

    assert results == native.decode(asked, config)
    if not config.sampling:  # a sampling shows its first sample, which need not be the best
        for beginnings, found in zip(told, results, strict=True):
            assert all(found[0].ids[: len(ids)] == ids for ids in beginnings)


def test_penalties_are_finite_at_the_limits() -> None:
    pytorch = decoder(seed=10)
    config = DecodeConfig(beam=2, max_length=1)
    (found,) = native_of(pytorch).decode([Query((4, 2))], config)

    assert len(found[0].token_log_probabilities) == 1 and math.isfinite(found[0].score)
