"""The real trainer, from text files to a model directory, learns to reverse strings it has never seen.

The seed is drawn anew each time and printed, so that no bound is tuned to one curve.
"""

import random
import secrets
from pathlib import Path

import pytest
import torch

from glassformer.checkpoint import load_model
from glassformer.config import resolve
from glassformer.decoding import Translator
from glassformer.nn import EncoderDecoder
from tests.support.runs import train

LETTERS = "abcdefgh"


def write(folder: Path, choose: random.Random, copying: bool) -> list[tuple[str, str]]:
    """Short strings of letters, and 1 % empty pairs, which are left out; unseen ones are given back."""
    seen: dict[str, None] = {}
    while len(seen) < 3300:
        seen[" ".join(choose.choices(LETTERS, k=choose.randint(2, 6)))] = None
    strings = list(seen)
    pairs = [(text, text if copying else " ".join(text.split()[::-1])) for text in strings]
    for split, rows in (("train", [*pairs[:3000], *[("", "")] * 30]), ("valid", pairs[3000:3050])):
        for side in (0, 1):
            (folder / f"{split}.{side}").write_text("".join(row[side] + "\n" for row in rows))
    return pairs[3050:]


@pytest.mark.slow
@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_the_trainer_learns_to(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.training.trainer.draw_run", lambda *_: None)
    seed = secrets.randbits(31)
    print(f"seed {seed}")
    unseen = write(tmp_path, random.Random(seed), task == "copy")
    tables = {
        "data": {
            split: {"src": str(tmp_path / f"{split}.0"), "tgt": str(tmp_path / f"{split}.1")}
            for split in ("train", "valid")
        },
        "tokenizer": {"kind": "char"},
        "model": {
            "preset": "tiny",
            "d_model": 48,
            "d_ff": 96,
            "n_heads": 4,
            "n_encoder_layers": 2,
            "n_decoder_layers": 2,
            "norm": "pre",
            "dropout": 0.0,
        },
        "train": {
            "steps": 600,
            "batch_tokens": 1024,
            "schedule": "cosine",
            "learning_rate": 4e-3,
            "warmup_steps": 50,
            "label_smoothing": 0.0,
            "validate_every": 200,
            "save_every": 600,
            "valid_sentences": 50,
            "seed": seed,
        },
        "decode": {"beam": 1},
    }
    run = train(resolve(tables, "test"), tmp_path / "runs")
    loaded = load_model(run.model)
    assert isinstance(loaded.model, EncoderDecoder) and loaded.tokenizer is not None
    results = Translator(loaded.model, loaded.tokenizer).translate([source for source, _ in unseen], beam=1)
    right = sum(result.text == target for result, (_, target) in zip(results, unseen, strict=True))
    print(f"{task}: {right} of {len(unseen)}; {run.read_info()['seconds']} s; {run.read_info()['best']}")

    assert right >= (0.99 if task == "copy" else 0.98) * len(unseen)
    assert torch.get_num_threads() == 1
    assert Translator(loaded.model, loaded.tokenizer).translate([""], beam=1)[0].text == ""
