"""What the tests of the page share: tiny models, where they are shown, and when a view is there."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from playwright.sync_api import Page

from glassformer.checkpoint import save_model
from glassformer.config import ModelConfig, TokenizerConfig
from glassformer.nn import build_model
from glassformer.text import Tokenizer

Open = Callable[..., Page]
SENTENCE = "The cat chased the mouse."
CORPUS = [
    "The cat chased the mouse.",
    "A dog is sleeping near 42 houses.",
    "Le chat a poursuivi la souris dans la maison !",
    "日本語です。 Привет, мир! 👨‍👩‍👧 🇫🇷 é à <script>alert(1)</script>",
] * 4
MODELS: dict[str, dict[str, object]] = {
    "translator": {"family": "encoder-decoder"},
    "writer": {"family": "decoder-only", "norm": "pre", "positions": "rotary", "n_kv_heads": 2},
    "filler": {"family": "encoder-only", "positions": "learned", "head": "masked-lm"},
    "judge": {
        "family": "encoder-only",
        "positions": "alibi",
        "head": "classifier",
        "labels": ["good", "bad"],
    },
}
"""Tiny models with random weights: one of each family, and a classifier."""


@dataclass(frozen=True)
class Explorer:
    """A running explorer and the directories it shows."""

    url: str
    folder: Path

    def at(self, run: str = "translator", **selection: object) -> str:
        """The address of a selection."""
        parts = {"run": run, **selection}
        return f"{self.url}#" + "&".join(f"{name}={value}" for name, value in parts.items())


def save_models(folder: Path) -> None:
    """Model directories of ``MODELS``."""
    tokenizer = Tokenizer.train(CORPUS, TokenizerConfig(vocab_size=400))
    common = {
        "vocab_size": tokenizer.size,
        "max_length": 600,
        "d_model": 32,
        "d_ff": 48,
        "n_heads": 4,
        "n_encoder_layers": 2,
        "n_decoder_layers": 2,
        "dropout": 0.0,
    }
    for name, settings in MODELS.items():
        torch.manual_seed(5)
        model = build_model(ModelConfig.model_validate({**common, **settings})).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.15)
        save_model(folder / name, model, tokenizer, card=f"# {name}\n")


def ready(page: Page, view: str) -> None:
    """Wait until a view has been drawn."""
    page.wait_for_selector(f'#stage-slot[data-ready="{view}"]', timeout=20_000)


def slow(page: Page) -> None:
    """From now on what the page asks for comes late, as from a busy machine."""
    page.evaluate(
        "() => { const ask = window.fetch; window.fetch = async (...what) =>"
        " { await new Promise((go) => setTimeout(go, 300)); return ask(...what); }; }"
    )
