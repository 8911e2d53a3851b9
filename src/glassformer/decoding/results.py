"""What users get back: plain values that show themselves."""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from glassformer.decoding.alignment import Link, pharaoh


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a text, with what the model thought of it."""

    piece: str
    """For people to read: ``▁`` begins a word."""
    id: int
    log_probability: float


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which source a target comes from, by places in the two lists."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[Link, ...]
    """For each target place the source place that attention fell on most."""
    weights: tuple[tuple[float, ...], ...]
    """All of it: a row for each target place."""

    @property
    def pharaoh(self) -> str:
        """The links as other tools read them: ``0-0 1-2``."""
        return pharaoh(self.links)


@dataclass(frozen=True, slots=True)
class Text:
    """A text that a model has made."""

    text: str
    score: float | None
    """What results are ranked by: the log-probability after penalties. None where no model was asked."""
    log_probability: float | None
    """Of all tokens, ``</s>`` included, after a forced prefix."""
    tokens: tuple[Token, ...]
    """What the model said, ``</s>`` included if it ended by itself."""
    finished: bool
    """False: the length limit was met."""
    n_input_tokens: int = 0
    unknown_ratio: float = 0.0
    """Share of the input that the tokenizer could only spell in bytes."""
    warnings: tuple[str, ...] = ()
    alignment: Alignment | None = None
    """Between words, where it was asked for."""
    alternatives: tuple["Text", ...] = ()
    """The next best results."""
    engine: str = ""
    """What ran: the native engine, its precision and kernels, or ``pytorch``; empty where no model did."""

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The same as plain lists and dictionaries, for JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        told = "" if self.score is None else f" <small>{self.score:.2f}</small>"
        others = "".join(f"<li>{other._repr_html_()}</li>" for other in self.alternatives)
        return f"<span dir='auto'>{escape(self.text)}</span>{told}" + (f"<ol>{others}</ol>" if others else "")


Translation = Text
Generation = Text


@dataclass(frozen=True, slots=True)
class Streamed:
    """A token as it becomes certain."""

    text: str
    """What it adds; always whole characters, sometimes none."""
    id: int | None = None
    """None for text that is no token of the model: white space between sentences, a last half character."""
    log_probability: float | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """What a model thinks of a given text."""

    tokens: tuple[Token, ...]
    """The text's tokens and ``</s>``."""
    words: tuple[tuple[str, float], ...]
    """Words with their log-probabilities; the last one is ``</s>``."""
    log_probability: float | None
    """Of the entire text; None where no model was asked, since there was nothing to read."""
    perplexity: float | None
    """Per token."""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain lists and dictionaries, for JSON."""
        return asdict(self)
