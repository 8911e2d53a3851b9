"""The size that budgets are about: 512 tokens on both sides, 6 layers, 8 heads, three kinds of attention."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import torch

from glassformer.checkpoint import save_model
from glassformer.config import ModelConfig, TokenizerConfig
from glassformer.nn import build_model
from glassformer.text import Tokenizer
from tests.explorer.pages import CORPUS, served

TOKENS, LAYERS, HEADS = 512, 6, 8
HEAD_BYTES = 2 * TOKENS * TOKENS
"""One head in half precision."""
ATLAS_BYTES = LAYERS * HEADS * 64 * 64
"""The thumbnails of one kind."""


@dataclass(frozen=True)
class Large:
    """An explorer of one large random model."""

    url: str
    run: str
    words: str
    """A text of 512 tokens, the mark at its end included."""

    def trace(self, source: str, target: str | None = None) -> str:
        """Make a trace and give its id."""
        body = {"run": self.run, "source": source, **({} if target is None else {"target": target})}
        answer = httpx.post(f"{self.url}api/traces", json=body, timeout=300)
        assert answer.status_code in (200, 201), answer.status_code  # 200: it was asked before
        return str(answer.json()["id"])

    def at(self, trace: str, **selection: object) -> str:
        """The address of a selection."""
        parts = {"run": self.run, "trace": trace, **selection}
        return f"{self.url}#" + "&".join(f"{name}={value}" for name, value in parts.items())


@contextmanager
def large_explorer(
    folder: Path, *, d_model: int, d_ff: int, vocab_size: int | None = None
) -> Iterator[Large]:
    """A random encoder-decoder; how wide it is does not change what the page is sent of its attention."""
    tokenizer = Tokenizer.train(CORPUS, TokenizerConfig(vocab_size=400))
    torch.manual_seed(3)
    config = ModelConfig(
        family="encoder-decoder",
        vocab_size=max(tokenizer.size, vocab_size or 0),
        max_length=TOKENS,
        d_model=d_model,
        d_ff=d_ff,
        n_heads=HEADS,
        n_encoder_layers=LAYERS,
        n_decoder_layers=LAYERS,
        dropout=0.0,
    )
    save_model(folder / "large", build_model(config).eval(), tokenizer, card="# large\n")
    with served([folder / "large"]) as url:
        yield Large(url, "large", _text_of(tokenizer, TOKENS))


def _text_of(tokenizer: Tokenizer, n_tokens: int) -> str:
    """Words that become so many tokens with the mark at the end: each of these words is one."""
    words = ("The", "cat", "chased", "a", "mouse", "near", "houses")
    text = " ".join(words[i % len(words)] for i in range(n_tokens - 1))
    assert len(tokenizer.encode(text)) == n_tokens - 1
    return text
