"""What a model cannot take is told in words, not by a traceback from within torch."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from glassformer.config import ModelConfig
from glassformer.errors import ConfigError, InputError
from glassformer.nn import DecoderOnly, EncoderDecoder, EncoderOnly, Transformer
from glassformer.nn.positions import LearnedPositions
from tests.support.models import (
    decoder_only,
    encoder_decoder,
    encoder_only,
    random_ids,
    read_ids,
    tiny_config,
)


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(InputError) as error:
        action()
    assert error.value.__cause__ is None
    return str(error.value)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (
            torch.ones(4, dtype=torch.long),
            "text ids have shape (4,) and type int64; give integers of shape (batch, length)",
        ),
        (
            torch.ones(1, 2, 3, dtype=torch.long),
            "text ids have shape (1, 2, 3) and type int64; give integers of shape (batch, length)",
        ),
        (
            torch.ones(2, 3),
            "text ids have shape (2, 3) and type float32; give integers of shape (batch, length)",
        ),
        (
            torch.ones(2, 3, dtype=torch.bool),
            "text ids have shape (2, 3) and type bool; give integers of shape (batch, length)",
        ),
        (torch.tensor([[1, 17]]), "text id 17 is outside the vocabulary of 17; ids run from 0 to 16"),
        (torch.tensor([[1, -1]]), "text id -1 is outside the vocabulary of 17; ids run from 0 to 16"),
        (
            torch.ones(1, 49, dtype=torch.long),
            "a text of 49 tokens is longer than the 48 that max_length leaves; "
            "split it, or train with a larger max_length",
        ),
    ],
)
@pytest.mark.parametrize("build", [decoder_only, encoder_only])
def test_ids_that_a_model_cannot_read_are_refused(
    build: Callable[[], Transformer], ids: Tensor, message: str
) -> None:
    model = build()

    assert refused(lambda: read_ids(model, ids)) == message


def test_source_and_target_are_told_apart() -> None:
    model = encoder_decoder(source_vocab_size=9, tying="two-way")
    fine, wrong = random_ids(1, 3, vocabulary=9), torch.tensor([[12]])

    assert refused(lambda: model(wrong, fine)) == (
        "source id 12 is outside the vocabulary of 9; ids run from 0 to 8"
    )
    assert refused(lambda: model(fine, wrong + 5)) == (
        "target id 17 is outside the vocabulary of 17; ids run from 0 to 16"
    )
    assert model(fine, wrong).shape == (1, 1, 17)


def test_the_last_id_and_the_longest_text_are_taken() -> None:
    assert decoder_only(positions="learned")(torch.full((1, 48), 16)).shape == (1, 48, 17)


def test_small_integers_are_ids_too() -> None:
    model, ids = decoder_only(), random_ids(2, 3)

    assert torch.equal(model(ids.to(torch.int32)), model(ids))


def test_cached_positions_count_towards_the_limit() -> None:
    translator, language_model = encoder_decoder(), decoder_only()
    cache, past = translator.remember(translator.encode(random_ids(1, 3))), language_model.remember()
    translator.decode(random_ids(1, 46), cache)
    language_model.decode(random_ids(1, 47), past)

    assert refused(lambda: translator.decode(random_ids(1, 3), cache)) == (
        "a target of 3 tokens is longer than the 2 that max_length leaves; "
        "split it, or train with a larger max_length"
    )
    assert refused(lambda: language_model.decode(random_ids(1, 2), past)) == (
        "a text of 2 tokens is longer than the 1 that max_length leaves; "
        "split it, or train with a larger max_length"
    )


def test_a_sequence_longer_than_the_learned_positions_is_refused() -> None:
    positions = LearnedPositions(4, 6)

    assert refused(lambda: positions(torch.tensor([[0, 4]]), torch.zeros(1, 2, 6))) == (
        "a sequence of 5 tokens is longer than the 4 learned positions; "
        "split it, or train with a larger max_length"
    )


@pytest.mark.parametrize("shape", [(2, 8, 8), (2, 3, 8, 8), (2, 1, 8, 9), (2, 1, 16, 4), (4,)])
def test_images_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    patches = {"height": 8, "width": 8, "size": 2}
    model = encoder_only(head="classifier", patches=patches)

    assert model(torch.zeros(2, 1, 8, 8)).shape == (2, 2)
    assert refused(lambda: model.embedding(torch.zeros(shape))) == (
        f"images are {shape}, but this model reads (batch, channels, height, width) with (1, 8, 8)"
    )


@pytest.mark.parametrize(("dtype", "name"), [(torch.uint8, "uint8"), (torch.float64, "float64")])
def test_images_of_another_type_are_refused(dtype: torch.dtype, name: str) -> None:
    model = encoder_only(head="classifier", patches={"height": 8, "width": 8, "size": 2})

    assert refused(lambda: model(torch.zeros(2, 1, 8, 8, dtype=dtype))) == (
        f"images are {name}, but this model computes in float32; convert and scale them"
    )


@pytest.mark.parametrize(
    ("cls", "family", "message"),
    [
        (
            EncoderDecoder,
            "decoder-only",
            'family = "decoder-only" is not "encoder-decoder"; build_model(config) picks the class that fits',
        ),
        (
            DecoderOnly,
            "encoder-only",
            'family = "encoder-only" is not "decoder-only"; build_model(config) picks the class that fits',
        ),
        (
            EncoderOnly,
            "encoder-decoder",
            'family = "encoder-decoder" is not "encoder-only"; build_model(config) picks the class that fits',
        ),
    ],
)
def test_a_class_refuses_another_familys_settings(
    cls: Callable[[ModelConfig], Transformer], family: str, message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        cls(tiny_config(family=family))

    assert str(error.value) == message


def test_a_head_is_not_asked_for_what_it_cannot_do() -> None:
    guesser, classifier = encoder_only(), encoder_only(head="classifier")
    ids = random_ids(1, 3)

    assert refused(lambda: guesser.classify(ids)) == (
        'a model with head = "masked-lm" cannot classify; that needs head = "classifier"'
    )
    assert refused(lambda: classifier.fill(ids)) == (
        'a model with head = "classifier" cannot fill in blanks; that needs head = "masked-lm"'
    )
    assert guesser.embed(ids).shape == classifier.embed(ids).shape == (1, 16)
