"""Small corpora on disk, and the settings of runs that take seconds."""

import random
from pathlib import Path

from glassformer.config import RunConfig, resolve

WORDS = ("red", "blue", "green", "small", "large", "old", "new", "cat", "dog", "bird", "house", "road")


def write_reversal(folder: Path, n_train: int = 300, n_valid: int = 20, seed: int = 0) -> dict[str, Path]:
    """Word strings and their reversals: a translation that can be learned, in four files."""
    choose = random.Random(seed)
    paths = {}
    for split, size in (("train", n_train), ("valid", n_valid)):
        lines = [choose.choices(WORDS, k=choose.randint(1, 6)) for _ in range(size)]
        for side, rows in (("src", lines), ("tgt", [line[::-1] for line in lines])):
            path = folder / f"{split}.{side}"
            path.write_text("".join(" ".join(row) + "\n" for row in rows), encoding="utf-8")
            paths[f"{split}.{side}"] = path
    return paths


def tiny_run(folder: Path, **train: object) -> RunConfig:
    """A run on ``write_reversal`` that takes a second or two."""
    paths = write_reversal(folder)
    settings = {
        "steps": 12,
        "batch_tokens": 128,
        "validate_every": 6,
        "save_every": 4,
        "log_every": 1,
        "warmup_steps": 4,
        "valid_sentences": 4,
    }
    tables = {
        "data": {
            "train": {"src": str(paths["train.src"]), "tgt": str(paths["train.tgt"])},
            "valid": {"src": str(paths["valid.src"]), "tgt": str(paths["valid.tgt"])},
        },
        "tokenizer": {"vocab_size": 260},
        "model": {
            "preset": "tiny",
            "d_model": 16,
            "d_ff": 32,
            "n_heads": 2,
            "n_encoder_layers": 1,
            "n_decoder_layers": 1,
            "dropout": 0.1,
        },
        "train": settings | train,
        "decode": {"beam": 2},
    }
    return resolve(tables, "test")


def stateful_run(folder: Path, **train: object) -> RunConfig:
    """A run with everything that draws random numbers or keeps state, large enough for the native kernels."""
    settings = {"batch_tokens": 400, "accumulate": 3, "ema": 0.9, "average_last": 2}
    config = tiny_run(folder, **(settings | train))
    return config.model_copy(
        update={
            "tokenizer": config.tokenizer.model_copy(update={"dropout": 0.1}),
            "model": config.model.model_copy(update={"d_model": 32}),
        }
    )
