"""Padding, neighbours and their order change nothing: a sentence's result is its own."""

import functools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.nn import EncoderDecoder, EncoderOnly, Transformer, padding_mask, token_mask
from tests.support.equality import assert_near
from tests.support.models import (
    FAMILIES,
    PAD,
    POSITIONS,
    encoder_decoder,
    encoder_only,
    pad,
    random_ids,
    read_ids,
    tiny_model,
)


@functools.cache
def model_of(family: str, positions: str) -> Transformer:
    torch.manual_seed(1)
    return tiny_model(family=family, positions=positions, norm="pre", embedding_norm=positions == "learned")


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("family", FAMILIES)
@settings(deadline=None, max_examples=12)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=2, max_size=4),
    more=st.integers(0, 20),
    side=st.sampled_from(["left", "right"]),
    seed=st.integers(0, 2**32),
)
@torch.no_grad()
def test_padding_and_neighbours_change_nothing(
    family: str, positions: str, lengths: list[int], more: int, side: str, seed: int
) -> None:
    torch.manual_seed(seed)
    model, sentences = model_of(family, positions), [random_ids(length) for length in lengths]
    size = max(lengths) + more
    batch = torch.stack([pad(sentence, size, side) for sentence in sentences])
    order = torch.randperm(len(lengths))
    mask = token_mask(batch, PAD)
    hidden = read_ids(model, batch, mask)

    assert_near(read_ids(model, batch[order], mask[order]), hidden[order])
    for sentence, row, real in zip(sentences, hidden, mask[:, 0, 0], strict=True):
        assert_near(row[real], read_ids(model, sentence[None])[0])
    if isinstance(model, EncoderDecoder):
        target = random_ids(len(lengths), 4)
        logits = model(batch, target, mask)
        for sentence, words, row in zip(sentences, target, logits, strict=True):
            assert_near(row, model(sentence[None], words[None])[0])


@pytest.mark.parametrize("positions", POSITIONS)
def test_padding_behind_a_target_changes_nothing_before_it(positions: str) -> None:
    model = encoder_decoder(positions=positions)
    source, target = random_ids(2, 5), random_ids(2, 4)
    longer = torch.cat([target, torch.full((2, 3), PAD)], dim=1)

    assert_near(model(source, longer)[:, :4], model(source, target))


@pytest.mark.parametrize("pooling", ["mean", "first"])
@pytest.mark.parametrize("head", ["classifier", "embedding"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_one_vector_for_a_sentence_knows_no_padding(pooling: str, head: str, side: str) -> None:
    model = encoder_only(pooling=pooling, head=head)
    sentences = [random_ids(3), random_ids(7), random_ids(1)]
    batch = torch.stack([pad(sentence, 9, side) for sentence in sentences])
    result = model(batch, token_mask(batch, PAD))
    for sentence, row in zip(sentences, result, strict=True):
        assert_near(row, model(sentence[None])[0])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_padding_has_no_gradient(family: str, positions: str, side: str) -> None:
    model = tiny_model(family=family, positions=positions, norm="sandwich", tying="none")
    batch = torch.stack([pad(random_ids(3), 6, side), random_ids(6)])
    mask = token_mask(batch, PAD)
    real = mask[:, 0, 0]
    x = torch.randn(2, 6, 16, requires_grad=True)
    places = torch.arange(6)[None]
    match model:
        case EncoderOnly():
            result = model.encoder(x, mask, places)[real]
        case EncoderDecoder():
            memory = model.remember(model.encoder(x, mask, places), mask)
            result = model.decode(random_ids(2, 3), memory)
        case _:
            result = model.decoder(x, mask, places, model.remember())[real]
    (gradient,) = torch.autograd.grad(result.square().sum(), x)

    assert (gradient[~real] == 0).all()
    assert (gradient[real] != 0).any(-1).all()


def test_a_padding_id_has_no_gradient_through_the_whole_model() -> None:
    model = encoder_decoder(tying="two-way")
    source = torch.tensor([[3, 4, PAD, PAD], [5, 6, 7, 8]])
    model(source, random_ids(2, 3), token_mask(source, PAD)).square().sum().backward()
    gradient = model.source_embedding.weight.grad
    assert gradient is not None

    assert (gradient != 0).any(-1).nonzero().flatten().tolist() == [3, 4, 5, 6, 7, 8]


@settings(deadline=None, max_examples=25)
@given(length=st.integers(2, 9), seed=st.integers(0, 2**32))
@torch.no_grad()
def test_without_positions_permuted_tokens_give_permuted_hidden_states(length: int, seed: int) -> None:
    torch.manual_seed(seed)
    encoder, translator = encoder_only(positions="none").double(), encoder_decoder(positions="none").double()
    ids, order, target = random_ids(2, length), torch.randperm(length), random_ids(2, 3)

    assert_near(encoder.encode(ids[:, order]), encoder.encode(ids)[:, order], 1e-10)
    assert_near(translator.encode(ids[:, order]), translator.encode(ids)[:, order], 1e-10)
    assert_near(translator(ids[:, order], target), translator(ids, target), 1e-10)


@pytest.mark.parametrize("positions", [kind for kind in POSITIONS if kind != "none"])
def test_with_positions_order_matters(positions: str) -> None:
    model = encoder_only(positions=positions)
    ids = torch.tensor([[1, 2, 3, 4, 5]])
    order = [1, 0, 2, 4, 3]  # not the reverse: ALiBi sees distances only

    assert (model.encode(ids[:, order]) - model.encode(ids)[:, order]).abs().max() > 1e-2


def test_lengths_and_padding_ids_make_the_same_mask() -> None:
    ids = torch.tensor([[3, 4, PAD], [3, PAD, PAD], [5, 6, 7]])

    assert torch.equal(padding_mask(torch.tensor([2, 1, 3]), 3), token_mask(ids, PAD))
