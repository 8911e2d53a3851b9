"""Every switch works with every other: forward, backward, a finite gradient for each parameter."""

import pytest
import torch

from glassformer.config import ModelConfig, preset_names, preset_table
from glassformer.nn import EncoderDecoder, Transformer, build_model, cross_entropy, token_mask
from tests.support.equality import finite_gradients
from tests.support.models import (
    FAMILIES,
    PAD,
    POSITIONS,
    decoder_only,
    encoder_only,
    pad,
    random_ids,
    tiny_config,
)
from tests.support.pairs import Switches, covering, every_pair, pairs

SWITCHES: Switches = {
    "family": FAMILIES,
    "positions": POSITIONS,
    "norm": ("post", "pre", "sandwich"),
    "norm_kind": ("layer", "rms"),
    "activation": ("relu", "gelu", "gelu-tanh", "silu"),
    "gated": (False, True),
    "tying": ("three-way", "two-way", "none"),
    "n_kv_heads": (None, 1, 2),
    "d_k": (None, 6),
    "d_v": (None, 3),
    "embedding_norm": (False, True),
    "scale_embedding": (False, True),
    "bias": (False, True),
    "output_bias": (False, True),
    "dropout": (0.0, 0.2),
    "attention_dropout": (0.0, 0.2),
    "activation_dropout": (0.0, 0.2),
}
COMBINATIONS = covering(SWITCHES)


def learn_once(model: Transformer) -> None:
    """One loss and its gradients, from a batch with padding in it."""
    ids = torch.stack([pad(random_ids(4), 7, "right"), random_ids(7)])
    mask = token_mask(ids, PAD)
    logits = model(ids, random_ids(2, 7), mask) if isinstance(model, EncoderDecoder) else model(ids, mask)
    loss = cross_entropy(logits[mask[:, 0, 0]], ids[mask[:, 0, 0]], 0.1).smoothed
    loss.backward()

    assert logits.shape == (2, 7, 17)
    assert loss.isfinite()


def test_the_combinations_hold_every_pair_of_switches() -> None:
    held = set().union(*(pairs(combination) for combination in COMBINATIONS))

    assert held == every_pair(SWITCHES)
    assert len(COMBINATIONS) < 60


@pytest.mark.parametrize("settings", COMBINATIONS, ids=str)
def test_every_pair_of_switches_learns(settings: dict[str, object]) -> None:
    model = build_model(tiny_config(**settings)).train()
    learn_once(model)

    assert finite_gradients(model)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_learns_at_a_smaller_width(name: str) -> None:
    switches = {
        key: value
        for key, value in preset_table(name).items()
        if key not in ("d_model", "d_ff", "n_heads", "n_encoder_layers", "n_decoder_layers")
    }
    model = build_model(tiny_config(**switches)).train()
    learn_once(model)

    assert finite_gradients(model)


@pytest.mark.parametrize("name", ["tiny", "tiny-lm", "tiny-mlm"])
def test_the_smallest_presets_learn_as_they_are(name: str) -> None:
    model = build_model(ModelConfig.preset(name, vocab_size=17)).train()
    learn_once(model)

    assert finite_gradients(model)


@pytest.mark.parametrize("pooling", ["mean", "first"])
@pytest.mark.parametrize("head", ["classifier", "embedding"])
@pytest.mark.parametrize("images", [False, True])
def test_every_head_learns(pooling: str, head: str, images: bool) -> None:
    patches = {"height": 4, "width": 4, "size": 2} if images else None
    settings: dict[str, object] = {
        "head": head,
        "pooling": pooling,
        "patches": patches,
        "positions": "rotary",
    }
    model = encoder_only(**settings).train()
    result = model(torch.randn(2, 1, 4, 4)) if images else model(random_ids(2, 4))
    result.square().flatten()[::3].sum().backward()

    assert result.shape == ((2, 2) if head == "classifier" else (2, 16))
    assert finite_gradients(model)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("positions", POSITIONS)
def test_every_kind_of_position_keeps_the_precision_of_the_model(positions: str, dtype: torch.dtype) -> None:
    model = decoder_only(positions=positions).to(dtype)
    with torch.no_grad():
        logits = model(random_ids(1, 5))

    assert logits.dtype == dtype
    assert logits.isfinite().all()
