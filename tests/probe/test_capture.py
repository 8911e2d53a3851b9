"""Looking changes nothing, costs nothing when it is over, and sees only its own thread."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

import glassformer as gf
from glassformer.decoding import Segment, TextEncoder, Translator
from glassformer.decoding.framing import Wishes
from glassformer.errors import InputError
from glassformer.nn import MultiHeadAttention, attention, explained_attention
from glassformer.probe.capture import trace
from glassformer.probe.intervening import intervening
from glassformer.probe.intervention import read_interventions
from glassformer.probe.question import model_of
from tests.probe.subjects import TEXT, options, subject, text_for
from tests.support.models import FAMILIES, encoder_decoder, random_ids


def hooks(module: nn.Module) -> Iterator[Any]:
    for each in module.modules():
        yield from (each._forward_hooks, each._forward_pre_hooks)
        if isinstance(each, MultiHeadAttention):
            yield each.observe or {}


def is_untouched(module: nn.Module) -> bool:
    return all(len(found) == 0 for found in hooks(module))


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_is_left_in_the_model(family: str) -> None:
    asked = subject(family)
    rules = [{"type": "mute", "kind": "enc" if family != "decoder-only" else "dec", "layer": 0, "head": 0}]
    assert is_untouched(model_of(asked))
    gf.explain(asked, text_for(family), interventions=rules, **options(family))

    assert is_untouched(model_of(asked))


def test_nothing_is_left_after_an_error() -> None:
    model = encoder_decoder()
    everything = read_interventions([{"type": "uniform", "kind": "enc"}, {"type": "positions"}])
    with pytest.raises(ZeroDivisionError), intervening(model, everything), trace(model):
        _ = 1 / 0

    assert is_untouched(model)


def test_a_traced_pass_is_the_same_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same kernel is called as often, and gives the same bits."""
    model, ids = encoder_decoder(), (random_ids(2, 6), random_ids(2, 5))
    calls = []
    real = torch.nn.functional.scaled_dot_product_attention

    def counted(*args: Any, **kwargs: Any) -> torch.Tensor:
        calls.append(args[0].shape)
        return real(*args, **kwargs)

    monkeypatch.setattr("torch.nn.functional.scaled_dot_product_attention", counted)
    plain = model(*ids)
    n_plain, before = len(calls), list(calls)
    with trace(model) as found:
        traced = model(*ids)

    assert torch.equal(plain, traced)
    assert calls[n_plain:] == before
    assert len(found) == n_plain == 6


def test_a_capture_holds_what_entered_and_left_the_kernel() -> None:
    model = encoder_decoder(positions="rotary", n_kv_heads=2)
    with torch.inference_mode(), trace(model) as found:
        model(random_ids(3, 6), random_ids(3, 5))
    seen = found["decoder.blocks.1.cross_attention"]
    heads, weights = explained_attention(seen.shared_q, seen.shared_k, seen.shared_v, seen.sight)

    assert torch.equal(seen.weights, weights)
    assert torch.equal(seen.context, attention(seen.shared_q, seen.shared_k, seen.shared_v, seen.sight))
    assert (heads - seen.context).abs().max() < 1e-5
    assert seen.k.shape == (3, 4, 6, 4)
    assert sorted(found)[0] == "decoder.blocks.0.attention"
    assert "6 attentions, 1 passes" in repr(found)


def test_decoding_inside_a_trace_is_seen_step_by_step() -> None:
    asked = subject("encoder-decoder")
    assert isinstance(asked, Translator)
    with gf.trace(asked) as found:
        (hypotheses,) = asked.decoder.decode(
            list(asked.framing.queries([[Segment(TEXT, "")]], Wishes()).values()),
            asked.decode.model_copy(update={"beam": 1, "max_length": 4}),
        )

    assert len(found.attentions["decoder.blocks.0.attention"]) == len(hypotheses[0].token_log_probabilities)


def test_other_threads_are_not_seen() -> None:
    model = encoder_decoder()
    ids = random_ids(1, 4)
    mute = read_interventions([{"type": "mute", "kind": "enc"}, {"type": "feed_forward", "stack": "enc"}])
    plain, other = model.encode(ids), []
    with trace(model) as found, intervening(model, mute):
        thread = threading.Thread(target=lambda: other.append(model.encode(ids)))
        thread.start()
        thread.join()

        assert len(found) == 0
        assert not torch.equal(model.encode(ids), plain)
    assert torch.equal(other[0], plain)


def test_what_was_not_seen_is_named() -> None:
    with trace(encoder_decoder()) as found:
        pass
    with pytest.raises(InputError, match="run the model while the trace is open"):
        _ = found["decoder.blocks.0.attention"]


def test_an_ensemble_has_no_single_inside() -> None:
    asked = subject("encoder-decoder")
    assert not isinstance(asked, TextEncoder)
    both = Translator([asked.models[0], asked.models[0]], asked.tokenizer)  # type: ignore[list-item]
    with pytest.raises(InputError, match="an ensemble of 2 models"):
        both.explain(TEXT)
