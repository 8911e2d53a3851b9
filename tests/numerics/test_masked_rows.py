"""A query that may look nowhere gets exactly 0, and NaN at a padded position stays there."""

import pytest
import torch
from torch import Tensor

from glassformer.nn import MultiHeadAttention, Sight, attention, causal_mask, combine, token_mask
from tests.support.equality import assert_near, finite_gradients
from tests.support.models import (
    FAMILIES,
    PAD,
    POSITIONS,
    encoder_decoder,
    pad,
    random_ids,
    read_ids,
    shake,
    tiny_model,
)

NAN = float("nan")


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_query_that_may_look_nowhere_gets_zero_and_finite_gradients(
    biased: bool, dtype: torch.dtype
) -> None:
    q, k, v = (torch.randn(2, 2, 4, 8, dtype=dtype, requires_grad=True) for _ in range(3))
    bias = torch.randn(1, 2, 4, 4, dtype=dtype, requires_grad=True) if biased else None
    mask = torch.ones(2, 1, 4, 4, dtype=torch.bool)
    mask[0, :, 1] = False
    mask[1] = False
    heads = attention(q, k, v, Sight(mask, bias=bias))
    heads.sum().backward()
    free = attention(q, k, v, Sight(bias=bias))

    assert (heads[0, :, 1] == 0).all()
    assert (heads[1] == 0).all()
    assert_near(heads[0, :, [0, 2, 3]], free[0, :, [0, 2, 3]], 1e-6 if dtype != torch.bfloat16 else 2e-2)
    for tensor in (q, k, v) if bias is None else (q, k, v, bias):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()
    assert q.grad is not None
    assert (q.grad[0, :, 1] == 0).all()
    assert (q.grad[1] == 0).all()


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_an_empty_sentence_is_finite_and_leaves_its_neighbours_alone(family: str, positions: str) -> None:
    model = tiny_model(family=family, positions=positions, embedding_norm=True)
    ids = random_ids(3, 5)
    ids[1] = PAD
    batch = read_ids(model, ids, token_mask(ids, PAD))
    batch.square().sum().backward()

    assert batch.isfinite().all()
    assert_near(batch[[0, 2]], read_ids(model, ids[[0, 2]]), 1e-5)
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert all(gradient.isfinite().all() for gradient in gradients)


def spoil(table: Tensor) -> None:
    with torch.no_grad():
        table[PAD] = NAN


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("settings", [{}, {"norm": "pre", "embedding_norm": True}])
def test_a_padding_id_that_is_nan_reaches_no_result_and_no_gradient(
    family: str, side: str, positions: str, settings: dict[str, object]
) -> None:
    model = tiny_model(family=family, positions=positions, tying="none", **settings)
    ids = torch.stack([pad(random_ids(3), 6, side), random_ids(6), pad(random_ids(1), 6, side)])
    mask = token_mask(ids, PAD)
    clean = read_ids(model, ids, mask)
    tables = [p for name, p in model.named_parameters() if name.endswith("embedding.weight")]
    for table in tables:
        spoil(table)
    spoiled = read_ids(model, ids, mask)
    spoiled[mask[:, 0, 0]].square().sum().backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}

    assert torch.equal(spoiled[mask[:, 0, 0]], clean[mask[:, 0, 0]])
    assert len(gradients) > 20
    assert [name for name, gradient in gradients.items() if not gradient.isfinite().all()] == []
    assert all((p.grad[PAD] == 0).all() for p in tables if p.grad is not None)


def test_a_memory_with_nan_at_padding_reaches_no_result_and_no_gradient() -> None:
    model = encoder_decoder()
    source, target = random_ids(2, 6), random_ids(2, 4)
    source[0, 4:] = PAD
    mask = token_mask(source, PAD)
    memory = model.encode(source, mask).detach()
    clean = model.output(model.decode(target, model.remember(memory, mask)))
    memory[0, 4:] = NAN
    memory.requires_grad_()
    spoiled = model.output(model.decode(target, model.remember(memory, mask)))
    spoiled.square().sum().backward()

    assert torch.equal(spoiled, clean)
    assert memory.grad is not None
    assert (memory.grad[0, 4:] == 0).all()
    assert memory.grad.isfinite().all()
    assert finite_gradients(model.decoder)


def test_the_whole_translation_survives_an_empty_source() -> None:
    model = encoder_decoder()
    source, target = random_ids(2, 6), random_ids(2, 4)
    source[0] = PAD
    logits = model(source, target, token_mask(source, PAD))
    logits.sum().backward()

    assert logits.isfinite().all()
    assert finite_gradients(model)
    assert_near(logits[1:], model(source[1:], target[1:]), 1e-5)


def test_padding_on_the_left_of_a_causal_attention_is_a_row_of_nothing() -> None:
    ids = torch.tensor([[PAD, PAD, 3, 4]])
    mask = combine(token_mask(ids, PAD), causal_mask(4))
    attention_layer = shake(MultiHeadAttention(8, 2, bias=False))
    out = attention_layer(torch.randn(1, 4, 8), Sight(token_mask(ids, PAD), causal=True))

    assert mask is not None
    assert mask[0, 0].any(-1).tolist() == [False, False, True, True]
    assert (out[0, :2] == 0).all()
    assert (out[0, 2:] != 0).all()
