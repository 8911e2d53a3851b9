"""Models that have learned to copy and to reverse do so by every kind of search, without a mistake."""

import random

import pytest
import torch
from torch import nn

from glassformer.config import DecodeConfig, ModelConfig
from glassformer.decoding.generation import Decoder
from glassformer.decoding.hypothesis import Hypothesis, Query, Specials
from glassformer.decoding.scoring import Target, score_targets
from glassformer.nn import DecoderOnly, EncoderDecoder, projected_cross_entropy, token_mask
from tests.support.digits import BEGIN, END, PAD, VOCABULARY, String, Strings, pad_all

SPECIALS = Specials(BEGIN, END, PAD, suppressed=(PAD, BEGIN))
SMALL = {
    "vocab_size": VOCABULARY,
    "max_length": 24,
    "d_model": 64,
    "d_ff": 128,
    "n_heads": 4,
    "n_encoder_layers": 2,
    "n_decoder_layers": 2,
    "norm": "pre",
    "dropout": 0.0,
}
WAYS = {
    "greedy": DecodeConfig(beam=1),
    "beam": DecodeConfig(beam=4),
    "average": DecodeConfig(beam=4, alpha=1.0, length_penalty="average"),
    "sampling": DecodeConfig(temperature=0.0),
}


def teach(model: EncoderDecoder | DecoderOnly, strings: Strings, task: str, steps: int) -> None:
    """With a learning rate that falls to 0, so that no digit stays doubtful."""
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3, betas=(0.9, 0.98))
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / 40, 1.0, (steps - step) / (0.6 * steps))
    )
    for _ in range(steps):
        batch = strings.batch(128)
        optimizer.zero_grad()
        if isinstance(model, EncoderDecoder):
            source = pad_all([[*string, END] for string in batch])
            text = pad_all([[BEGIN, *solve(task, string), END] for string in batch])
            mask = token_mask(source, PAD)
            hidden = model.decode(text[:, :-1], model.remember(model.encode(source, mask), mask))
            wanted = text[:, 1:] != PAD
        else:
            text = pad_all([[*string, BEGIN, *solve(task, string), END] for string in batch])
            hidden = model.decode(text[:, :-1], model.remember())
            asked = (text[:, :-1] == BEGIN).long().cumsum(1) > 0
            wanted = (text[:, 1:] != PAD) & asked
        loss = projected_cross_entropy(hidden[wanted], model.output.weight, None, text[:, 1:][wanted])
        (loss.smoothed / wanted.sum()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rate.step()


def solve(task: str, string: String) -> String:
    return string if task == "copy" else string[::-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "task"),
    [
        ("encoder-decoder", "reverse"),
        ("decoder-only", "copy"),
        pytest.param("encoder-decoder", "copy", marks=pytest.mark.long),
        pytest.param("decoder-only", "reverse", marks=pytest.mark.long),
    ],
)
def test_every_search_gets_all_right(family: str, task: str) -> None:
    torch.manual_seed(11)
    shortest, steps = (2, 500) if family == "encoder-decoder" else (4, 350)
    strings = Strings(random.Random(11), longest=4, held_out=300, shortest=shortest)
    config = ModelConfig.model_validate({**SMALL, "family": family})
    model = EncoderDecoder(config) if family == "encoder-decoder" else DecoderOnly(config)
    teach(model, strings, task, steps)
    end = [END] if family == "encoder-decoder" else [BEGIN]
    asked = [Query((*string, *end)) for string in strings.held_out]
    for way, settings in WAYS.items():
        found = Decoder((model,), SPECIALS).decode(asked, settings)
        right = sum(
            each[0].finished and each[0].ids == solve(task, string)
            for each, string in zip(found, strings.held_out, strict=True)
        )
        print(f"{family}, {task}, {way}: {right} of {len(found)}")

        assert right == len(found)
        _assert_reliable(model, asked, found, settings)


def _assert_reliable(
    model: EncoderDecoder | DecoderOnly,
    asked: list[Query],
    found: list[list[Hypothesis]],
    settings: DecodeConfig,
) -> None:
    """P9 and P10 on a model that has learned: any batch gives the same, and scoring gives the same number."""
    targets = [Target(query.ids, each[0].ids) for query, each in zip(asked, found, strict=True)]
    scores = score_targets([model], targets, SPECIALS)
    for size in (1, 7 * 5 * settings.beam, 128 * 5 * settings.beam):
        config = settings.model_copy(update={"batch_tokens": size})
        again = Decoder((model,), SPECIALS).decode(asked[::-1], config)[::-1]

        assert [each[0].ids for each in again] == [each[0].ids for each in found]
    for (each, *_), score in zip(found, scores, strict=True):
        assert abs(each.log_probability - score.log_probability) <= 1e-5
