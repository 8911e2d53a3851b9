"""Each intervention does what it says, in decoding as in the pass that is looked at."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from glassformer.errors import ConfigError, InputError
from glassformer.nn import Sight, attention
from glassformer.probe import Trace, explain, read_interventions
from glassformer.probe.importance import measure_importance
from glassformer.probe.intervening import changed_heads, intervening
from glassformer.probe.looking import observe
from glassformer.probe.passing import run_pass
from tests.probe.subjects import TEXT, options, subject, text_for
from tests.support.equality import assert_near
from tests.support.models import FAMILIES, POSITIONS

EXACT = 1e-9


def plain(family: str = "encoder-decoder", **settings: object) -> Trace:
    return explain(subject(family, **settings), text_for(family), **options(family))


def changed(family: str, *rules: dict[str, Any], **settings: object) -> Trace:
    return plain(family, **settings).what_if(*rules)


KIND = {"encoder-decoder": "cross", "decoder-only": "dec", "encoder-only": "enc"}
RULES: list[dict[str, Any]] = [
    {"type": "mute", "kind": "KIND", "layer": 0, "head": 1},
    {"type": "keep", "kind": "KIND", "layer": 1, "head": 0},
    {"type": "uniform", "kind": "KIND", "layer": None, "head": 1},
    {"type": "edge", "kind": "KIND", "layer": 0, "head": None, "query": 2, "key": 1, "weight": 0.75},
    {"type": "block", "kind": "KIND", "layer": 0, "head": None, "query": None, "key": 1},
    {"type": "scale", "kind": "KIND", "layer": None, "head": None, "divisor": 1.0},
    {"type": "positions", "side": None, "op": "drop"},
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["type"])
@pytest.mark.parametrize("family", ["encoder-decoder", "decoder-only"])
def test_step_by_step_and_all_at_once_agree_under_an_intervention(family: str, rule: dict[str, Any]) -> None:
    """Decoding meets one query at a time and the pass all of them: the same rule must mean the same."""
    asked = {**rule, "kind": KIND[family]} if "kind" in rule else rule
    found = changed(family, asked)

    assert found.incremental is not None and found.incremental < EXACT
    assert found.log_probability != plain(family).log_probability


@pytest.mark.parametrize("positions", POSITIONS)
def test_nothing_changed_changes_nothing(positions: str) -> None:
    """Rules that restate what is there: the explicit way gives what the kernel gives."""
    before = plain(positions=positions)
    width = before.config.d_key**0.5
    rules = [{"type": "scale", "kind": kind, "divisor": width} for kind in before.kinds]
    after = before.what_if(*rules)

    assert after.text == before.text
    assert_near(after.logits, before.logits, EXACT)
    assert_near(after.dec[1].weights, before.dec[1].weights, EXACT)
    assert after.dec[1].seen.intervened and not before.dec[1].seen.intervened


@pytest.mark.parametrize("family", FAMILIES)
def test_a_muted_head_adds_nothing_and_keeps_its_weights(family: str) -> None:
    kind = KIND[family]
    found = changed(family, {"type": "mute", "kind": kind, "layer": 0, "head": 1})
    layer = found.layers(kind)[0]  # type: ignore[arg-type]

    assert (layer.context[1] == 0).all() and (layer.context[0] != 0).any()
    assert_near(layer.weights[1].sum(-1), torch.ones(layer.weights.size(1)).double(), EXACT)


def test_keep_is_muting_all_others() -> None:
    keep = changed("encoder-decoder", {"type": "keep", "kind": "enc", "layer": 0, "head": 1})
    mute = changed("encoder-decoder", {"type": "mute", "kind": "enc", "layer": 0, "head": 0})

    assert torch.equal(keep.logits, mute.logits)


def test_several_keeps_keep_several() -> None:
    rules = [{"type": "keep", "kind": "enc", "layer": 0, "head": head} for head in (0, 1)]

    assert_near(changed("encoder-decoder", *rules).logits, plain().logits, EXACT)


def test_uniform_is_equal_where_a_query_may_look() -> None:
    found = changed("encoder-decoder", {"type": "uniform", "kind": "dec", "layer": 0, "head": 0})
    weights = found.dec[0].weights[0]
    expected = torch.ones_like(weights).tril() / torch.arange(1, len(weights) + 1)[:, None]

    assert_near(weights, expected, EXACT)


def test_an_edge_is_set_and_the_rest_keep_their_proportions() -> None:
    before = plain()
    rule = {"type": "edge", "kind": "cross", "layer": 0, "head": 0, "query": 2, "key": 3, "weight": 0.6}
    given = explain(subject("encoder-decoder"), TEXT, target=before.text)
    after = explain(subject("encoder-decoder"), TEXT, target=before.text, interventions=[rule])
    old, new = given.cross[0].weights[0, 2], after.cross[0].weights[0, 2]
    others = [i for i in range(len(old)) if i != 3]

    assert float(new[3]) == pytest.approx(0.6)
    assert_near(new[others] / new[others].sum(), old[others] / old[others].sum(), EXACT)
    assert_near(after.cross[0].weights[1], given.cross[0].weights[1], EXACT)


def test_an_edge_in_a_row_that_had_no_other_weight_spreads_the_rest() -> None:
    q, k, v = torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 3, 4), torch.randn(1, 1, 3, 4)
    k[..., 0, :] = 1e4
    rules = read_interventions([{"type": "edge", "kind": "enc", "query": 0, "key": 0, "weight": 0.5}])
    _, weights = changed_heads(q + 1e4, k, v, Sight(), rules, 0)

    assert weights[0, 0, 0].tolist() == pytest.approx([0.5, 0.25, 0.25])


def test_a_blocked_key_is_not_looked_at() -> None:
    rule = {"type": "block", "kind": "cross", "layer": None, "head": None, "query": None, "key": 2}
    found = changed("encoder-decoder", rule)

    for layer in found.cross:
        assert (layer.weights[:, :, 2] == 0).all()
        assert_near(layer.weights.sum(-1), torch.ones_like(layer.weights.sum(-1)), EXACT)


def test_blocking_everything_gives_zeros_as_the_kernel_does() -> None:
    q, k, v = torch.randn(3, 1, 2, 2, 4).unbind(0)
    rules = read_interventions([{"type": "block", "kind": "enc", "key": key} for key in range(2)])
    heads, weights = changed_heads(q, k, v, Sight(), rules, 0)

    assert (heads == 0).all() and (weights == 0).all()
    assert (attention(q, k, v, Sight(torch.zeros(1, 1, 2, 2, dtype=torch.bool))) == 0).all()


def test_without_the_causal_mask_the_output_leaks() -> None:
    """The pass sees the tokens it should predict, and any weight on them shows."""
    found = changed("encoder-decoder", {"type": "causal"})
    later = torch.ones_like(found.dec[0].weights[0], dtype=torch.bool).triu(1)

    assert (found.dec[0].weights[:, later] > 0).all()
    assert found.incremental is None
    with pytest.raises(InputError, match="no causal attention"):
        changed("encoder-only", {"type": "causal"})


def test_another_divisor_is_that_divisor() -> None:
    found = changed("encoder-decoder", {"type": "scale", "kind": "enc", "layer": 0, "divisor": 1.0})
    layer = found.enc[0]

    assert_near(layer.weights, (layer.q @ layer.k.transpose(1, 2)).softmax(-1), EXACT)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "alibi", "relative"])
def test_without_positions_an_encoder_sees_a_bag_of_words(positions: str) -> None:
    drop = {"type": "positions", "side": "source", "op": "drop"}
    found = changed("encoder-decoder", drop, positions=positions)
    memory = found.capture.state("encoder.output")[0]
    model, ids = found.model, found.answer.source
    turned = replace(found.answer, source=ids[::-1])
    with torch.inference_mode():
        capture, _ = observe(model, turned, found.question.interventions)

    assert_near(capture.state("encoder.output")[0].flip(0), memory, EXACT)


def test_shifted_positions_are_those_of_later_places() -> None:
    shift = {"type": "positions", "side": "source", "op": "shift", "by": 3}
    found = changed("encoder-decoder", shift)
    table = found.capture.state("source_front.position")[0]
    later = plain().model.source_front.positions  # type: ignore[union-attr]
    assert later is not None
    places = torch.arange(3, 3 + len(table))[None]

    assert torch.equal(table, later(places, torch.zeros(1, len(table), 16).double())[0])  # type: ignore[operator]


def test_rotary_attention_does_not_notice_a_shift() -> None:
    shift = {"type": "positions", "side": None, "op": "shift", "by": 5}

    assert_near(
        changed("encoder-decoder", shift, positions="rotary").logits, plain(positions="rotary").logits, 1e-8
    )


def test_a_feed_forward_network_can_be_taken_out() -> None:
    found = changed("encoder-decoder", {"type": "feed_forward", "stack": "dec", "layer": 1})

    assert (found.state("dec", 1, "feed_forward.output") == 0).all()
    assert (found.state("dec", 0, "feed_forward.output") != 0).any()


def test_a_word_is_swapped() -> None:
    found = plain().what_if(swap={1: "dog", 5: "rug"})

    assert found.answer.text == "The dog sat on the rug"
    assert [token.text for token in found.source if token.word == 1][:1] != []


def test_a_forced_token_stands_where_it_was_forced_and_decoding_goes_on() -> None:
    before = plain()
    after = before.what_if(force={2: "chat"})
    forced = subject("encoder-decoder").tokenizer.encode("chat")

    assert after.answer.labels[:2] == before.answer.labels[:2]
    assert list(after.answer.labels[2 : 2 + len(forced)]) == forced
    assert [step.forced for step in after.steps][: 3 + len(forced)] == [
        False,
        False,
        *([True] * len(forced)),
        False,
    ]
    assert after.incremental is not None and after.incremental < EXACT


def test_a_language_model_is_forced_behind_its_prompt() -> None:
    before = plain("decoder-only")
    first = before.answer.n_given - 1
    after = before.what_if({"type": "force", "step": first + 1, "token": 20})

    assert after.answer.labels[first] == before.answer.labels[first]
    assert after.answer.labels[first + 1] == 20
    with pytest.raises(InputError, match=f"its steps run from {first} to"):
        before.what_if({"type": "force", "step": 0, "token": 20})


def test_a_given_target_is_looked_at_under_interventions() -> None:
    mute = [{"type": "mute", "kind": "cross", "layer": layer, "head": None} for layer in (0, 1)]
    one = explain(subject("encoder-decoder"), TEXT, target="Le chat", interventions=mute)
    other = explain(subject("encoder-decoder"), "A dog is sleeping.", target="Le chat", interventions=mute)

    assert one.answer.labels == other.answer.labels
    assert_near(one.logits, other.logits, EXACT)  # nothing of the source can arrive


@pytest.mark.parametrize(
    ("rule", "error", "words"),
    [
        (
            {"type": "mute", "kind": "cross", "layer": 2, "head": 0},
            InputError,
            "no layer = 2; they run from 0 to 1",
        ),
        ({"type": "mute", "kind": "cross", "layer": 0, "head": 9}, InputError, "no head = 9"),
        ({"type": "feed_forward", "stack": "enc", "layer": 7}, InputError, "no layer = 7"),
        ({"type": "swap", "word": 40, "text": "x"}, InputError, "no word 40; it has 6"),
        ({"type": "force", "step": 99, "text": "x"}, InputError, "step 99 is not one of the output"),
        ({"type": "force", "step": 0, "token": 0}, InputError, "no id of a text token"),
        ({"type": "force", "step": 0, "text": " "}, InputError, "the text is blank"),
        ({"type": "force", "step": 0}, ConfigError, "either text or token"),
        ({"type": "mute", "kind": "cross", "haed": 1}, ConfigError, "did you mean 'head'"),
        ({"type": "edge", "kind": "enc", "query": 0, "key": 0, "weight": 2.0}, ConfigError, "weight = 2.0"),
        ({"type": "explode"}, ConfigError, "explode"),
    ],
)
def test_what_cannot_be_changed_is_said(rule: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        plain().what_if(rule)


def test_a_family_without_it_says_what_it_has() -> None:
    with pytest.raises(InputError, match="no kind = 'cross'; it has dec"):
        changed("decoder-only", {"type": "mute", "kind": "cross"})
    with pytest.raises(InputError, match="no output to force"):
        plain("encoder-only").what_if(force={0: "x"})


def test_an_edge_outside_the_output_is_a_warning() -> None:
    rule = {"type": "edge", "kind": "cross", "layer": 0, "head": 0, "query": 300, "key": 0, "weight": 1.0}
    found = changed("encoder-decoder", rule)

    assert "has no effect" in found.warnings[0]
    assert_near(found.logits, plain().logits, EXACT)


@pytest.mark.parametrize("family", FAMILIES)
def test_importance_is_what_muting_costs_the_same_output(family: str) -> None:
    found = plain(family)
    kind = found.kinds[-1]
    measured = {each[:3]: each.importance for each in measure_importance(found, [kind])}
    for (name, layer, head), value in measured.items():
        rule = read_interventions([{"type": "mute", "kind": name, "layer": layer, "head": head}])
        with torch.inference_mode(), intervening(found.model, rule):
            muted = found.goal.reached(run_pass(found.model, found.answer))
        assert value == pytest.approx(found.log_probability - muted, abs=1e-9)
    assert found.importance == measured
