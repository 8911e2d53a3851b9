"""A small tokenizer, made-up corpora, and stores of them."""

from functools import cache
from pathlib import Path
from random import Random

from glassformer.config import CorpusFiles, DataConfig, TokenizerConfig
from glassformer.data import StoreOptions, TokenStore, build_store
from glassformer.text import Corpus, Pairs, Tokenizer

ENGLISH = ["the", "a", "cat", "dog", "house", "sees", "sleeps", "near", "old", "big"]
FRENCH = ["la", "le", "un", "chat", "chien", "maison", "voit", "dort", "vieux"]
WORDS = ENGLISH + FRENCH


@cache
def tokenizer(vocab_size: int = 300) -> Tokenizer:
    return Tokenizer.train(WORDS * 3, TokenizerConfig(vocab_size=vocab_size, languages=("fr",)))


def sentence(random: Random, n_words: int) -> str:
    return " ".join(random.choices(WORDS, k=n_words))


def made_up_pairs(n_pairs: int, seed: int = 1) -> list[tuple[str, str]]:
    """Pairs of 1 to 12 words after their number, so that no two are alike."""
    random = Random(seed)
    sides = ((sentence(random, random.randint(1, 12)), random.randint(1, 12)) for _ in range(n_pairs))
    return [(f"{i} {source}", f"{i} {sentence(random, n)}") for i, (source, n) in enumerate(sides)]


def settings(max_length: int = 256, max_ratio: float = 9.0) -> DataConfig:
    files = CorpusFiles(src="train.en", tgt="train.fr")
    return DataConfig(train=files, max_length=max_length, max_ratio=max_ratio)


def prepare(folder: Path, corpus: Corpus, options: StoreOptions | None = None) -> TokenStore:
    return build_store(folder / "store", corpus, tokenizer(), settings(), options or StoreOptions())


def prepared_pairs(folder: Path, n_pairs: int) -> TokenStore:
    return prepare(folder, Pairs.from_list(made_up_pairs(n_pairs)))
