"""Learning a vocabulary from text, the same one every time.

The library's own trainers do not promise that: word pieces get their ids in the order of a hash table
(tokenizers#1794), and the unigram trainer adds floating-point numbers in such an order. So characters get
their ids here, before the library merges anything, and the unigram model is trained in ``unigram``.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator

from tokenizers import Tokenizer, trainers

from glassformer.config import TokenizerConfig
from glassformer.errors import ConfigError, DataError
from glassformer.text.lines import lone_surrogate
from glassformer.text.unigram import train_unigram
from glassformer.text.vocabulary import (
    BYTES,
    CONTINUES,
    SPECIALS,
    Vocabulary,
    byte_alphabet,
    byte_pieces,
    control_pieces,
    pipeline,
)

_NO_SCORE = 0.0  # of pieces that no search ever considers


def train_vocabulary(texts: Iterable[str], config: TokenizerConfig) -> Vocabulary:
    """A vocabulary of at most ``config.vocab_size`` ids. The texts are read twice, and not kept."""
    if iter(texts) is texts:
        raise DataError(
            "texts can be read only once, but a tokenizer reads them twice; give a list or a corpus"
        )
    begin = control_pieces(config.languages) + byte_pieces(config.kind)
    room = _room(config, len(begin))
    empty = pipeline(config.kind, lowercase=config.lowercase)
    characters = _count_characters(texts, empty)
    match config.kind:
        case "char":
            return _vocabulary(config, begin + _most_common(characters, room))
        case "unigram":
            return _train_unigram(texts, config, empty, _most_common(characters, room // 2))
        case "wordpiece":
            alphabet = sorted(_most_common(characters, room // 4))
            return _train_wordpiece(texts, config, empty, alphabet)
        case "bpe":
            return _train_bpe(texts, config, empty, _most_common(characters, room // 2))
        case "byte":
            return _train_bpe(texts, config, empty, _shown_bytes())


def _room(config: TokenizerConfig, n_begin: int) -> int:
    """How many ids are left to learn."""
    needed = n_begin + (len(BYTES) if config.kind == "byte" else 0)
    if len(set(config.languages)) < len(config.languages):
        raise ConfigError(f"tokenizer: languages = {json.dumps(config.languages)} names one of them twice")
    if config.vocab_size <= needed:
        n_control = len(SPECIALS) + len(config.languages)
        raise ConfigError(
            f"tokenizer: vocab_size = {config.vocab_size} leaves nothing to learn after {n_control} special "
            f"ids and {len(BYTES)} bytes; set vocab_size to {needed + 1} at the very least"
        )
    return config.vocab_size - n_begin


def _count_characters(texts: Iterable[str], empty: Tokenizer) -> Counter[str]:
    characters: Counter[str] = Counter()
    for text in _normalised(texts, empty):
        characters.update(text)
    if not characters:
        raise DataError("there is no text to train a tokenizer on: every line is blank")
    characters[" "] += 1  # a corpus of single words has none, but every word begins with one
    return characters


def _normalised(texts: Iterable[str], empty: Tokenizer) -> Iterator[str]:
    normalizer = empty.normalizer
    for number, text in enumerate(texts, start=1):
        if lone_surrogate(text) is not None:
            raise DataError(f"text {number} of the corpus has half a character (a lone surrogate); mend it")
        yield normalizer.normalize_str(text)


def _most_common(characters: Counter[str], limit: int) -> list[str]:
    """The characters that get an id, most frequent first; bytes spell the others."""
    ranked = sorted(characters.items(), key=lambda item: (-item[1], item[0]))
    return [character for character, _ in ranked[: max(limit, 1)]]


def _train_bpe(
    texts: Iterable[str], config: TokenizerConfig, empty: Tokenizer, alphabet: list[str]
) -> Vocabulary:
    trainer = trainers.BpeTrainer(
        vocab_size=config.vocab_size,
        min_frequency=config.min_frequency,
        special_tokens=control_pieces(config.languages) + byte_pieces(config.kind),
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    empty.train_from_iterator(texts, trainer)
    model = json.loads(empty.to_str())["model"]
    merges = tuple((left, right) for left, right in model["merges"])
    return _vocabulary(config, list(model["vocab"]), merges=merges)


def _train_wordpiece(
    texts: Iterable[str], config: TokenizerConfig, empty: Tokenizer, alphabet: list[str]
) -> Vocabulary:
    # Listed as if they were special, characters get their ids in our order. Only the real ones stay special.
    known = control_pieces(config.languages) + byte_pieces(config.kind)
    known += alphabet + [CONTINUES + character for character in alphabet]
    trainer = trainers.BpeTrainer(
        vocab_size=config.vocab_size,
        min_frequency=config.min_frequency,
        special_tokens=known,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        continuing_subword_prefix=CONTINUES,
        show_progress=False,
    )
    empty.train_from_iterator(texts, trainer)
    return _vocabulary(config, list(json.loads(empty.to_str())["model"]["vocab"]))


def _train_unigram(
    texts: Iterable[str], config: TokenizerConfig, empty: Tokenizer, alphabet: list[str]
) -> Vocabulary:
    words: Counter[str] = Counter()
    for text in _normalised(texts, empty):
        words.update(word for word, _ in empty.pre_tokenizer.pre_tokenize_str(text))
    begin = control_pieces(config.languages) + byte_pieces(config.kind)
    scores = train_unigram(
        words, alphabet, size=config.vocab_size - len(begin), min_frequency=config.min_frequency
    )
    scored = tuple([_NO_SCORE] * len(begin) + list(scores.values()))
    return _vocabulary(config, begin + list(scores), scores=scored)


def _vocabulary(
    config: TokenizerConfig,
    pieces: list[str],
    *,
    merges: tuple[tuple[str, str], ...] = (),
    scores: tuple[float, ...] = (),
) -> Vocabulary:
    return Vocabulary(config.kind, config.lowercase, config.languages, tuple(pieces), merges, scores)


def _shown_bytes() -> list[str]:
    return [shown for shown, byte in byte_alphabet().items() if byte in BYTES]
