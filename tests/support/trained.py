"""One small trained model of each kind, made once for all tests of a process that use models."""

import atexit
import random
import shutil
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from glassformer.config import resolve
from tests.support.corpora import WORDS
from tests.support.runs import train

FRENCH = (
    "rouge",
    "bleu",
    "vert",
    "petit",
    "grand",
    "vieux",
    "neuf",
    "chat",
    "chien",
    "oiseau",
    "maison",
    "route",
)
DICTIONARY = dict(zip(WORDS, FRENCH, strict=True))
COLOURS = WORDS[:3]
SMALL = {"d_model": 32, "d_ff": 64, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1, "norm": "pre"}
TRAIN = {
    "batch_tokens": 512,
    "optimizer": "adamw",
    "schedule": "linear",
    "warmup_steps": 10,
    "learning_rate": 8e-3,
    "valid_sentences": 20,
    "context_length": 24,
}


def french(line: str) -> str:
    """The translation of a line, word by word."""
    return " ".join(DICTIONARY[word] for word in line.split())


def _lines(seed: int, size: int) -> list[str]:
    choose = random.Random(seed)
    return [" ".join(choose.choices(WORDS, k=choose.randint(1, 7))) for _ in range(size)]


def _write(path: Path, lines: Iterable[str]) -> str:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return str(path)


def _corpus(kind: str, folder: Path) -> Mapping[str, Any]:
    """Lines with their translations, alone, or labelled by whether they begin with a colour."""
    files: dict[str, Any] = {}
    for split, lines in (("train", _lines(1, 600)), ("valid", _lines(2, 40))):
        if kind == "translator":
            source, target = folder / f"{split}.en", folder / f"{split}.fr"
            files[split] = {"src": _write(source, lines), "tgt": _write(target, map(french, lines))}
        elif kind == "classifier":
            rows = (f"{line}\t{'colour' if line.split()[0] in COLOURS else 'other'}" for line in lines)
            files[split] = {"labelled": _write(folder / f"{split}.tsv", rows)}
        else:
            files[split] = {"text": _write(folder / f"{split}.txt", lines)}
    return files


MODELS: dict[str, tuple[int, dict[str, Any]]] = {
    "translator": (300, {"preset": "tiny", "n_decoder_layers": 2, "dropout": 0.0}),
    "language model": (60, {"preset": "tiny-lm", "dropout": 0.0}),
    "masked": (40, {"preset": "tiny-mlm", "dropout": 0.0}),
    "classifier": (60, {"preset": "tiny-mlm", "head": "classifier", "dropout": 0.0}),
}


@cache
def trained(kind: str) -> Path:
    """The run directory of a model of a kind; its corpus lies beside its runs folder. Read, never written."""
    folder = Path(mkdtemp(prefix="glassformer-trained-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    steps, model = MODELS[kind]
    tables = {
        "data": _corpus(kind, folder),
        "tokenizer": {"vocab_size": 400},
        "model": SMALL | model,
        "train": TRAIN | {"steps": steps, "validate_every": steps, "save_every": steps},
        "decode": {"beam": 2, "max_extra": 8},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("glassformer.training.trainer.draw_run", lambda *_: None)
        return train(resolve(tables, "test"), folder / "runs").path


def corpus(kind: str) -> Path:
    """The folder with the text that the model of a kind learned from."""
    return trained(kind).parents[1]
