"""Fresh weights are as documented, and a seed fixes them."""

import math
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from glassformer.nn import EncoderDecoder, EncoderOnly, build_model
from tests.support.models import FAMILIES, tiny_config


@pytest.fixture(autouse=True)
def _no_graph() -> Iterator[None]:
    with torch.no_grad():
        yield


WIDE: dict[str, object] = {"vocab_size": 600, "d_model": 64, "d_ff": 128, "output_bias": True}


@pytest.mark.parametrize("family", FAMILIES)
def test_matrices_are_xavier_uniform_and_biases_zero(family: str) -> None:
    model = build_model(tiny_config(family=family, gated=True, **WIDE))
    maps = [module for module in model.modules() if isinstance(module, nn.Linear)]

    assert len(maps) >= 14
    for linear in maps:
        bound = math.sqrt(6 / (linear.in_features + linear.out_features))
        assert linear.weight.abs().max() <= bound
        assert linear.weight.abs().max() > 0.97 * bound
        assert float(linear.weight.std()) == pytest.approx(bound / math.sqrt(3), rel=0.1)
        assert (linear.bias == 0).all()


@pytest.mark.parametrize("tying", ["three-way", "two-way", "none"])
def test_embeddings_and_output_have_variance_one_over_d_model(tying: str) -> None:
    model = build_model(tiny_config(tying=tying, **WIDE))
    assert isinstance(model, EncoderDecoder)
    for weight in (model.source_embedding.weight, model.target_embedding.weight, model.output.weight):
        assert float(weight.var()) * 64 == pytest.approx(1, rel=0.05)
        assert abs(float(weight.mean())) < 5 / 8 / math.sqrt(weight.numel())
    assert model.output.bias is not None
    assert (model.output.bias == 0).all()


def test_scaled_embeddings_enter_the_stack_with_variance_1() -> None:
    model = build_model(tiny_config(**WIDE))
    assert isinstance(model, EncoderDecoder)

    assert float(model.target_embedding(torch.arange(600)[None]).var()) == pytest.approx(1, rel=0.05)


def test_learned_positions_start_at_a_tenth_of_the_embeddings() -> None:
    model = build_model(tiny_config(family="encoder-only", positions="learned", max_length=500, **WIDE))
    positions = dict(model.named_parameters())["front.positions.weight"]

    assert float(positions.std()) * 8 == pytest.approx(0.1, rel=0.05)


def test_norms_start_as_the_identity() -> None:
    model = build_model(tiny_config(norm="sandwich", **WIDE))
    norms = [module for module in model.modules() if isinstance(module, nn.LayerNorm)]

    assert all((norm.weight == 1).all() and (norm.bias == 0).all() for norm in norms)
    assert len(norms) == 2 * 4 + 1 + 2 * 6 + 1  # two in each residual, and one at the end of each stack


def test_patches_are_projected_xavier_uniformly() -> None:
    patches = {"height": 16, "width": 16, "size": 4, "channels": 3}
    config = tiny_config(family="encoder-only", head="classifier", patches=patches, **WIDE)
    model = build_model(config)
    assert isinstance(model, EncoderOnly)
    parameters = dict(model.named_parameters())
    weight, bound = parameters["embedding.project.weight"], math.sqrt(6 / (3 * 4 * 4 + 64))

    assert 0.97 * bound < float(weight.abs().max()) <= bound
    assert (parameters["embedding.project.bias"] == 0).all()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("positions", ["learned", "relative"])
def test_a_seed_fixes_every_weight(family: str, positions: str) -> None:
    models = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        models.append(build_model(tiny_config(family=family, positions=positions)).state_dict())
    drawn = [name for name, value in models[0].items() if value.std() > 0 and (value != 1).any()]

    assert all(torch.equal(models[0][name], models[1][name]) for name in models[0])
    assert not any(torch.equal(models[0][name], models[2][name]) for name in drawn)


def test_a_tied_matrix_is_drawn_once() -> None:
    """So a tied model takes as much from the generator as it has weights, and no more."""
    draws = []
    for tying in ("three-way", "none"):
        calls: list[int] = []
        original = nn.init.normal_

        def counted(tensor: torch.Tensor, mean: float = 0.0, std: float = 1.0) -> torch.Tensor:
            calls.append(tensor.numel())  # noqa: B023
            return original(tensor, mean, std)  # noqa: B023

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(nn.init, "normal_", counted)
            build_model(tiny_config(tying=tying))
        draws.append(calls)

    assert draws == [[17 * 16], [17 * 16] * 3]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("positions", ["learned", "relative"])
def test_nothing_is_left_undrawn(family: str, positions: str) -> None:
    """Memory that was never written to may hold anything: every weight is drawn or set."""
    torch.use_deterministic_algorithms(True)  # fills empty tensors with NaN
    try:
        model = build_model(tiny_config(family=family, positions=positions, output_bias=True))
    finally:
        torch.use_deterministic_algorithms(False)

    assert all(value.isfinite().all() for value in model.parameters())
