"""Small models to search, and slow twins of what searches them."""

import math
from collections.abc import Iterable, Sequence
from itertools import product

import torch

from glassformer.config import DecodeConfig
from glassformer.decoding.generation import Decoder
from glassformer.decoding.hypothesis import Hypothesis, Query, Specials
from glassformer.decoding.penalties import LengthPenalty
from glassformer.decoding.scoring import Target, score_targets
from glassformer.decoding.step import Decodable
from glassformer.nn import EncoderDecoder
from tests.support.models import decoder_only, encoder_decoder, random_ids

START, END, PAD = 1, 2, 0
SPECIALS = Specials(START, END, PAD, suppressed=(PAD, START))
FOUR = Specials(start=0, end=1, pad=0)
"""For a vocabulary of 4, all of which may be said."""

FAMILIES = ("encoder-decoder", "decoder-only")
Ids = tuple[int, ...]


def toy(family: str = "encoder-decoder", seed: int = 0, **settings: object) -> Decodable:
    torch.manual_seed(seed)
    return encoder_decoder(**settings) if family == "encoder-decoder" else decoder_only(**settings)


def decoder(family: str = "encoder-decoder", seed: int = 0, **settings: object) -> Decoder:
    return Decoder((toy(family, seed, **settings),), SPECIALS)


def ending(family: str = "encoder-decoder", seed: int = 0, wish: float = 1.0) -> Decoder:
    """A random model that likes to end."""
    found = decoder(family, seed, output_bias=True)
    bias = found.models[0].output.bias
    assert bias is not None
    bias.data[END] += wish
    return found


def queries(lengths: Iterable[int]) -> list[Query]:
    return [Query(tuple(random_ids(length).tolist()), index=(i,)) for i, length in enumerate(lengths)]


def log_probability(model: Decodable, query: Query, ids: Ids, specials: Specials) -> float:
    """Of a finished output after its prefix, by one full pass."""
    (score,) = score_targets([model], [Target(query.ids, ids, n_forced=len(query.prefix))], specials)
    return score.log_probability


def enumerate_best(
    model: Decodable, query: Query, config: DecodeConfig, specials: Specials, limit: int
) -> list[tuple[Ids, float]]:
    """Every finished output of at most ``limit`` tokens with its score, best first."""
    others = [token for token in range(model.config.vocab_size) if token != specials.end]
    outputs = [(*query.prefix, *rest) for n in range(limit) for rest in product(others, repeat=n)]
    targets = [Target(query.ids, ids, n_forced=len(query.prefix)) for ids in outputs]
    penalty = LengthPenalty(config)
    scores = score_targets([model], targets, specials)
    scored = [
        (ids, score.log_probability / penalty(len(ids) - len(query.prefix) + 1))
        for ids, score in zip(outputs, scores, strict=True)
    ]
    return sorted(scored, key=lambda pair: -pair[1])


def next_log_probabilities(model: Decodable, query: Query, said: Ids) -> list[float]:
    """By one full pass, without a cache."""
    with torch.no_grad():
        if isinstance(model, EncoderDecoder):
            logits = model(torch.tensor([query.ids]), torch.tensor([[START, *said]]))
        else:
            logits = model(torch.tensor([[*query.ids, *said]]))
    return logits[0, -1].double().log_softmax(-1).tolist()


def slow_beam(model: Decodable, query: Query, config: DecodeConfig, limit: int) -> list[tuple[Ids, float]]:
    """Beam search as a textbook has it: no cache, no batch, no early end. Finished outputs, best first."""
    penalty, finished = LengthPenalty(config), dict[Ids, float]()
    beams: list[tuple[float, Ids]] = [(0.0, ())]
    for length in range(1, limit + 1):
        candidates = []
        for total, said in beams:
            for token, value in enumerate(next_log_probabilities(model, query, said)):
                if token not in SPECIALS.suppressed:
                    candidates.append((total + value, said, token))
        candidates.sort(key=lambda candidate: -candidate[0])
        for total, said, token in candidates[: config.beam]:
            if token == END:
                finished[said] = total / penalty(length)
        beams = [(total, (*said, token)) for total, said, token in candidates if token != END][: config.beam]
    return sorted(finished.items(), key=lambda pair: -pair[1])[: config.nbest]


def assert_rescored(model: Decodable, query: Query, found: Sequence[Hypothesis]) -> None:
    """Every log-probability is what one full pass gives, to 1e-5."""
    targets = [Target(query.ids, each.ids, each.finished, each.n_forced) for each in found]
    for each, score in zip(found, score_targets([model], targets, SPECIALS), strict=True):
        pairs = zip(each.token_log_probabilities, score.token_log_probabilities, strict=True)

        assert all(abs(a - b) <= 1e-5 for a, b in pairs)
        assert abs(each.log_probability - score.log_probability) <= 1e-5
        assert math.isclose(each.log_probability, math.fsum(each.token_log_probabilities[each.n_forced :]))
