"""Random models and questions for the native engine, without torch, so that sanitizers can watch.

    python -m tests.engine.fuzz SEED CASES [LIBRARY]

Every case is a function of the seed and its number. Ends with a message, or with the case that went wrong.
"""

import random
import sys
from pathlib import Path
from typing import Literal

import numpy as np

from glassformer.config import DecodeConfig, ModelConfig
from glassformer.engine import Engine, Full, Given, Manner, NotNative, Query, Specials, kernels, library
from glassformer.engine.parameters import parameter_shapes
from glassformer.errors import InputError

REFUSED = (InputError, NotNative, MemoryError)


def random_config(dice: random.Random) -> ModelConfig:
    """An architecture with any of the switches, of odd sizes."""
    n_kv_heads = dice.choice([1, 2])
    n_heads = n_kv_heads * dice.choice([1, 2, 3])
    return ModelConfig(
        family=dice.choice(["encoder-decoder", "decoder-only"]),
        vocab_size=dice.choice([4, 17, 33, 130, 600]),
        max_length=dice.choice([8, 24, 70]),
        d_model=2 * dice.randint(1, 40),
        d_ff=dice.randint(1, 90),
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_k=2 * dice.randint(1, 10),
        d_v=dice.randint(1, 20),
        n_encoder_layers=dice.randint(1, 3),
        n_decoder_layers=dice.randint(1, 3),
        positions=dice.choice(["sinusoidal", "learned", "rotary", "alibi", "relative", "none"]),
        relative_buckets=dice.choice([4, 8]),
        relative_max_distance=dice.choice([9, 20]),
        norm=dice.choice(["post", "pre", "sandwich"]),
        norm_kind=dice.choice(["layer", "rms"]),
        embedding_norm=dice.random() < 0.3,
        activation=dice.choice(["relu", "gelu", "gelu-tanh", "silu"]),
        gated=dice.random() < 0.4,
        bias=dice.random() < 0.7,
        output_bias=dice.random() < 0.5,
        tying=dice.choice(["three-way", "two-way", "none"]),
        scale_embedding=dice.random() < 0.5,
    )


def random_engine(dice: random.Random, threads: int) -> Engine:
    """A model of random numbers, sometimes far too large ones, in any precision on any kernels."""
    config = random_config(dice)
    numbers = np.random.default_rng(dice.getrandbits(32))
    size = dice.choice([0.0, 0.3, 0.3, 1.0, 1e4])
    parameters = {
        name: (numbers.standard_normal(shape) * size).astype(np.float32)
        for name, shape in parameter_shapes(config).items()
    }
    precision: Literal["float32", "int8"] = dice.choice(["float32", "int8"])
    return Engine(
        config, parameters, precision, kernels=dice.choice(kernels.usable_kernels()), threads=threads
    )


def random_ids(dice: random.Random, vocabulary: int, most: int, least: int = 0) -> tuple[int, ...]:
    """Any tokens."""
    return tuple(dice.randrange(vocabulary) for _ in range(dice.randint(least, most)))


def random_query(dice: random.Random, config: ModelConfig, index: int) -> Query:
    """Anything that may be asked."""
    room = config.max_length // 2
    return Query(
        random_ids(
            dice, config.n_source_ids if config.family == "encoder-decoder" else config.vocab_size, room, 1
        ),
        prefix=random_ids(dice, config.vocab_size, 2) if dice.random() < 0.3 else (),
        forbidden=tuple(random_ids(dice, config.vocab_size, 3, 1) for _ in range(dice.choice([0, 0, 1, 4]))),
        index=(index,),
    )


