"""Logits to probabilities, hidden states to one vector, images to classes."""

import pytest
import torch
from torch import Tensor

from glassformer.nn import probabilities
from tests.support.equality import assert_exact, assert_near
from tests.support.models import decoder_only, encoder_decoder, encoder_only, random_ids


@pytest.fixture
def logits() -> Tensor:
    return torch.randn(2, 3, 7, dtype=torch.float64)


def test_at_temperature_1_probabilities_are_the_softmax(logits: Tensor) -> None:
    powers = logits.exp()

    assert_exact(probabilities(logits), powers / powers.sum(-1, keepdim=True))


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_a_temperature_divides_the_logits(logits: Tensor, temperature: float) -> None:
    powers = (logits / temperature).exp()

    assert_exact(probabilities(logits, temperature), powers / powers.sum(-1, keepdim=True))


def test_half_the_temperature_squares_the_odds(logits: Tensor) -> None:
    odds = probabilities(logits)[..., 0] / probabilities(logits)[..., 1]
    surer = probabilities(logits, 0.5)

    torch.testing.assert_close(surer[..., 0] / surer[..., 1], odds**2)


def test_temperature_0_puts_everything_on_the_best(logits: Tensor) -> None:
    sure = probabilities(logits, 0)

    assert torch.equal(sure.argmax(-1), logits.argmax(-1))
    assert torch.equal(sure.sum(-1), torch.ones(2, 3, dtype=torch.float64))
    assert sure.unique().tolist() == [0, 1]
    assert sure.dtype == logits.dtype


def test_a_low_temperature_comes_near_to_0(logits: Tensor) -> None:
    assert_near(probabilities(logits, 1e-4), probabilities(logits, 0))


def test_embeddings_have_length_1() -> None:
    model = encoder_only(head="embedding")

    assert_near(model(random_ids(3, 5)).norm(dim=-1), torch.ones(3))


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_one_vector_is_the_mean_or_the_first(pooling: str) -> None:
    model = encoder_only(pooling=pooling)
    hidden = torch.randn(2, 4, 16)

    assert_near(model.pool(hidden), hidden.mean(1) if pooling == "mean" else hidden[:, 0])


def test_an_embedding_is_scaled_by_the_root_of_d_model_when_asked() -> None:
    ids = random_ids(1, 3)
    scaled, plain = decoder_only().embedding, decoder_only(scale_embedding=False).embedding

    assert_near(scaled(ids), scaled.weight[ids] * 4)
    assert torch.equal(plain(ids), plain.weight[ids])


def test_patches_are_read_left_to_right_and_top_to_bottom() -> None:
    patches = {"height": 4, "width": 6, "size": 2, "channels": 3}
    model = encoder_only(head="classifier", patches=patches).double()
    image = torch.randn(1, 3, 4, 6).double()
    embedding = model.embedding
    parameters = dict(embedding.named_parameters())
    weight, bias = parameters["project.weight"].flatten(1), parameters["project.bias"]
    corners = [(row, column) for row in (0, 2) for column in (0, 2, 4)]
    expected = [weight @ image[0, :, r : r + 2, c : c + 2].flatten() + bias for r, c in corners]

    assert_exact(embedding(image)[0], torch.stack(expected))


def test_guesses_can_be_made_for_some_positions_only() -> None:
    model = encoder_only(output_bias=True)
    ids = random_ids(2, 6)
    hidden = model.encode(ids)

    assert_near(model.guessed(hidden[:, [1, 4]]), model(ids)[:, [1, 4]])


def test_logits_are_those_of_the_shared_matrix() -> None:
    model = encoder_decoder()
    hidden = torch.randn(1, 2, 16)

    assert_near(model.output(hidden), hidden @ model.target_embedding.weight.T)
