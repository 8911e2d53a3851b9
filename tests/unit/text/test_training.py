"""Training: the same vocabulary every time, a clear word when there cannot be one."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from glassformer.config import TokenizerConfig
from glassformer.errors import ConfigError, DataError
from glassformer.text import Lines, Tokenizer
from glassformer.text.vocabulary import BYTES, Kind
from tests.unit.text.trained import CORPUS, KINDS, tokenizer

ROOT = Path(__file__).parents[3]

TRAIN_ALL = """
from glassformer.config import TokenizerConfig
from glassformer.text import Tokenizer
from tests.unit.text.trained import CORPUS, KINDS
for kind in KINDS:
    print(kind, Tokenizer.train(CORPUS, TokenizerConfig(kind=kind, vocab_size=420)).fingerprint)
"""

FORK = """
import os
from tests.unit.text.trained import CORPUS, KINDS, tokenizer
for kind in KINDS:
    tokenizer(kind).encode_batch(CORPUS)
if os.fork() == 0:
    for kind in KINDS:
        tokenizer(kind).encode_batch(CORPUS)
    os._exit(0)
os.wait()
print("both done")
"""


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    return subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": path, "PATH": os.defpath, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


@pytest.mark.slow
def test_training_is_the_same_every_time() -> None:  # T8
    runs = [
        run(TRAIN_ALL, PYTHONHASHSEED="0"),
        run(TRAIN_ALL, PYTHONHASHSEED="7", TOKENIZERS_PARALLELISM="true", RAYON_NUM_THREADS="1"),
        run(TRAIN_ALL, PYTHONHASHSEED="42", TOKENIZERS_PARALLELISM="true", RAYON_NUM_THREADS="3"),
    ]

    assert len(runs[0].stdout.splitlines()) == len(KINDS)
    assert runs[0].stdout == runs[1].stdout == runs[2].stdout
    assert [result.stderr for result in runs] == ["", "", ""]


@pytest.mark.slow
def test_a_fork_is_silent_and_does_not_hang() -> None:
    result = run(FORK)

    assert (result.stdout, result.stderr) == ("both done\n", "")


@pytest.mark.parametrize("kind", KINDS)
def test_the_size_asked_for_is_never_exceeded(kind: Kind) -> None:
    for size in (260, 300, 420, 5000):
        trained = Tokenizer.train(CORPUS, TokenizerConfig(kind=kind, vocab_size=size))

        assert trained.size <= size
        assert trained.decode(trained.encode(CORPUS[3])) == CORPUS[3]
    assert trained.size < 5000  # a small corpus gives fewer


@pytest.mark.parametrize("kind", ["bpe", "byte", "wordpiece"])
def test_a_large_enough_corpus_gives_the_size_asked_for(kind: Kind) -> None:
    trained = Tokenizer.train(CORPUS, TokenizerConfig(kind=kind, vocab_size=300))

    assert trained.size == 300


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_without_room_is_refused(kind: Kind) -> None:
    with pytest.raises(ConfigError) as error:
        Tokenizer.train(CORPUS, TokenizerConfig(kind=kind, vocab_size=5 + 1 + len(BYTES), languages=("fr",)))

    assert str(error.value) == (
        "tokenizer: vocab_size = 216 leaves nothing to learn after 6 special ids and 210 bytes; "
        "set vocab_size to 217 at the very least"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_smallest_vocabulary_works(kind: Kind) -> None:
    trained = Tokenizer.train(CORPUS, TokenizerConfig(kind=kind, vocab_size=5 + len(BYTES) + 1))

    assert trained.decode(trained.encode("Привет ☃ cat")) == "Привет ☃ cat"


@pytest.mark.parametrize("kind", KINDS)
def test_a_corpus_of_one_word_is_enough(kind: Kind) -> None:
    trained = Tokenizer.train(Lines.from_list(["a"]), TokenizerConfig(kind=kind))

    assert trained.decode(trained.encode("a bc")) == "a bc"


def test_rare_characters_are_spelt_in_bytes() -> None:
    corpus = ["common words are common"] * 50 + ["".join(map(chr, range(0x4E00, 0x5000)))]
    trained = Tokenizer.train(corpus, TokenizerConfig(vocab_size=300))

    assert trained.unknown_ratio(trained.encode("common words")) == 0
    assert trained.decode(trained.encode(corpus[-1])) == corpus[-1]


def test_a_language_twice_is_refused() -> None:
    with pytest.raises(ConfigError) as error:
        Tokenizer.train(CORPUS, TokenizerConfig(languages=("fr", "fr")))

    assert str(error.value) == 'tokenizer: languages = ["fr", "fr"] names one of them twice'


def once() -> Iterator[str]:
    yield "a text"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "there is no text to train a tokenizer on: every line is blank"),
        (["", " ", "\u200b"], "there is no text to train a tokenizer on: every line is blank"),
        (once(), "texts can be read only once, but a tokenizer reads them twice; give a list or a corpus"),
        (["a", "b\ud800"], "text 2 of the corpus has half a character (a lone surrogate); mend it"),
    ],
)
def test_texts_that_teach_nothing_are_refused(texts: list[str] | Iterator[str], message: str) -> None:
    with pytest.raises(DataError) as error:
        Tokenizer.train(texts)

    assert str(error.value) == message


def test_frequent_words_become_pieces() -> None:
    for kind in ("bpe", "unigram", "wordpiece", "byte"):
        trained = tokenizer(kind)
        assert trained.pieces(trained.encode("The cat sat")) == ["▁The", "▁cat", "▁sat"]
