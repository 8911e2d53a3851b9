"""Where text comes from."""

from typing import Annotated, Any, Self

from pydantic import Field, PositiveInt, model_validator

from glassformer.config.strict import Strict


class CorpusFiles(Strict):
    """The files of one corpus. Exactly one of the four ways is used; ``.gz`` files are read as they are."""

    src: str | None = None
    """Source sentences, one per line; goes with ``tgt``."""
    tgt: str | None = None
    """Target sentences, line by line beside ``src``."""
    pairs: str | None = None
    """Pairs in one file: ``.tsv`` (source, TAB, target) or ``.jsonl`` (keys source and target).

    A third column, or the key lang, is the target language of a multilingual model.
    """
    text: str | None = None
    """Plain text, for language models and masked language models."""
    labelled: str | None = None
    """Sentences with a label, for classifiers: ``.tsv`` (text, TAB, label) or ``.jsonl`` (text, label)."""

    @model_validator(mode="before")
    @classmethod
    def _a_path_alone_is_a_file_of_pairs(cls, value: Any) -> Any:
        return {"pairs": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.src is None) != (self.tgt is None):
            given, missing = ("src", "tgt") if self.tgt is None else ("tgt", "src")
            raise ValueError(f"{given} is given without {missing}; name both files")
        ways = [name for name in ("src", "pairs", "text", "labelled") if getattr(self, name) is not None]
        if len(ways) != 1:
            told = " and ".join(ways) or "nothing"
            raise ValueError(f"a corpus is src + tgt, pairs, text or labelled; this one has {told}")
        return self

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file, source side first."""
        every = (self.src, self.tgt, self.pairs, self.text, self.labelled)
        return tuple(path for path in every if path is not None)


class DataConfig(Strict):
    """Where text comes from, and which of it is left out."""

    train: CorpusFiles
    """The corpus to learn from."""
    valid: CorpusFiles | None = None
    """The corpus to choose by; never learned from."""
    langs: Annotated[tuple[str, ...], Field(strict=False, max_length=2)] = ()  # TOML has lists
    """Codes of the source and target language, for cards and the server: ``["en", "fr"]``.

    The second is the target language of pairs that name none, in a run with tokenizer.languages.
    """
    max_length: PositiveInt = 256
    """Longest side of a training pair, in tokens; longer pairs are left out and counted."""
    max_ratio: Annotated[float, Field(ge=1)] = 9.0
    """Largest ratio of the two lengths of a pair, in tokens; pairs beyond it are left out and counted."""
