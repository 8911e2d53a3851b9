"""How text becomes ids."""

from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from glassformer.config.model import Probability
from glassformer.config.strict import Strict


class TokenizerConfig(Strict):
    """How text becomes ids. A tokenizer is trained on the way when no ``path`` is given."""

    kind: Literal["bpe", "unigram", "wordpiece", "byte", "char"] = "bpe"
    """Subwords by merges, by likelihood or by word pieces; bytes; or single characters."""
    path: str | None = None
    """A tokenizer.json to use instead of training one."""
    vocab_size: PositiveInt = 8000
    """Ids to learn, special ones included; a small corpus may give fewer."""
    joint: bool = True
    """One vocabulary for both sides; needed for three-way tying."""
    lowercase: bool = False
    """Fold case in the normaliser; the text given back is then lower-case."""
    min_frequency: PositiveInt = 2
    """How often a pair must occur to be merged."""
    dropout: Probability = 0.0
    """Share of merges left out at random while training (BPE-dropout)."""
    languages: Annotated[tuple[str, ...], Field(strict=False)] = ()  # TOML has lists
    """Target languages of a multilingual model; each gets a tag such as ``>>fr<<``, and pairs name theirs."""

    @model_validator(mode="after")
    def _dropout_needs_merges(self) -> Self:
        if self.dropout and self.kind not in ("bpe", "byte"):
            raise ValueError(f'dropout leaves out merges, but kind = "{self.kind}" has none; set dropout = 0')
        return self
