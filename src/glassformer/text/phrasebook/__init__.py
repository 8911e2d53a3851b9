"""The phrasebook: a grammar that writes English sentences and their French translations, without end.

The French follows from the English: one translation per word, "you" is one polite person (vous), "they" are
masculine unless named, simple past is passé composé (imparfait for states), "was doing" is imparfait, and
questions ask with est-ce que. What English leaves open is not said.
"""

from glassformer.text.phrasebook.generator import generate, write_corpus
from glassformer.text.phrasebook.lexicon import Level
from glassformer.text.phrasebook.words import Phrase, english_words, french_words, join_english, join_french

__all__ = [
    "Level",
    "Phrase",
    "english_words",
    "french_words",
    "generate",
    "join_english",
    "join_french",
    "write_corpus",
]
