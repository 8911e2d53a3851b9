"""Which matrices are one, and what parameters are called."""

import pytest
import torch

from glassformer.nn import EncoderOnly, build_model, parameter_count
from tests.support.models import decoder_only, encoder_decoder, encoder_only, random_ids, tiny_config

TABLES = {
    "three-way": ["target_embedding.weight"],
    "two-way": ["source_embedding.weight", "target_embedding.weight"],
    "none": ["output.weight", "source_embedding.weight", "target_embedding.weight"],
}


@pytest.mark.parametrize("tying", TABLES)
def test_an_encoder_decoder_has_as_many_tables_as_tying_says(tying: str) -> None:
    model = encoder_decoder(tying=tying)
    names = [name for name, _ in model.named_parameters()]
    tables = sorted(name for name in names if "embedding" in name or name.startswith("output"))

    assert tables == TABLES[tying]
    assert (model.source_embedding.weight is model.target_embedding.weight) is (tying == "three-way")
    assert (model.output.weight is model.target_embedding.weight) is (tying != "none")


@pytest.mark.parametrize("tying", ["three-way", "two-way", "none"])
def test_lone_stacks_tie_their_output_unless_told_not_to(tying: str) -> None:
    language_model, encoder = decoder_only(tying=tying), encoder_only(tying=tying)
    assert encoder.output is not None

    assert (language_model.output.weight is language_model.embedding.weight) is (tying != "none")
    assert (encoder.output.weight is encoder.embedding.weight) is (tying != "none")


def test_two_vocabularies_have_two_tables() -> None:
    model = encoder_decoder(tying="two-way", source_vocab_size=23)

    assert model.source_embedding.weight.shape == (23, 16)
    assert model.target_embedding.weight.shape == (17, 16)
    assert model(torch.full((1, 3), 22), random_ids(1, 3)).shape == (1, 3, 17)


def test_tied_matrices_stay_one_through_loading_and_learning() -> None:
    model, other = encoder_decoder(), encoder_decoder()
    model.load_state_dict(other.state_dict())
    model(random_ids(2, 4), random_ids(2, 4)).sum().backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()

    assert model.output.weight is model.source_embedding.weight is model.target_embedding.weight
    assert not torch.equal(model.output.weight, other.output.weight)


def test_a_tied_matrix_learns_from_all_its_places() -> None:
    """Its gradient is the sum of those that three separate tables would get."""
    tied, apart = encoder_decoder(tying="three-way"), encoder_decoder(tying="none")
    weights = tied.state_dict()
    apart.load_state_dict(weights)
    source, target = random_ids(2, 4), random_ids(2, 4)
    for model in (tied, apart):
        model(source, target).square().sum().backward()
    parts = [table.weight.grad for table in (apart.source_embedding, apart.target_embedding, apart.output)]

    torch.testing.assert_close(tied.output.weight.grad, sum(part for part in parts if part is not None))


def test_a_tied_matrix_counts_once() -> None:
    difference = parameter_count(encoder_decoder(tying="none")) - parameter_count(encoder_decoder())

    assert difference == 2 * 17 * 16


def test_parameters_are_named_as_phrases() -> None:
    names = set(build_model(tiny_config(norm="pre", n_decoder_layers=4, gated=True)).state_dict())

    assert {
        "source_embedding.weight",
        "encoder.blocks.0.attention.query.weight",
        "encoder.blocks.1.feed_forward.expand.bias",
        "encoder.norm.weight",
        "decoder.blocks.3.attention.query.weight",
        "decoder.blocks.3.attention_residual.norm.weight",
        "decoder.blocks.0.cross_attention.output.bias",
        "decoder.blocks.0.cross_attention_residual.norm.bias",
        "decoder.blocks.0.feed_forward.gate.weight",
        "decoder.blocks.0.feed_forward.contract.weight",
        "decoder.blocks.0.feed_forward_residual.norm.weight",
        "decoder.norm.bias",
        "output.weight",
    } <= names
    assert len(names) == 3 + 2 * 18 + 4 * 28 + 4


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"positions": "learned"}, {"front.positions.weight", "guess.dense.weight", "guess.norm.bias"}),
        ({"positions": "relative"}, {"encoder.sight.bias.weight"}),
        ({"embedding_norm": True, "output_bias": True}, {"front.norm.weight", "output.bias"}),
        ({"head": "classifier"}, {"classes.weight", "classes.bias"}),
        ({"norm": "sandwich"}, {"encoder.blocks.0.attention_residual.norm_after.weight"}),
    ],
)
def test_switches_add_the_parameters_they_need(settings: dict[str, object], expected: set[str]) -> None:
    plain = set(build_model(tiny_config(family="encoder-only", head="embedding")).state_dict())
    names = set(build_model(tiny_config(family="encoder-only", **settings)).state_dict())

    assert expected <= names - plain


def test_a_model_that_only_embeds_has_no_output() -> None:
    model = build_model(tiny_config(family="encoder-only", head="embedding"))
    assert isinstance(model, EncoderOnly)

    assert (model.output, model.guess, model.classes) == (None, None, None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_state_that_is_saved_and_loaded_is_bit_equal(dtype: torch.dtype) -> None:
    saved = encoder_decoder(norm="pre").to(dtype)
    loaded = encoder_decoder(norm="pre").to(dtype)
    loaded.load_state_dict(saved.state_dict())

    assert all(torch.equal(a, b) for a, b in zip(saved.parameters(), loaded.parameters(), strict=True))
