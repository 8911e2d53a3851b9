"""What clients send: one strict model for each message, which is also its documentation."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, PositiveInt, model_validator

from glassformer.config import Strict
from glassformer.errors import suggest

Texts = str | list[str]


class Request(Strict):
    """A table of values that came over the network."""

    model_config = ConfigDict(populate_by_name=False)

    @model_validator(mode="before")
    @classmethod
    def _know_every_key(cls, table: Any) -> Any:
        known = {info.alias or name for name, info in cls.model_fields.items()}
        unknown = [key for key in table if key not in known] if isinstance(table, Mapping) else []
        if unknown:
            raise ValueError("; ".join(_unknown(key[:40], known) for key in unknown[:5]))
        return table


def _unknown(key: str, known: set[str]) -> str:
    """What to say of a key that nobody knows; it may be meant for the table within the table."""
    inside = set(Sampling.model_fields) if "sampling" in known else set()
    meant = suggest(key, known | inside)
    within = " inside 'sampling'" if key not in known and any(f"'{name}'" in meant for name in inside) else ""
    return f"unknown key {key!r}{meant.removesuffix('?')}{within}{'?' if meant else ''}"


class Sampling(Request):
    """Draw outputs at random instead of searching for the best one."""

    temperature: Annotated[float, Field(ge=0, le=2)] = 1.0
    """Below 1 is surer, above 1 more varied; 0 always takes the most probable token."""
    top_k: Annotated[int, Field(ge=0, le=1000)] = 0
    """Draw among this many most probable tokens only; 0: all."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Draw among the fewest most probable tokens that together have this probability."""
    min_p: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Draw among tokens at least this probable, relative to the most probable one."""
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 0
    """Fixes what is drawn."""


class Asking(Request):
    """What every request may say."""

    model: str | None = None
    """Which model; unset: the first one of the fitting kind."""
    timeout: Annotated[float, Field(gt=0)] | None = None
    """Seconds after which the answer is of no use; at most the server's own deadline."""


class Decoding(Asking):
    """How an output is decoded."""

    beam: PositiveInt | None = None
    """Hypotheses kept; 1 is greedy. Unset: the model's own."""
    alpha: Annotated[float, Field(ge=-2, le=5)] | None = None
    """Strength of the length penalty."""
    nbest: PositiveInt = 1
    """Results for each text: the best one and its alternatives."""
    sampling: Sampling | None = None
    """Set: draw instead of search."""
    max_tokens: PositiveInt | None = None
    """Most tokens of an output."""
    min_tokens: Annotated[int, Field(ge=0)] = 0
    """Fewest tokens of an output."""
    forbidden: list[str] = Field(default=[])
    """Texts that an output may not contain."""
    stream: bool = False
    """Send tokens as they become certain, as server-sent events."""


class TranslateRequest(Decoding):
    """Texts to translate."""

    text: Texts
    """One text, or several."""
    source: str | None = None
    """Code of the language of the texts; unset: the model's own."""
    target: str | None = None
    """Code of the language wanted; unset: the model's own."""
    prefix: str = ""
    """How each translation begins."""
    split: bool = False
    """Translate sentence by sentence; without it a text of several sentences is read as one."""
    wanted: list[Literal["tokens", "scores", "alignment"]] = Field(default=[], alias="return")
    """What to add to each translation."""


class GenerateRequest(Decoding):
    """Texts to go on with."""

    text: Texts
    """One prompt, or several."""
    wanted: list[Literal["tokens", "scores"]] = Field(default=[], alias="return")
    """What to add to each text."""


class Pair(Request):
    """A text and its translation."""

    source: str = ""
    """Nothing, for a language model."""
    target: str
    """The text that is scored."""


class ScoreRequest(Asking):
    """Texts whose probability is asked for."""

    pairs: list[Pair]
    """Pairs of source and target; for a language model, targets alone."""
    target: str | None = None
    """Code of the language of the targets, for a model of several."""


class EmbedRequest(Asking):
    """Texts to turn into vectors."""

    text: Texts
    """One text, or several."""
    pool: Literal["mean", "first"] | None = None
    """How one vector is made of many; unset: as the model was trained."""
    normalize: bool = True
    """Make every vector of length 1."""


class ClassifyRequest(Asking):
    """Texts to name the class of."""

    text: Texts
    """One text, or several."""


class FillRequest(Asking):
    """Texts with blanks."""

    text: Texts
    """One text, or several; ``[MASK]`` stands where a word is missing."""
    mask: Annotated[str, Field(min_length=1, max_length=64)] = "[MASK]"
    """The marker of a blank."""
    top: Annotated[int, Field(ge=1, le=100)] = 5
    """Candidates for each blank."""


class TokenizeRequest(Asking):
    """Texts to cut into tokens."""

    text: Texts
    """One text, or several."""
    side: Literal["source", "target"] = "source"
    """Which vocabulary, where there are two."""


class LibreTranslateRequest(Request):
    """A request as clients of LibreTranslate send it."""

    q: Texts
    """One text, or several."""
    source: str = "auto"
    """Code of the language of the text; ``auto`` is the model's own."""
    target: str
    """Code of the language wanted."""
    format: Literal["text"] = "text"
    """Only plain text is translated."""
    alternatives: Annotated[int, Field(ge=0)] = 0
    """How many further translations are wanted."""
    api_key: str | None = None
    """A key, where the server needs one."""


class DetectRequest(Request):
    """A text whose language is asked for."""

    q: Texts
    api_key: str | None = None


class DeepLRequest(Request):
    """A request as clients of DeepL send it; what has no meaning here may not be set."""

    text: list[str]
    """The texts."""
    target_lang: str
    """Code of the language wanted, for example ``FR``."""
    source_lang: str | None = None
    """Code of the language of the texts; unset: the model's own."""
    split_sentences: Literal["0", "1", "nonewlines"] = "1"
    """``0`` reads each text as one sentence."""
    show_billed_characters: bool = False
    """Count the characters of each text in the reply."""


class CompletionRequest(Request):
    """A request as clients of OpenAI's completions send it; what has no meaning here may not be set."""

    model: str | None = None
    prompt: Texts
    """The text to go on with; for a translation model, the text to translate."""
    max_tokens: PositiveInt | None = 16
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] | None = 1.0
    n: PositiveInt | None = 1
    best_of: PositiveInt | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    logprobs: Annotated[int, Field(ge=0, le=5)] | None = None
    """Set: give the log-probability of each token; alternatives to it are not given."""
    echo: bool | None = False
    stream: bool | None = False
    user: str | None = None
    stop: Annotated[None, Field()] = None
