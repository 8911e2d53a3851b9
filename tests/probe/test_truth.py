"""What a trace shows is what plain PyTorch computes from the same weights: every family, norm, position."""

import pytest
import torch

from glassformer.decoding import Query, Stepper, TextEncoder
from glassformer.decoding.step import log_softmax
from glassformer.probe import Trace, explain
from tests.probe.subjects import NORMS, options, plain_pass, subject, text_for
from tests.support.equality import assert_near
from tests.support.models import FAMILIES, POSITIONS

EXACT = 1e-9


def traced(family: str, **settings: object) -> Trace:
    return explain(subject(family, **settings), text_for(family), **options(family))


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_weights_and_head_outputs_are_those_of_a_plain_pass(family: str, positions: str) -> None:
    for norm, kind in zip(NORMS, ("layer", "rms", "layer"), strict=True):
        found = traced(family, norm=norm, norm_kind=kind, positions=positions)
        plain = plain_pass(found.model, found.answer.source, found.answer.fed)

        assert {(k, i) for k in found.kinds for i in range(len(found.layers(k)))} == set(plain.weights)
        for (kind_of, layer), weights in plain.weights.items():
            seen = found.layers(kind_of)[layer]  # type: ignore[arg-type]
            assert_near(seen.weights, weights, EXACT)
            assert_near(seen.context, plain.contexts[kind_of, layer], EXACT)
            assert_near(seen.weights @ seen.v, seen.context, EXACT)
        for stack, hidden in plain.outputs.items():
            path = "encoder" if stack == "enc" else "decoder"
            assert_near(found.capture.state(f"{path}.output")[0], hidden, EXACT)


def test_grouped_heads_are_shown_once_for_each_query_head() -> None:
    found = traced("encoder-decoder", n_heads=4, n_kv_heads=2, d_k=4, d_v=6, positions="rotary")
    plain = plain_pass(found.model, found.answer.source, found.answer.fed)

    assert found.dec[0].k.shape[0] == found.dec[0].v.shape[0] == 4
    for layer in range(2):
        assert_near(found.dec[layer].weights, plain.weights["dec", layer], EXACT)
        assert_near(found.dec[layer].head(3).weights[0], plain.weights["dec", layer][3], EXACT)
        assert_near(found.dec[layer].head(3).context[0], plain.contexts["dec", layer][3], EXACT)


@pytest.mark.parametrize("family", FAMILIES)
def test_in_single_precision_the_differences_stay_below_the_tolerance(family: str) -> None:
    found = explain(subject(family, double=False), text_for(family), **options(family, 20))

    assert 0 <= max(found.fidelity.values()) <= 1e-5
    assert (found.incremental or 0.0) <= 1e-5
    assert found.faithful


@pytest.mark.parametrize("family", ["encoder-decoder", "decoder-only"])
def test_every_row_of_logits_is_that_of_step_by_step_decoding(family: str) -> None:
    found = traced(family)
    asked = subject(family)
    assert not isinstance(asked, TextEncoder)
    stepper = Stepper(asked.models, asked.specials)
    query = Query(found.answer.source or found.answer.fed[:1])
    last = stepper.start([query])
    with torch.inference_mode():
        for row, token in enumerate(found.answer.fed):
            assert int(last[0]) == token
            assert_near(stepper.log_probabilities(last)[0], log_softmax(found.logits[row]), EXACT)
            last = torch.tensor(found.answer.labels[row : row + 1])


def test_log_probabilities_of_steps_are_those_of_scoring() -> None:
    found = traced("encoder-decoder")
    asked = subject("encoder-decoder")
    assert not isinstance(asked, TextEncoder)
    values = log_softmax(found.logits)[torch.arange(len(found.answer.labels)), list(found.answer.labels)]

    assert_near(torch.tensor([step.log_probability for step in found.steps]).double(), values)
    assert found.log_probability == pytest.approx(found.answer.hypotheses[0].log_probability, abs=1e-9)


def test_states_stand_in_the_order_of_the_norm() -> None:
    orders = {norm: traced("encoder-decoder", norm=norm).sites("dec")[1:4] for norm in NORMS}

    assert orders["post"] == ["attention.output", "attention.sum", "attention.normed"]
    assert orders["pre"] == ["attention.normed", "attention.output", "attention.sum"]
    assert orders["sandwich"] == ["attention.normed", "attention.output", "attention.normed_after"]


@pytest.mark.parametrize("norm", NORMS)
def test_states_add_up(norm: str) -> None:
    found = traced("encoder-decoder", norm=norm)
    added = "cross.normed_after" if norm == "sandwich" else "cross.output"
    before = "attention.normed" if norm == "post" else "attention.sum"
    x, y = found.state("dec", 1, before), found.state("dec", 1, added)

    assert_near(found.state("dec", 1, "cross.sum"), x + y, EXACT)
