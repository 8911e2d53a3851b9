"""What clients get: one strict model for each answer, which is also its documentation."""

from typing import Annotated, Literal

from pydantic import Field

from glassformer.config import Strict

Finite = float | None
Link = Annotated[tuple[int, int, float], Field(strict=False)]  # JSON has lists
Place = Annotated[tuple[int, int], Field(strict=False)]


class Reply(Strict):
    """A table of values that we send."""


class TokenReply(Reply):
    """A token that a model has said."""

    text: str
    """For people to read: ``▁`` begins a word."""
    id: int
    logprob: Finite


class AlternativeReply(Reply):
    """A further result."""

    text: str
    score: Finite
    finish_reason: Literal["stop", "length"]
    tokens: list[TokenReply] | None = None


class TextReply(AlternativeReply):
    """The result for one text."""

    unknown_ratio: float = 0.0
    """Share of the input that the tokenizer could only spell in bytes."""
    warnings: list[str] = Field(default=[])
    alignment: list[Link] | None = None
    """Links between words: place in the source, place in the target, weight."""
    alternatives: list[AlternativeReply] | None = None


class Usage(Reply):
    """How many tokens were read and written."""

    input_tokens: int
    output_tokens: int


class Timing(Reply):
    """Where the time went."""

    queue_ms: float
    """Until the model began with it."""
    total_ms: float


class TranslateReply(Reply):
    """Translations, in the order of the texts."""

    model: str
    translations: list[TextReply]
    usage: Usage
    timing: Timing


class GenerateReply(Reply):
    """Texts that go on, in the order of the prompts."""

    model: str
    generations: list[TextReply]
    usage: Usage
    timing: Timing


class ScoreEntry(Reply):
    """What a model thinks of one text."""

    logprob: Finite
    """Of the whole text; null for an empty source."""
    perplexity: Finite
    tokens: list[TokenReply]


class ScoreReply(Reply):
    """Scores, in the order of the pairs."""

    model: str
    scores: list[ScoreEntry]
    usage: Usage
    timing: Timing


class EmbedReply(Reply):
    """Vectors, in the order of the texts."""

    model: str
    embeddings: list[list[float]]
    usage: Usage
    timing: Timing


class LabelReply(Reply):
    """A class and how probable it is."""

    name: str
    probability: float


class ClassifyReply(Reply):
    """For each text its labels, most probable first; none for a blank text."""

    model: str
    labels: list[list[LabelReply]]
    usage: Usage
    timing: Timing


class GuessReply(Reply):
    """A token that may stand in a blank."""

    text: str
    id: int
    probability: float


class FillReply(Reply):
    """For each text, for each blank in it, candidates, best first."""

    model: str
    blanks: list[list[list[GuessReply]]]
    usage: Usage
    timing: Timing


class Tokens(Reply):
    """A text as the model sees it."""

    ids: list[int]
    pieces: list[str]
    offsets: list[Place]
    """Where each token stands in ``text``."""
    text: str
    """The text as it was normalised."""


class TokenizeReply(Reply):
    """Tokens, in the order of the texts."""

    model: str
    tokens: list[Tokens]


class ModelEntry(Reply):
    """A model that can be asked."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str
    family: str | None
    """Null while it is being loaded."""
    languages: list[list[str]]
    """Pairs of source and target."""
    limits: dict[str, float]
    params: int | None
    """Numbers that training has changed."""
    engine: str | None
    """Who answers: ``pytorch``, or the native engine and its kernels."""
    state: Literal["loading", "ready", "failed"]


class ModelsReply(Reply):
    """All models."""

    object: Literal["list"] = "list"
    data: list[ModelEntry]


class ProblemReply(Reply):
    """A problem as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
    hint: str | None = None
    request_id: str
