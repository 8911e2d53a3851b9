"""Warnings for sources that are unlike the training text: long and foreign ones, and hardly any other."""

import gzip
import json
import shutil
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from glassformer.checkpoint.files import write_directory
from glassformer.config import TokenizerConfig
from glassformer.decoding import Translator
from glassformer.decoding.familiarity import FILE, UNLIKE, Familiarity
from glassformer.errors import CheckpointError
from glassformer.text import Tokenizer
from glassformer.text.phrasebook import generate
from tests.support.trained import corpus, trained

TATOEBA = Path(__file__).parents[4] / "shared" / "data" / "tatoeba"
SPANISH = (
    "Hola, ¿cómo estás?",
    "El gato está durmiendo en la silla.",
    "Mañana voy a ir al mercado con mi madre.",
    "¿Dónde está la estación de tren?",
    "Tenemos que salir ahora mismo.",
    "Mi hermano trabaja en una fábrica.",
    "Los niños juegan en el parque.",
    "Ayer comimos pescado en la playa.",
)
GERMAN = (
    "Ich habe gestern meinen alten Freund getroffen.",
    "Wo ist der Bahnhof?",
    "Die Kinder spielen im Garten.",
    "Das Wetter ist heute sehr schlecht.",
    "Kannst du mir bitte helfen?",
    "Wir müssen jetzt nach Hause gehen.",
)
FRENCH = (
    "Je ne sais pas où il est.",
    "Les enfants jouent dans le jardin.",
    "Il fait très froid aujourd'hui.",
    "Pouvez-vous m'aider, s'il vous plaît ?",
)
OTHER_SCRIPTS = ("Привет, как дела?", "Где находится вокзал?", "私は学生です。", "駅はどこですか。")


@pytest.fixture(scope="module")
def shipped() -> Translator:
    return Translator.from_pretrained()


def learned(lines: list[str]) -> tuple[Familiarity, Tokenizer]:
    tokenizer = Tokenizer.train(lines, TokenizerConfig(vocab_size=300))
    rows = tokenizer.encode_source(lines)
    flat = np.array([token for row in rows for token in row], np.uint16)
    offsets = np.cumsum([0, *map(len, rows)])
    return Familiarity.learn(tokenizer, flat, offsets), tokenizer


def test_what_was_learned_from_gives_no_warning_and_the_rest_does() -> None:
    lines = [" ".join(["the", "cat", "sat", "on", "a", "mat"][i % 4 :]) for i in range(2000)]
    familiar, tokenizer = learned(lines)

    def warned(text: str) -> list[str]:
        return familiar.warnings(text, tokenizer.encode(text))

    assert warned("the cat sat on a mat") == warned("on a mat") == []
    assert warned("xylophone zebra quagga")[-1] == UNLIKE
    assert warned("the cat sat on a mat " * 9)[0].startswith("the input has ")
    assert familiar.warnings("", []) == []


def test_costs_are_those_of_the_counts() -> None:
    familiar, tokenizer = learned(["a b", "a c"] * 500)
    ids = tokenizer.encode("a b c")
    counts = {token: 500.5 + 500 * (i == 0) for i, token in enumerate(ids)}
    total = sum(counts.values()) + 0.5 * (tokenizer.size - len(counts))

    for token, count in counts.items():
        assert familiar.costs[token] == round(-10 * np.log(count / total))


def test_the_file_gives_back_what_was_written(tmp_path: Path) -> None:
    familiar, tokenizer = learned(["a small cat", "a big dog"] * 50)

    def written(data: bytes) -> Path:
        shutil.rmtree(tmp_path / "model", ignore_errors=True)
        write_directory(tmp_path / "model", lambda folder: void((folder / FILE).write_bytes(data)))
        return tmp_path / "model"

    assert Familiarity.of(written(familiar.to_bytes()), tokenizer) == familiar
    short = json.loads(familiar.to_bytes()) | {"costs": [1, 2]}
    with pytest.raises(CheckpointError, match=f"2 costs, but there are {tokenizer.size} source tokens"):
        Familiarity.of(written(json.dumps(short).encode()), tokenizer)
    with pytest.raises(CheckpointError, match="longest"):
        Familiarity.of(written(b'{"costs": []}'), tokenizer)


def void(_: object) -> None:
    pass


def test_a_trained_model_knows_what_it_has_read(tmp_path: Path) -> None:
    translator = Translator.from_pretrained(trained("translator"))
    lines = (corpus("translator") / "train.en").read_text().splitlines()[:100]
    translator.save_pretrained(tmp_path / "copy")
    again = Translator.from_pretrained(tmp_path / "copy")

    assert sum(bool(translator.input_warnings(line)) for line in lines) <= 2
    backwards = " ".join(word[::-1] for word in lines[0].split() * 3)
    assert UNLIKE in translator.translate([backwards], max_length=3)[0].warnings
    assert again.familiarity == translator.familiarity is not None


def test_the_shipped_model_is_at_home_in_the_phrasebook(shipped: Translator) -> None:
    texts = [phrase.english for phrase in generate(1000, 5, level="simple")]

    assert sum(bool(shipped.input_warnings(text)) for text in texts) <= 10


def test_the_shipped_model_warns_of_other_languages(shipped: Translator) -> None:
    for some, least in ((SPANISH, 0.8), (GERMAN, 0.8), (FRENCH, 0.75), (OTHER_SCRIPTS, 1.0)):
        assert sum(bool(shipped.input_warnings(text)) for text in some) >= least * len(some)


def test_the_shipped_model_warns_of_what_is_long(shipped: Translator) -> None:
    long = "I went to the market and " * 20 + "bought an apple."
    (found,) = shipped.translate([long], beam=1, max_length=5)

    assert any(warning.startswith("the input has ") for warning in found.warnings)
    (short,) = shipped.translate([long.replace(" and", ".")], beam=1, max_length=5, split=True)
    assert not any(warning.startswith("the input has ") for warning in short.warnings)


@pytest.mark.skipif(not TATOEBA.is_dir(), reason="needs the sentence pairs of Tatoeba")
def test_everyday_english_hardly_ever_warns_and_german_mostly(shipped: Translator) -> None:
    with gzip.open(TATOEBA / "en-de.tsv.gz", "rt", encoding="utf-8") as file:
        pairs = [line.rstrip("\n").split("\t")[:2] for line in islice(file, 0, None, 97)][:2000]
    english, german = (
        sum(bool(shipped.input_warnings(pair[side])) for pair in pairs) / len(pairs) for side in (0, 1)
    )
    print(f"{len(pairs)} pairs: English {english:.2%}, German {german:.2%}")

    assert english <= 0.01
    assert german >= 0.8
