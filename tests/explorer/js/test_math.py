"""The mathematics of the page against PyTorch and against the decoder of the package."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Page
from torch import Tensor
from torch.nn import functional as F

from glassformer.config import DecodeConfig
from glassformer.decoding.penalties import LengthPenalty
from glassformer.decoding.sampling import distribution, draw
from tests.explorer.js.conftest import HOST

Call = Callable[..., Any]
VOCABULARY = 3000


def close(found: Any, expected: Tensor, atol: float = 1e-12) -> None:
    torch.testing.assert_close(
        torch.tensor(found, dtype=torch.float64).reshape(expected.shape),
        expected.double(),
        atol=atol,
        rtol=1e-10,
    )


@pytest.fixture
def logits() -> Tensor:
    """A row as a model gives it: float32, a few large, a tie and a forbidden token."""
    row = torch.randn(VOCABULARY) * 3
    row[7] = row[11]
    row[13] = -math.inf
    return row


@pytest.mark.parametrize("temperature", [0.05, 0.7, 1.0, 5.0])
def test_softmax_is_that_of_torch(call: Call, logits: Tensor, temperature: float) -> None:
    found = call("math/softmax.js", "softmax", {"f32": logits.tolist()}, temperature)

    close(found, (logits.double() / temperature).softmax(-1))


def test_softmax_at_temperature_zero_is_the_best_token(call: Call, logits: Tensor) -> None:
    found = call("math/softmax.js", "softmax", {"f32": logits.tolist()}, 0)

    assert found == F.one_hot(logits.argmax(), VOCABULARY).tolist()


def test_huge_and_forbidden_logits_give_numbers(call: Call) -> None:
    assert call("math/softmax.js", "softmax", [1e4, 1e4, -math.inf]) == [0.5, 0.5, 0]
    assert call("math/softmax.js", "softmax", [-math.inf, -math.inf]) == [0, 0]
    assert call("math/softmax.js", "softmax", []) == []


def test_log_sum_exp_and_entropy_are_those_of_torch(call: Call, logits: Tensor) -> None:
    x = logits.double()
    given = {"f32": logits.tolist()}

    close(call("math/softmax.js", "logSumExp", given), x.logsumexp(-1))
    close(
        call("math/softmax.js", "entropy", x.softmax(-1).tolist()),
        torch.special.entr(x.softmax(-1)).sum(),
    )


def test_hidden_keys_leave_rows_that_sum_to_one(call: Call) -> None:
    weights = torch.rand(4, 6).double().softmax(-1)
    found = call(
        "math/attention.js", "renormalise", weights.flatten().tolist(), 4, 6, {"js": "(k) => k === 5"}
    )
    rest = weights * torch.tensor([1, 1, 1, 1, 1, 0])

    close(found, rest / rest.sum(-1, keepdim=True), atol=1e-6)


CUTS = [
    {"temperature": 1.0},
    {"temperature": 0.7},
    {"temperature": 0.0},
    {"temperature": 1.3, "top_k": 40},
    {"temperature": 1.0, "top_p": 0.9},
    {"temperature": 0.5, "top_p": 0.3},
    {"temperature": 2.0, "min_p": 0.05},
    {"temperature": 1.5, "top_k": 100, "top_p": 0.8, "min_p": 0.01},
    {"temperature": 1.0, "top_k": 1},
    {"temperature": 1.0, "min_p": 1.0},
]


def as_cut(options: dict[str, float]) -> dict[str, float]:
    config = DecodeConfig(**options)  # type: ignore[arg-type]
    return {
        "temperature": options["temperature"],
        "topK": config.top_k,
        "topP": config.top_p,
        "minP": config.min_p,
    }


@pytest.mark.parametrize(
    "options", CUTS, ids=lambda options: "-".join(f"{k}={v}" for k, v in options.items())
)
def test_what_is_drawn_from_is_what_the_decoder_draws_from(
    modules: Page, logits: Tensor, options: dict[str, float]
) -> None:
    """Every probability of the whole vocabulary, and the token that each number falls on."""
    numbers = torch.rand(50).double()
    found, tokens, one, kept, mass = modules.evaluate(
        """async ([host, logits, cut, numbers]) => {
          const m = await import(`${host}/math/sampling.js`);
          const d = m.distribution(m.rankRow(Float32Array.from(logits)), cut);
          const all = m.probabilities(d);
          const one = all.every((p, id) => p === m.probability(d, id));
          return [Array.from(all), m.draw(d, numbers), one, d.kept, d.mass];
        }""",
        [HOST, logits.tolist(), as_cut(options), numbers.tolist()],
    )
    config = DecodeConfig(**options)  # type: ignore[arg-type]
    expected = distribution(logits.log_softmax(-1)[None].double(), config)[0]
    tempered = (logits.double() / (options["temperature"] or 1)).softmax(-1)

    close(found, expected, atol=1e-7)  # the decoder reads log-probabilities that were rounded to float32
    assert one
    assert kept == int((expected > 0).sum()) or "top_k" not in options
    assert tokens == draw(expected.expand(50, -1), numbers).tolist()
    if options["temperature"]:
        assert mass == pytest.approx(float(tempered[expected > 0].sum()), abs=1e-9)


def test_ranks_are_those_of_a_stable_sort(call: Call, logits: Tensor) -> None:
    found = call("math/sampling.js", "rankRow", {"f32": logits.tolist()})

    assert found["order"] == logits.sort(descending=True, stable=True).indices.tolist()
    assert found["rank"] == logits.sort(descending=True, stable=True).indices.argsort().tolist()


def test_the_dice_are_fair_seeded_and_fine(modules: Page) -> None:
    first, again, other = modules.evaluate(
        """async (host) => {
          const { dice } = await import(`${host}/math/random.js`);
          const roll = (seed) => { const next = dice(seed); return Array.from({ length: 4000 }, next); };
          return [roll(3), roll(3), roll(4)];
        }""",
        HOST,
    )

    assert first == again != other
    assert all(0 <= number < 1 for number in first)
    assert np.mean(first) == pytest.approx(0.5, abs=0.03)
    assert np.var(first) == pytest.approx(1 / 12, abs=0.01)
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.06


@pytest.mark.parametrize("penalty", ["gnmt", "average"])
@pytest.mark.parametrize("alpha", [-1.0, 0.0, 0.6, 2.5])
def test_the_length_penalty_is_the_decoders(call: Call, penalty: str, alpha: float) -> None:
    config = DecodeConfig(alpha=alpha, length_penalty=penalty)  # type: ignore[arg-type]
    for length in (1, 2, 9, 60):
        found = call("math/length.js", "lengthPenalty", length, alpha, penalty == "average")
        assert found == pytest.approx(LengthPenalty(config)(length), rel=1e-12)


def test_hypotheses_rank_by_score_and_ties_stay(call: Call) -> None:
    short, long, tie = (
        {"logp": -2.0, "length": 4},
        {"logp": -3.0, "length": 12},
        {"logp": -2.0, "length": 4, "b": 1},
    )

    plain = call("math/length.js", "rerank", [long, short, tie], 0)
    lenient = call("math/length.js", "rerank", [short, tie, long], 1.5)

    assert [each["logp"] for each in plain] == [-2, -2, -3]
    assert [each.get("b") for each in plain] == [None, 1, None]
    assert lenient[0]["logp"] == -3
    assert lenient[0]["score"] == pytest.approx(-3 / ((5 + 12) / 6) ** 1.5)


def test_every_half_precision_number_decodes_exactly(modules: Page) -> None:
    found = modules.evaluate(
        """async (host) => {
          const { decodeHalf } = await import(`${host}/math/half.js`);
          const bits = Uint16Array.from({ length: 65536 }, (_, i) => i);
          return Array.from(decodeHalf(bits.buffer), (x) => (Number.isNaN(x) ? "nan" : x));
        }""",
        HOST,
    )
    expected = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float64)

    assert all(
        (math.isnan(want) and got == "nan")
        or (got == want and math.copysign(1, got) == math.copysign(1, want))
        for got, want in zip(found, expected.tolist(), strict=True)
    )


def test_mean_and_extent_are_those_of_torch(call: Call) -> None:
    a = torch.randn(101).double()

    close(call("math/statistics.js", "mean", a.tolist()), a.mean())
    assert call("math/statistics.js", "extent", a.tolist()) == [float(a.min()), float(a.max())]
    assert call("math/statistics.js", "extent", [math.nan, 3.0, -math.inf, 1.0]) == [1, 3]


def test_smoothing_starts_at_the_first_value_and_keeps_a_constant(call: Call) -> None:
    assert call("math/statistics.js", "smooth", [4.0, 4.0, 4.0], 0.9) == pytest.approx([4, 4, 4])
    assert call("math/statistics.js", "smooth", [1.0, 3.0, 2.0], 0) == [1, 3, 2]
    found = call("math/statistics.js", "smooth", [1.0, math.nan, 3.0], 0.5)
    assert found == pytest.approx([1, 1, (0.25 * 1 + 0.5 * 3) / 0.75])


def test_a_lever_over_a_large_vocabulary_is_answered_within_a_frame(modules: Page) -> None:
    """Temperature and cuts over 37,000 logits; the best of many, since other work may share the machine."""
    best = modules.evaluate(
        """async (host) => {
          const { rankRow, distribution } = await import(`${host}/math/sampling.js`);
          const { dice } = await import(`${host}/math/random.js`);
          const row = rankRow(Float32Array.from({ length: 37000 }, dice(1)));
          let best = Infinity;
          for (let i = 0; i < 40; i++) {
            const before = performance.now();
            distribution(row, { temperature: 0.5 + i / 40, topK: 500, topP: 0.9, minP: 0.01 });
            best = Math.min(best, performance.now() - before);
          }
          return best;
        }""",
        HOST,
    )

    assert best < 16
