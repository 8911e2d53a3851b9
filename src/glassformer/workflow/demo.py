"""The demonstration: write a corpus, train a small translator on it, see how well it does."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from glassformer.config import RunConfig, resolve
from glassformer.decoding import Translation, Translator
from glassformer.decoding.alignment import Pairs as Places
from glassformer.decoding.alignment import alignment_error_rate, read_pharaoh
from glassformer.text.lines import read_lines
from glassformer.text.phrasebook import english_words, french_words, write_corpus
from glassformer.training import RunDirectory
from glassformer.training.precision import bfloat16_works
from glassformer.workflow.preparation import Notice
from glassformer.workflow.training import ProgressFor, start_run

HELD_OUT = 300


@dataclass(frozen=True)
class Size:
    """How much a demonstration does."""

    pairs: int
    steps: int
    batch_tokens: int


FULL = Size(20_000, 650, 2_048)
QUICK = Size(6_000, 200, 1_024)
"""Half a minute; what it learns is rough, but it can be seen that it does."""


class Known(NamedTuple):
    """A sentence with the translation and the alignment that the grammar gave it."""

    source: str
    target: str
    alignment: Places


@dataclass(frozen=True)
class Outcome:
    """What the trained model does with sentences it has never seen."""

    run: RunDirectory
    exact: float
    """Share translated word for word as the grammar has it, in percent."""
    alignment_error: float
    """Of alignments read from attention, against the grammar's own; in percent, less is better."""
    shown: tuple[Translation, ...]
    sources: tuple[str, ...]


def settings(folder: Path, size: Size) -> RunConfig:
    """A model that learns the simple phrasebook in about a minute on two cores."""
    corpus = {
        split: {
            "src": str((folder / f"{split}.en").absolute()),
            "tgt": str((folder / f"{split}.fr").absolute()),
        }
        for split in ("train", "valid")
    }
    tables = {
        "data": {"train": corpus["train"], "valid": corpus["valid"], "langs": ["en", "fr"]},
        "tokenizer": {"vocab_size": 1_500},
        "model": {
            "preset": "tiny",
            "n_encoder_layers": 2,
            "n_decoder_layers": 2,
            "norm": "pre",
            "dropout": 0.05,
        },
        "train": {
            "steps": size.steps,
            "batch_tokens": size.batch_tokens,
            "optimizer": "muon" if bfloat16_works() else "adamw",  # muon multiplies in bfloat16
            "learning_rate": 4e-3,
            "schedule": "linear",
            "warmup_steps": size.steps // 15,
            "validate_every": max(1, size.steps // 2),
            "save_every": max(1, size.steps // 2),
            "valid_sentences": 100,
            "keep_last": 1,
        },
        "decode": {"beam": 1},
    }
    return resolve(tables, "demo")


def train_on_phrasebook(
    runs: Path, size: Size, *, notice: Notice, progress: ProgressFor, seed: int = 1
) -> Outcome:
    """Write the corpus, train, and translate sentences that are not in it."""
    folder = runs / ".phrasebook"
    write_corpus(folder, size.pairs, HELD_OUT, HELD_OUT, seed, level="simple")
    notice(f"phrasebook: {size.pairs:,} pairs written to {folder}, {HELD_OUT} held out")
    run = start_run(settings(folder, size), runs, "phrasebook", notice=notice, progress=progress)
    return judge(run, read_test(folder))


def read_test(folder: Path) -> list[Known]:
    """The test sentences with their translations and alignments."""
    english, french, aligned = (list(read_lines(folder / f"test.{end}")) for end in ("en", "fr", "align"))
    return [
        Known(source, target, _between_spaces(source, target, read_pharaoh(links)))
        for source, target, links in zip(english, french, aligned, strict=True)
    ]


def judge(run: RunDirectory, known: Sequence[Known]) -> Outcome:
    """Translate sentences whose translations and alignments are known."""
    translator = Translator.from_pretrained(run.path)
    found = translator.translate([each.source for each in known], beam=1, alignment=True)
    exact = sum(one.text == each.target for one, each in zip(found, known, strict=True))
    shown, sources = tuple(found[:5]), tuple(each.source for each in known[:5])
    return Outcome(run, 100 * exact / len(known), 100 * _alignment_error(found, known), shown, sources)


def _alignment_error(found: Sequence[Translation], known: Sequence[Known]) -> float:
    """The alignment error rate over sentences that are translated right; 1 where none is."""
    right = [(one, each) for one, each in zip(found, known, strict=True) if one.text == each.target]
    gold = [each.alignment for _, each in right]
    return alignment_error_rate([_links(one) for one, _ in right], gold, gold) if right else 1.0


def _links(found: Translation) -> Places:
    links = () if found.alignment is None else found.alignment.links
    return frozenset((link.source, link.target) for link in links)


def _between_spaces(source: str, target: str, links: Places) -> Places:
    """The grammar's links between words that spaces divide, as a translator has them."""
    left, right = _columns(source, english_words(source)), _columns(target, french_words(target))
    return frozenset((left[i], right[j]) for i, j in links)


def _columns(sentence: str, words: Sequence[str]) -> list[int]:
    """For each word, how many spaces stand before it."""
    columns, at = [], 0
    for word in words:
        at = sentence.index(word, at)
        columns.append(sentence.count(" ", 0, at))
        at += len(word)
    return columns
