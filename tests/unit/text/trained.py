"""Small tokenizers of every kind, trained once, and the texts that try them."""

from functools import cache

from hypothesis import strategies as st

from glassformer.config import TokenizerConfig
from glassformer.text import Tokenizer
from glassformer.text.vocabulary import Kind

KINDS: tuple[Kind, ...] = ("bpe", "unigram", "wordpiece", "byte", "char")

TRAPS = (
    "</s>",
    "<pad>",
    "<unk>",
    "<s>",
    "<mask>",
    ">>fra<<",
    ">>fr<<",
    "▁",
    "@@",
    "##",
    "##a",
    "<0x0A>",
    "<0x41>",
)
"""Texts that mean something to some tokenizer, and nothing here."""

CORPUS = [
    "The cat sat on the mat.",
    "Le chat s'assit sur le tapis !",
    "A dog is sleeping near 42 houses.",
    "Él está aquí, señor; über allen Gipfeln.",
    "日本語です。 Привет, мир! שלום עולם",
    "👨‍👩‍👧 🏳️‍🌈 🇫🇷 👍🏽",
    " ".join(TRAPS),
] * 8

NEWER_THAN_THE_LIBRARY = "\u1df6\U00011938"
"""Characters that are composed or ordered otherwise since the library's version of Unicode."""


@cache
def tokenizer(kind: Kind, *, lowercase: bool = False) -> Tokenizer:
    """A tokenizer of this kind that has met traps often enough to learn them, if it could."""
    config = TokenizerConfig(kind=kind, vocab_size=420, lowercase=lowercase, languages=("fr", "de"))
    return Tokenizer.train(CORPUS, config)


def texts() -> st.SearchStrategy[str]:
    """All of Unicode but surrogates, and more of what is dangerous than chance would give."""
    anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    spaces = st.sampled_from(
        [" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2028", "\u0085", "\u3000", "\u200b"]
    )
    marks = st.text(st.sampled_from("e\u0301\u0327\u0345\u0130İ\u200d\u200c\ufe0f"), max_size=40)
    parts = st.one_of(anything, spaces, marks, st.sampled_from(TRAPS), st.sampled_from(CORPUS))
    return st.lists(parts, max_size=6).map("".join)
