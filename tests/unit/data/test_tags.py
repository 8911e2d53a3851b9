"""Language tags in token stores: one for each pair that stays, found again, part of the fingerprint."""

from pathlib import Path

import pytest

from glassformer.config import TokenizerConfig, TrainConfig
from glassformer.data import Batches, StoreOptions, TokenStore, build_store, store_fingerprint
from glassformer.errors import DataError
from glassformer.text import Pairs, Tokenizer
from tests.unit.data.prepared import WORDS, made_up_pairs, settings

LANGUAGES = ("fr", "de", "es")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(WORDS * 3, TokenizerConfig(vocab_size=300, languages=LANGUAGES))


def rows(n_pairs: int) -> list[tuple[str, str, str]]:
    """Pairs of three languages; every tenth is empty and is left out."""
    return [
        (source if i % 10 else "", target, LANGUAGES[i * i % 3])
        for i, (source, target) in enumerate(made_up_pairs(n_pairs))
    ]


def test_every_pair_keeps_its_own_tag(tmp_path: Path, tokenizer: Tokenizer) -> None:
    given = rows(95)
    store = build_store(
        tmp_path / "store", Pairs.from_list(given), tokenizer, settings(), StoreOptions(chunk_rows=7)
    )
    kept = [row for row in given if row[0]]

    assert store.tags is not None
    assert store.tags.tolist() == [tokenizer.language_id(language) for _, _, language in kept]
    for batch in Batches(store, tokenizer, TrainConfig(batch_tokens=300)).epoch():
        for row, source, length in zip(batch.rows, batch.source, batch.source_lengths, strict=True):
            text, _, language = kept[row]
            expected = [tokenizer.language_id(language), *tokenizer.encode(text), tokenizer.eos_id]

            assert source[:length].tolist() == expected


def test_dropout_leaves_tags_alone(tmp_path: Path, tokenizer: Tokenizer) -> None:
    options = StoreOptions(keep_text=True)
    store = build_store(tmp_path / "store", Pairs.from_list(rows(30)), tokenizer, settings(), options)
    batch = Batches(store, tokenizer, TrainConfig(), dropout=0.5).batch(0)

    assert store.tags is not None
    assert batch.source[:, 0].tolist() == store.tags[batch.rows.numpy()].tolist()


def test_a_default_is_part_of_what_a_store_is(tmp_path: Path, tokenizer: Tokenizer) -> None:
    corpus = Pairs.from_list(made_up_pairs(9))
    french, german = StoreOptions(language="fr"), StoreOptions(language="de")
    first = build_store(tmp_path / "store", corpus, tokenizer, settings(), french)
    again = build_store(tmp_path / "store", corpus, tokenizer, settings(), german)

    assert first.fingerprint == store_fingerprint(corpus, tokenizer, settings(), french)
    assert again.fingerprint == store_fingerprint(corpus, tokenizer, settings(), german)
    assert first.fingerprint != again.fingerprint
    assert again.tags is not None and set(again.tags.tolist()) == {tokenizer.language_id("de")}


def test_a_store_without_languages_has_no_tags_and_the_fingerprint_it_always_had(tmp_path: Path) -> None:
    """Runs that were begun before pairs had languages can still be resumed."""
    plain = Tokenizer.train(WORDS * 3, TokenizerConfig(vocab_size=300))
    corpus = Pairs.from_list(made_up_pairs(9))
    store = build_store(tmp_path / "store", corpus, plain, settings())
    header = tmp_path / "store" / "store.json"
    header.write_text(header.read_text().replace(',\n  "has_tags": false', ""))

    assert store.tags is None
    assert store_fingerprint(corpus, plain, settings(), StoreOptions(language="fr")) == store.fingerprint
    assert len(TokenStore(tmp_path / "store")) == 9 and "has_tags" not in header.read_text()


def test_tags_that_are_cut_short_are_noticed(tmp_path: Path, tokenizer: Tokenizer) -> None:
    build_store(tmp_path / "store", Pairs.from_list(rows(30)), tokenizer, settings())
    path = tmp_path / "store" / "tags"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match="no whole token store"):
        TokenStore(tmp_path / "store")


def test_a_wrong_language_is_named_with_its_line(tmp_path: Path, tokenizer: Tokenizer) -> None:
    path = tmp_path / "corpus.tsv"
    path.write_text("".join("a cat\tun chat\tfr\n" for _ in range(30)) + "a dog\tun chien\tfrr\n")
    corpus = Pairs.from_tsv(path)
    with pytest.raises(DataError) as error:
        build_store(tmp_path / "store", corpus, tokenizer, settings(), StoreOptions(chunk_rows=7))

    assert str(error.value).startswith(f"{path}: line 31 has the target language 'frr'; did you mean 'fr'?")
    assert not (tmp_path / "store").exists()
