"""The future is invisible: no gradient comes from it, and changing it changes no bit."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.models import POSITIONS, decoder_only, encoder_decoder, random_ids

LENGTH = 6


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("norm", ["post", "pre", "sandwich"])
def test_the_future_has_no_gradient_in_a_language_model(positions: str, norm: str) -> None:
    model = decoder_only(positions=positions, norm=norm, n_kv_heads=2)
    x = torch.randn(2, LENGTH, 16, requires_grad=True)
    hidden = model.decoder(x, None, torch.arange(LENGTH)[None], model.remember())
    for t in range(LENGTH):
        (gradient,) = torch.autograd.grad(hidden[:, t].square().sum(), x, retain_graph=True)

        assert (gradient[:, t + 1 :] == 0).all()
        assert (gradient[:, : t + 1] != 0).any(-1).all()


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("norm", ["post", "pre", "sandwich"])
def test_the_future_has_no_gradient_in_a_decoder_with_a_memory(positions: str, norm: str) -> None:
    model = encoder_decoder(positions=positions, norm=norm)
    x = torch.randn(2, LENGTH, 16, requires_grad=True)
    memory = torch.randn(2, 4, 16, requires_grad=True)
    hidden = model.decoder(x, torch.arange(LENGTH)[None], model.remember(memory))
    for t in range(LENGTH):
        loss = hidden[:, t].square().sum()
        gradient, from_memory = torch.autograd.grad(loss, [x, memory], retain_graph=True)

        assert (gradient[:, t + 1 :] == 0).all()
        assert (gradient[:, : t + 1] != 0).any(-1).all()
        assert (from_memory != 0).any(-1).all()


@pytest.mark.parametrize("positions", POSITIONS)
@settings(deadline=None, max_examples=20)
@given(t=st.integers(0, 8), seed=st.integers(0, 2**32))
def test_no_change_after_a_position_changes_a_bit_of_it(positions: str, t: int, seed: int) -> None:
    torch.manual_seed(seed)
    language_model, translator = decoder_only(positions=positions), encoder_decoder(positions=positions)
    source, target = random_ids(2, 5), random_ids(2, 10)
    changed = target.clone()
    changed[:, t + 1 :] = random_ids(2, 9 - t)
    with torch.no_grad():
        assert torch.equal(language_model(target)[:, : t + 1], language_model(changed)[:, : t + 1])
        assert torch.equal(translator(source, target)[:, : t + 1], translator(source, changed)[:, : t + 1])


def test_a_change_of_the_past_does_change_the_present() -> None:
    model = decoder_only()
    ids = random_ids(1, 6)
    changed = ids.clone()
    changed[0, 0] = ids[0, 0] % 16 + 1

    assert (model(ids)[0, 1:] != model(changed)[0, 1:]).any(-1).all()
