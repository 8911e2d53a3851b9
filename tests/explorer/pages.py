"""What the tests of the page share: tiny models, where they are shown, and when a view is there."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
import uvicorn
from playwright.sync_api import Page

from glassformer.checkpoint import save_model
from glassformer.config import ModelConfig, TokenizerConfig
from glassformer.explorer.app import create_app
from glassformer.explorer.guard import Access, Guard
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


@contextmanager
def served(models: Sequence[Path]) -> Iterator[str]:
    """The address of an explorer on a free port, in a thread."""
    app = Guard(create_app(models), Access())
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    server.should_exit = True
    thread.join(10)
    listening.close()


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
    page.wait_for_selector(f'#stage-slot[data-ready="{view}"]', timeout=60_000)


def slow(page: Page, *waits: int) -> None:
    """From now on what the page asks for comes late, as from a busy machine.

    The first answers wait as many milliseconds as given, all others as many as the last of these.
    """
    page.evaluate(
        """(waits) => {
          const ask = window.fetch;
          window.waiting = 0;
          window.fetch = async (...what) => {
            window.waiting++;
            try {
              const late = waits.length > 1 ? waits.shift() : waits[0];
              await new Promise((go) => setTimeout(go, late));
              return await ask(...what);
            } finally {
              setTimeout(() => window.waiting--, 20);
            }
          };
        }""",
        list(waits) or [300],
    )


QUIET = """async () => {
  for (let i = 0; i < 6; i++) {
    if (window.waiting) return false;
    await new Promise((go) => setTimeout(go, 60)); // an answer may lead to another question
  }
  return true;
}"""


def quiet(page: Page) -> None:
    """Wait until nothing that a slow page asked for is on its way, and what came has been drawn."""
    deadline = time.monotonic() + 60
    while not page.evaluate(QUIET):  # wait_for_function would take the promise itself for a yes
        assert time.monotonic() < deadline, "the page is never quiet"
        page.wait_for_timeout(20)


def selection(page: Page) -> dict[str, str]:
    """What the address of the page says, now."""
    found: dict[str, str] = page.evaluate(
        "() => Object.fromEntries(new URLSearchParams(location.hash.slice(1)))"
    )
    return found
