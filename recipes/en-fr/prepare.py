"""Make the corpus of the shipped en→fr model: Tatoeba pairs, split by English sentence, and phrasebook pairs.

python recipes/en-fr/prepare.py en-fr.tsv.gz recipes/en-fr/data

``en-fr.tsv.gz`` holds lines of English, TAB, French (CC BY 2.0, www.manythings.org/anki and tatoeba.org).
Written are ``train.tsv``, ``dev.tsv``, ``test.en`` and one ``test.fr.N`` per reference. A sentence of the dev
and test slices occurs in training neither as it is nor with other capitals or punctuation.
"""

import random
import re
import sys
from collections import defaultdict
from pathlib import Path

from counting import counted, in_digits, renumbered
from names import KEPT, introductions, renamed

from glassformer.text.lines import read_lines
from glassformer.text.phrasebook import generate

HELD_OUT = 2_000
PHRASEBOOK_PAIRS = 30_000
INTRODUCTIONS = 5_000
COUNTED = 14_000
IN_DIGITS = 4
"""How often a pair with a number in words is there with digits as well."""
SEED = 1

_SPACES = re.compile(r"\s+")
_BEFORE_MARKS = re.compile(r"(?<=[^\s?!:;.…«(])\s*(?=[?!;:](?:\s|$))")
_OPENING = re.compile(r"«\s*")
_CLOSING = re.compile(r"\s*»")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u200b": None, "\u00ad": None})


def tidy_english(text: str) -> str:
    """One kind of space, apostrophe and quotation mark."""
    return _SPACES.sub(" ", text.translate(_QUOTES)).strip()


def tidy_french(text: str) -> str:
    """The same, with the space before ? ! : ; and inside « » that French has, always."""
    text = _SPACES.sub(" ", text.translate(_QUOTES)).strip()
    return _CLOSING.sub(" »", _OPENING.sub("« ", _BEFORE_MARKS.sub(" ", text)))


def bare(text: str) -> str:
    """Letters and digits alone: two sentences that agree in them are the same to a test."""
    return "".join(character for character in text.lower() if character.isalnum())


def split(pairs: list[tuple[str, str]]) -> dict[str, list[tuple[str, list[str]]]]:
    """English sentences with all their translations, each in one of train, dev and test."""
    translations: dict[str, dict[str, None]] = defaultdict(dict)
    for english, french in pairs:
        translations[english][french] = None
    groups: dict[str, list[str]] = defaultdict(list)
    for english in translations:
        groups[bare(english)].append(english)
    keys = sorted(groups)
    random.Random(SEED).shuffle(keys)  # noqa: S311
    parts: dict[str, list[tuple[str, list[str]]]] = {"dev": [], "test": [], "train": []}
    for key in keys:
        part = next((name for name in ("dev", "test") if len(parts[name]) < HELD_OUT), "train")
        # Of spellings that differ in capitals alone, a held-out slice takes one and training takes none.
        kept = groups[key] if part == "train" else groups[key][:1]
        parts[part] += [(english, list(translations[english])) for english in kept]
    return parts


def main(source: Path, folder: Path) -> None:
    """Write the corpus."""
    pairs = [line.split("\t") for line in read_lines(source)]
    parts = split([(tidy_english(english), tidy_french(french)) for english, french in pairs])
    folder.mkdir(parents=True, exist_ok=True)
    held_out = {bare(english) for name in ("dev", "test") for english, _ in parts[name]}
    learned = [(english, french) for english, given in parts["train"] for french in given]
    dice = random.Random(SEED)  # noqa: S311
    learned = [pair if dice.random() < KEPT else renamed(*pair, dice) for pair in learned]
    learned = [pair if dice.random() < KEPT else renumbered(*pair, dice) for pair in learned]
    learned += [found for pair in learned for _ in range(IN_DIGITS) if (found := in_digits(*pair, dice))]
    generated = [(phrase.english, phrase.french) for phrase in generate(PHRASEBOOK_PAIRS, SEED, level="full")]
    learned += [*generated, *introductions(INTRODUCTIONS, dice), *counted(COUNTED, dice)]
    learned = [pair for pair in learned if bare(pair[0]) not in held_out]
    write(folder / "train.tsv", [f"{english}\t{french}" for english, french in learned])
    write(folder / "dev.tsv", [f"{english}\t{given[0]}" for english, given in parts["dev"]])
    write(folder / "test.en", [english for english, _ in parts["test"]])
    for number in range(max(len(given) for _, given in parts["test"])):
        column = [given[number] if number < len(given) else "" for _, given in parts["test"]]
        write(folder / f"test.fr.{number + 1}", column)


def write(path: Path, lines: list[str]) -> None:
    """One line each."""
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    print(f"{path}: {len(lines):,} lines")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
