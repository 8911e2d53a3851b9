"""P9 and P10 on a trained model and 500 sentences: neither batch, order nor padding changes an answer, and
what decoding says of an output is what scoring says.

The model is the one that comes with the package; GLASSFORMER_TEST_MODEL names another, and
GLASSFORMER_TEST_SENTENCES another number of sentences.
"""

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from glassformer.config import DecodeConfig
from glassformer.decoding import Hypothesis, Query, Translator
from glassformer.decoding.framing import Wishes
from glassformer.decoding.pretrained import shipped_model
from glassformer.decoding.scoring import score_targets
from glassformer.decoding.step import padded_ids
from glassformer.decoding.targets import Target
from glassformer.errors import CheckpointError
from glassformer.nn import padding_mask
from glassformer.text.phrasebook import generate

pytestmark = pytest.mark.long

SENTENCES = int(os.environ.get("GLASSFORMER_TEST_SENTENCES", "500"))
SIZES = (1, 2, 7, 32, 128)
EXTRA = (0, 1, 50)
LOGITS, SCORES, NEAR = 1e-5, 1e-4, 1e-4
GREEDY, BEAM = DecodeConfig(beam=1), DecodeConfig(beam=5)


@pytest.fixture(scope="module")
def translator() -> Translator:
    given = os.environ.get("GLASSFORMER_TEST_MODEL")
    try:
        directory = shipped_model() if given is None else Path(given)
    except CheckpointError:
        pytest.skip("no model comes with this installation; GLASSFORMER_TEST_MODEL can name one")
    return Translator.from_pretrained(directory, engine="pytorch")


@pytest.fixture(scope="module")
def asked(translator: Translator) -> list[Query]:
    """Sentences of the grammar, some of them joined so that lengths differ much."""
    drawn = [phrase.english for phrase in generate(SENTENCES + 2, seed=11)]
    texts = [" ".join(drawn[i : i + (3 if i % 10 == 0 else 1)]) for i in range(SENTENCES)]
    cut = translator.framing.cut(texts, Wishes(), split=False)
    return list(translator.framing.queries(cut, Wishes()).values())


@pytest.fixture(scope="module")
def greedy(translator: Translator, asked: list[Query]) -> list[Hypothesis]:
    return [each[0] for each in batched(translator, asked, GREEDY, 1)]


def shuffled(n: int, size: int) -> list[list[int]]:
    order = random.Random(size).sample(range(n), n)
    return [order[at : at + size] for at in range(0, n, size)]


def batched(
    translator: Translator, asked: Sequence[Query], config: DecodeConfig, size: int
) -> list[list[Hypothesis]]:
    """In batches of so many, drawn at random: padding as bad as it gets."""
    results: list[list[Hypothesis]] = [[] for _ in asked]
    for batch in shuffled(len(asked), size):
        run = translator.decoder.begin([asked[i] for i in batch], config)
        while not run.done:
            run.step()
        for i, found in zip(batch, run.results(), strict=True):
            results[i] = found
    return results


@torch.inference_mode()
def logits(
    translator: Translator, asked: Sequence[Query], said: Sequence[Hypothesis], extra: int
) -> list[Tensor]:
    """The logits at every position of given outputs, in one batch with more padding than it needs."""
    model, specials = translator.models[0], translator.specials
    longest = max(len(query.ids) for query in asked) + extra
    source = padded_ids([[*q.ids, *[specials.pad] * (longest - len(q.ids))] for q in asked], specials.pad)
    mask = padding_mask(torch.tensor([len(query.ids) for query in asked]), longest)
    fed = padded_ids([[specials.start, *each.ids] for each in said], specials.pad)
    found = model.output(model.decode(fed, model.remember(model.encode(source, mask), mask)))
    return [row[: len(each.ids) + 1] for row, each in zip(found, said, strict=True)]


@pytest.fixture(scope="module")
def alone(translator: Translator, asked: list[Query], greedy: list[Hypothesis]) -> list[Tensor]:
    """The logits of each sentence by itself."""
    return [logits(translator, [query], [each], 0)[0] for query, each in zip(asked, greedy, strict=True)]


@pytest.mark.parametrize("extra", EXTRA)
@pytest.mark.parametrize("size", SIZES)
def test_logits(
    size: int,
    extra: int,
    translator: Translator,
    asked: list[Query],
    greedy: list[Hypothesis],
    alone: list[Tensor],
) -> None:
    worst, largest = 0.0, max(float(each.abs().max()) for each in alone)
    for batch in shuffled(len(asked), size):
        together = logits(translator, [asked[i] for i in batch], [greedy[i] for i in batch], extra)
        for i, found in zip(batch, together, strict=True):
            worst = max(worst, float((found - alone[i]).abs().max()))
    print(f"batch {size}, padding +{extra}: Δ {worst:.1e} on logits up to {largest:.0f}")

    assert worst <= LOGITS * max(1.0, largest / 10)  # float32 keeps seven digits of what is large


@pytest.mark.parametrize("way", ["greedy", "beam"])
def test_outputs(way: str, translator: Translator, asked: list[Query]) -> None:
    config = GREEDY if way == "greedy" else BEAM
    alone = batched(translator, asked, config, 1)
    for size in SIZES[1:]:
        ties = []
        for i, found in enumerate(batched(translator, asked, config, size)):
            gap = abs(found[0].score - alone[i][0].score)
            if found[0].ids != alone[i][0].ids:
                ties.append((i, gap))
                assert gap < NEAR, f"sentence {i}: another output in a batch of {size}, and no near-tie"
            assert gap <= SCORES
        print(f"{way}, batch {size}: {len(asked) - len(ties)} of {len(asked)} equal; near-ties {ties}")

        assert len(ties) <= 2


WAYS = {
    "greedy": GREEDY,
    "beam": BEAM,
    "beam without length penalty": DecodeConfig(beam=5, alpha=0.0),
    "prefix": DecodeConfig(beam=5),
}


@pytest.mark.parametrize("way", WAYS)
def test_scores_are_what_scoring_gives(way: str, translator: Translator, asked: list[Query]) -> None:
    prefixes: list[tuple[int, ...]] = [()] * len(asked)
    if way == "prefix":
        best = translator.decoder.decode(asked, GREEDY)
        prefixes = [found[0].ids[1 : 1 + i % 4] for i, found in enumerate(best)]
    queries = [Query(q.ids, prefix=prefix, index=q.index) for q, prefix in zip(asked, prefixes, strict=True)]
    found = [each[0] for each in translator.decoder.decode(queries, WAYS[way])]
    targets = [
        Target(query.ids, each.ids, each.finished, each.n_forced)
        for query, each in zip(queries, found, strict=True)
    ]
    scores = score_targets(translator.models, targets, translator.specials)
    differences = [
        abs(each.log_probability - score.log_probability) for each, score in zip(found, scores, strict=True)
    ]
    longest = max(each.length for each in found)
    print(f"{way}: Δ {max(differences):.1e} on {len(found)} outputs of up to {longest} tokens")

    assert max(differences) <= 1e-5
