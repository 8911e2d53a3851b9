"""Blanks, labels and vectors."""

from pathlib import Path

import pytest
import torch

from glassformer.decoding import TextEncoder, load
from glassformer.errors import InputError
from tests.unit.decoding.texts import text_encoder, tokenizer

TEXTS = ["The cat sat on the mat.", "", "A dog.", " \t", "日本語です。"]


def test_each_blank_gets_its_guesses() -> None:
    found, other = text_encoder().fill(["The [MASK] sat on the [MASK].", "[MASK]"], top=3)

    assert [len(guesses) for guesses in found] == [3, 3] and len(other) == 1
    for guesses in (*found, *other):
        chances = [guess.probability for guess in guesses]
        assert chances == sorted(chances, reverse=True)
        assert all(guess.id >= tokenizer().vocabulary.n_control for guess in guesses)
    assert text_encoder().fill(["The ___ sat."], marker="___")


def test_guesses_do_not_depend_on_neighbours() -> None:
    texts = ["The [MASK] sat on the mat and the cat.", "[MASK] dog."]
    together = text_encoder().fill(texts)

    for text, found in zip(texts, together, strict=True):
        (alone,) = text_encoder().fill([text])
        assert [[guess.id for guess in guesses] for guesses in alone] == [
            [guess.id for guess in guesses] for guesses in found
        ]


def test_a_text_without_a_blank_is_refused() -> None:
    with pytest.raises(InputError) as error:
        text_encoder().fill(["The cat."])

    assert str(error.value) == "there is no [MASK] to fill; write it where a word is missing"
    with pytest.raises(InputError, match=r"^text 2: a text of 62 tokens is longer than max_length = 40"):
        text_encoder().embed(["cat", "cat " * 60])


def test_labels_are_ranked_and_sum_to_one() -> None:
    encoder = text_encoder(head="classifier", n_classes=3, labels=("bad", "so-so", "good"))
    found = encoder.classify(TEXTS)

    assert [len(labels) for labels in found] == [3, 0, 3, 0, 3]
    for labels in found:
        if labels:
            assert sum(label.probability for label in labels) == pytest.approx(1)
            assert {label.name for label in labels} == {"bad", "so-so", "good"}
            assert labels[0].probability == max(label.probability for label in labels)
    assert {label.name for label in text_encoder(head="classifier").classify(["A dog."])[0]} == {"0", "1"}


@pytest.mark.parametrize("pool", [None, "mean", "first"])
def test_vectors_have_length_one_and_blank_ones_none(pool: str | None) -> None:
    encoder = text_encoder(head="embedding")
    vectors = encoder.embed(TEXTS, pool=pool)  # type: ignore[arg-type]

    assert vectors.shape == (5, 16)
    assert vectors.norm(dim=-1).tolist() == pytest.approx([1, 0, 1, 0, 1])
    for i in (0, 2, 4):
        alone = encoder.embed([TEXTS[i]], pool=pool)  # type: ignore[arg-type]
        assert torch.allclose(vectors[i], alone[0], atol=1e-5)


def test_a_mean_leaves_padding_out() -> None:
    encoder = text_encoder(head="embedding", pooling="first")
    vectors = encoder.embed(TEXTS, pool="mean")

    assert torch.allclose(vectors[2], encoder.embed([TEXTS[2]], pool="mean")[0], atol=1e-5)
    assert not torch.allclose(vectors[2], encoder.embed([TEXTS[2]])[0], atol=1e-3)


def test_lengths_are_kept_when_asked() -> None:
    encoder = text_encoder(head="embedding")
    free = encoder.embed(TEXTS, normalize=False)

    assert torch.allclose(torch.nn.functional.normalize(free, dim=-1), encoder.embed(TEXTS))


def test_similarity_is_the_cosine() -> None:
    encoder = text_encoder(head="embedding")
    found = encoder.similarity(TEXTS)

    assert found.shape == (5, 5)
    assert found.diagonal().tolist() == pytest.approx([1, 0, 1, 0, 1], abs=1e-6)
    assert encoder.similarity(TEXTS[:2], TEXTS).shape == (2, 5)


def test_a_wrong_head_says_what_it_needs() -> None:
    with pytest.raises(InputError, match='cannot classify; that needs head = "classifier"'):
        text_encoder().classify(["A dog."])


def test_a_directory_gives_back_the_encoder(tmp_path: Path) -> None:
    encoder = text_encoder()
    encoder.save_pretrained(tmp_path / "encoder")

    assert isinstance(load(tmp_path / "encoder"), TextEncoder)
    assert TextEncoder.from_pretrained(tmp_path / "encoder").fill(["A [MASK]."]) == encoder.fill(
        ["A [MASK]."]
    )
