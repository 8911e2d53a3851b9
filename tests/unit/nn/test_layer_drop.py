"""Layer drop skips whole blocks while training, and none in use."""

import math

import pytest
import torch

from glassformer.nn.stack import layers_to_run
from tests.support.models import decoder_only, encoder_decoder, random_ids


@pytest.mark.parametrize("drop", [0.1, 0.5, 0.9])
def test_each_layer_is_skipped_about_as_often_as_it_says(drop: float) -> None:
    trials, runs = 3000, torch.zeros(6)
    for _ in range(trials):
        runs[list(layers_to_run(6, drop))] += 1
    sigma = math.sqrt(trials * drop * (1 - drop))

    assert ((runs - trials * (1 - drop)).abs() < 4.5 * sigma).all()


def test_without_drop_every_layer_runs_in_order() -> None:
    assert list(layers_to_run(4, 0.0)) == [0, 1, 2, 3]


def test_in_use_every_layer_runs() -> None:
    dropping, whole = decoder_only(layer_drop=0.9), decoder_only()
    whole.load_state_dict(dropping.state_dict())
    ids = random_ids(2, 5)

    assert torch.equal(dropping(ids), whole(ids))


def test_a_skipped_layer_has_no_gradient_and_the_others_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.nn.stack.layers_to_run", lambda n, drop: [0, 2] if drop else range(n))
    model = encoder_decoder(layer_drop=0.5, n_encoder_layers=3, n_decoder_layers=3).train()
    model(random_ids(2, 5), random_ids(2, 4)).square().sum().backward()
    for blocks in (model.encoder.blocks, model.decoder.blocks):
        has_gradient = [[p.grad is not None for p in block.parameters()] for block in blocks]

        assert [all(has) for has in has_gradient] == [True, False, True]
        assert not any(has_gradient[1])


def test_skipping_a_layer_is_passing_its_input_on(monkeypatch: pytest.MonkeyPatch) -> None:
    model = decoder_only(layer_drop=0.5, n_decoder_layers=3)
    shorter = decoder_only(n_decoder_layers=2)
    kept = {
        name.replace("blocks.2", "blocks.1"): value
        for name, value in model.state_dict().items()
        if "blocks.1" not in name
    }
    shorter.load_state_dict(kept)
    monkeypatch.setattr("glassformer.nn.stack.layers_to_run", lambda n, drop: [0, 2] if drop else range(n))
    ids = random_ids(2, 5)

    assert torch.equal(model.train()(ids), shorter(ids))
