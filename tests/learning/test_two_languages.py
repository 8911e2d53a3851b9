"""One small model learns two target languages from tagged pairs, and speaks the one that is asked for.

In language ``same`` a string is itself, in language ``back`` it is read from behind. The seed is drawn anew
each time and printed, so that no bound is tuned to one curve.
"""

import json
import random
import secrets
from pathlib import Path

import pytest

from glassformer.checkpoint import load_model
from glassformer.config import resolve
from glassformer.decoding import Translator
from glassformer.errors import Interrupted
from glassformer.nn import EncoderDecoder
from tests.support.runs import Telling, differences, resume, signal_at, train

LETTERS = "abcdefgh"
LANGUAGES = ("same", "back")


def said(text: str, language: str) -> str:
    return text if language == "same" else " ".join(text.split()[::-1])


def drawn(texts: list[str], choose: random.Random) -> list[tuple[str, str]]:
    return [(text, choose.choice(LANGUAGES)) for text in texts]


def write(folder: Path, choose: random.Random) -> list[str]:
    """Tagged pairs, each string in one language alone; strings that are in no file are given back."""
    seen: dict[str, None] = {}
    while len(seen) < 1700:
        seen[" ".join(choose.choices(LETTERS, k=choose.randint(2, 4)))] = None
    strings = list(seen)
    for name, some in (("train.tsv", strings[:1500]), ("valid.jsonl", strings[1500:1530])):
        rows = [(text, said(text, language), language) for text, language in drawn(some, choose)]
        if name.endswith(".tsv"):
            lines = ["\t".join(row) for row in rows]
        else:
            lines = [json.dumps(dict(zip(("source", "target", "lang"), row, strict=True))) for row in rows]
        (folder / name).write_text("".join(line + "\n" for line in lines))
    return strings[1530:]


def tables(folder: Path, seed: int) -> dict[str, dict[str, object]]:
    return {
        "data": {"train": str(folder / "train.tsv"), "valid": str(folder / "valid.jsonl")},
        "tokenizer": {"kind": "char", "languages": list(LANGUAGES)},
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
            "steps": 450,
            "batch_tokens": 1024,
            "schedule": "cosine",
            "learning_rate": 5e-3,
            "warmup_steps": 30,
            "label_smoothing": 0.0,
            "validate_every": 450,
            "save_every": 450,
            "valid_sentences": 30,
            "best_by": "bleu",
            "seed": seed,
        },
        "decode": {"beam": 1},
    }


@pytest.fixture(autouse=True)
def _no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.training.trainer.draw_run", lambda *_: None)


@pytest.mark.slow
def test_one_model_learns_two_languages_and_speaks_the_one_asked_for(tmp_path: Path) -> None:
    seed = secrets.randbits(31)
    print(f"seed {seed}")
    unseen = write(tmp_path, random.Random(seed))
    run = train(resolve(tables(tmp_path, seed), "test"), tmp_path / "runs")
    translator = Translator.from_pretrained(run.path, engine="pytorch")
    right = {
        language: sum(
            found.text == said(text, language)
            for text, found in zip(unseen, translator.translate(unseen, language=language), strict=True)
        )
        for language in LANGUAGES
    }
    mixed = [LANGUAGES[i % 2] for i in range(len(unseen))]
    together = translator.translate(unseen, language=mixed)
    apart = [translator.into(language)(text) for text, language in zip(unseen[:6], mixed, strict=False)]
    best = run.read_info()["best"]
    print(f"{right} of {len(unseen)}; {run.read_info()['seconds']} s; {best}")

    assert min(right.values()) >= 0.9 * len(unseen)
    assert [found.text for found in together[:6]] == apart
    assert isinstance(best, dict) and best["bleu"] > 80  # validation asks for the language of each pair


def test_a_run_of_two_languages_is_resumed_bit_by_bit(tmp_path: Path) -> None:
    write(tmp_path, random.Random(1))
    settings = tables(tmp_path, 1)
    settings["train"] |= {"steps": 6, "validate_every": 3, "save_every": 2, "warmup_steps": 2}
    settings["model"] |= {"dropout": 0.1}
    config = resolve(settings, "test")
    whole = train(config, tmp_path / "whole")
    with pytest.raises(Interrupted):
        train(config, tmp_path / "stopped", Telling(signal_at("stepped", 3)))
    resumed = resume(type(whole)(tmp_path / "stopped" / "run-01"))

    assert differences(whole, resumed) == []
    loaded = load_model(resumed.model)
    assert isinstance(loaded.model, EncoderDecoder)
    assert loaded.tokenizer is not None and loaded.tokenizer.languages == LANGUAGES