def random_decode(dice: random.Random) -> DecodeConfig:
    """A way to search, or to draw."""
    if dice.random() < 0.3:
        return DecodeConfig(
            temperature=dice.choice([0.0, 0.3, 1.0, 2.0]),
            nbest=dice.randint(1, 3),
            top_k=dice.choice([0, 1, 5, 1000]),
            top_p=dice.choice([1.0, 0.9, 1e-6]),
            min_p=dice.choice([0.0, 0.1, 1.0]),
            seed=dice.getrandbits(64),
            no_repeat_ngram=dice.choice([0, 1, 3]),
        )
    beam = dice.choice([1, 2, 4, 7, 40])
    return DecodeConfig(
        beam=beam,
        nbest=dice.randint(1, beam),
        alpha=dice.choice([0.0, 0.6, 1.0, -1.0, 5.0]),
        length_penalty=dice.choice(["gnmt", "average"]),
        min_length=dice.choice([0, 0, 3]),
        no_repeat_ngram=dice.choice([0, 0, 1, 3]),
        repetition_penalty=dice.choice([1.0, 1.0, 1.5]),
    )


def case(seed: int, number: int, threads: int = 2) -> None:
    """One model and some questions; raises where a promise is broken."""
    dice = random.Random(seed * 1_000_003 + number)
    engine = random_engine(dice, threads)
    config = engine.config
    specials = Specials(
        dice.randrange(config.vocab_size),
        dice.randrange(config.vocab_size),
        0,
        tuple(sorted({dice.randrange(config.vocab_size) for _ in range(dice.choice([0, 1, 3]))})),
    )
    for _ in range(3):
        decode = random_decode(dice)
        queries = [random_query(dice, config, i) for i in range(dice.randint(1, 9))]
        limits = [dice.randint(1, config.max_length) for _ in queries]
        lists = None
        if dice.random() < 0.3:
            lists = [np.array(sorted(set(random_ids(dice, config.vocab_size, 9, 1)))) for _ in queries]
        looks = config.family == "encoder-decoder" and dice.random() < 0.4
        manner = Manner(
            dice.randrange(config.n_decoder_layers) if looks else None,
            scores=dice.random() < 0.8,
            stop_after=dice.choice([0, 0, 1, 4]),
        )
        try:
            found = engine.decode(queries, limits, decode, specials, lists=lists, manner=manner)
        except REFUSED:
            continue
        alone = dice.randrange(len(queries))
        own = engine.decode(
            [queries[alone]],
            [limits[alone]],
            decode,
            specials,
            lists=None if lists is None else [lists[alone]],
            manner=manner,
        )
        if repr(own.hypotheses[0]) != repr(found.hypotheses[alone]):  # nan is not equal to itself
            raise AssertionError(f"query {alone} alone: {own.hypotheses[0]}, not {found.hypotheses[alone]}")
        _score(engine, queries, [each[0].ids for each in found.hypotheses], specials, manner)
        _session(dice, engine, queries, limits, decode, specials)


def _score(
    engine: Engine,
    queries: list[Query],
    outputs: list[tuple[int, ...]],
    specials: Specials,
    manner: Manner,
) -> None:
    given = [Given(query.ids, ids) for query, ids in zip(queries, outputs, strict=True)]
    try:
        engine.score(given, specials, manner)
    except REFUSED:
        return


def _session(
    dice: random.Random,
    engine: Engine,
    queries: list[Query],
    limits: list[int],
    decode: DecodeConfig,
    specials: Specials,
) -> None:
    """Sentences that come and go at random."""
    session = engine.session(dice.choice([0, 40, 90]))
    live: list[int] = []
    for query, limit in zip(queries, limits, strict=True):
        try:
            live.append(session.add(query, limit, decode, specials))
        except (Full, *REFUSED):
            continue
        for slot in session.step():
            session.results(slot)
            session.remove(slot)
            live.remove(slot)
        if live and dice.random() < 0.3:
            session.certain(live[0])
            session.remove(live.pop(0))
    session.close()


def main() -> int:
    """Run the cases that the command line names."""
    seed, cases = int(sys.argv[1]), int(sys.argv[2])
    if len(sys.argv) > 3:
        library.LIBRARY = Path(sys.argv[3])
    for number in range(cases):
        try:
            case(seed, number)
        except Exception as error:
            print(f"seed {seed}, case {number}: {type(error).__name__}: {error}", file=sys.stderr)
            raise
    print(f"{cases} cases of seed {seed} on {', '.join(kernels.usable_kernels())}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
