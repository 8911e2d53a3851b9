"""What is asked of a model whose inside is to be seen, and what it answers before anybody looks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from glassformer.config import DecodeConfig
from glassformer.decoding import Hypothesis, LanguageModel, Query, Segment, TextEncoder, Translator
from glassformer.decoding.framing import Wishes
from glassformer.decoding.generation import evaluating
from glassformer.decoding.text_encoder import MARKER
from glassformer.errors import InputError
from glassformer.nn import Transformer
from glassformer.probe.beam import BeamLog
from glassformer.probe.intervening import intervening
from glassformer.probe.intervention import Force, Intervention, Swap
from glassformer.probe.tokens import shown_tokens, word_spans
from glassformer.text import Tokenizer

Subject = Translator | LanguageModel | TextEncoder


@dataclass(frozen=True, slots=True)
class Question:
    """An input, how to decode it, and what is changed inside the model meanwhile."""

    text: str
    target: str | None = None
    """Set: nothing is decoded, this output is looked at."""
    config: DecodeConfig | None = None
    """Unset: the subject's own settings."""
    hypothesis: int = 0
    """Which of the results to look at."""
    interventions: tuple[Intervention, ...] = ()
    language: str | None = None
    """Of a translator with several target languages."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Ids that one pass of the model can be run over, and how they came about."""

    source: tuple[int, ...]
    """What the encoder reads; empty for a decoder-only model."""
    fed: tuple[int, ...]
    """What the decoder reads; empty for an encoder-only model."""
    labels: tuple[int, ...]
    """The token that follows each of those fed; one fewer where the last is not followed by any."""
    n_given: int = 1
    """How many of those fed the model did not choose: ``<s>``, a prompt."""
    forced: tuple[int, ...] = ()
    """Places in the output of tokens that were forced."""
    hypotheses: tuple[Hypothesis, ...] = ()
    beam: BeamLog | None = None
    text: str = ""
    """The input as it was after words were swapped."""
    config: DecodeConfig | None = None

    @property
    def decoded(self) -> bool:
        """Whether the output is the model's own."""
        return bool(self.hypotheses)


def model_of(subject: Subject) -> Transformer:
    """The one model under a subject."""
    if isinstance(subject, TextEncoder):
        return subject.model
    if len(subject.models) != 1:
        raise InputError(f"an ensemble of {len(subject.models)} models has no single inside; look at one")
    return subject.models[0]


def answer(subject: Subject, question: Question) -> Answer:
    """The output that the question is about: decoded under its interventions, or given."""
    question = replace(question, text=swapped(_source_tokenizer(subject), question))
    match subject:
        case Translator():
            return _translation(subject, question)
        case LanguageModel():
            return _continuation(subject, question)
        case TextEncoder():
            return _reading(subject, question)


def swapped(tokenizer: Tokenizer, question: Question) -> str:
    """The text of a question with its words swapped."""
    swaps = {each.word: each.text for each in question.interventions if isinstance(each, Swap)}
    if not swaps:
        return question.text
    normalised = tokenizer.normalise(question.text)
    spans = word_spans(shown_tokens(tokenizer, tokenizer.encode(normalised)))
    for word in sorted(swaps, reverse=True):
        if word >= len(spans):
            raise InputError(f"intervention 'swap': the text has no word {word}; it has {len(spans)}")
        start, stop = spans[word]
        normalised = normalised[:start] + swaps[word] + normalised[stop:]
    return normalised


def _source_tokenizer(subject: Subject) -> Tokenizer:
    return subject.tokenizer.source if isinstance(subject, Translator) else subject.tokenizer


def _translation(subject: Translator, question: Question) -> Answer:
    queries = subject.framing.queries([[Segment(question.text, "")]], Wishes(language=question.language))
    if not queries:
        raise InputError("the text is blank; there is nothing to look at")
    (query,) = queries.values()
    source = query.ids
    start, end = subject.specials.start, subject.specials.end
    if question.target is not None:
        (ids,) = subject.framing.targets([question.target])
        return Answer(source, (start, *ids), (*ids, end), text=question.text)
    config = question.config or subject.decode
    found, beam, forced = _decode(subject, query, replace(question, config=config), 0)
    best = _chosen(found, question.hypothesis)
    labels = (*best.ids, end) if best.finished else best.ids
    fed = (start, *best.ids)[: len(labels)]
    return Answer(source, fed, labels, 1, forced, tuple(found), beam, question.text, config)


def _continuation(subject: LanguageModel, question: Question) -> Answer:
    (query,) = subject._queries([question.text], ())
    prompt = query.ids
    if question.target is not None:
        ids = tuple(subject.tokenizer.encode(question.target))
        fed = (*prompt, *ids[:-1]) if ids else prompt
        return Answer((), fed, (*prompt[1:], *ids), len(prompt), text=question.text)
    config = question.config or subject.decode
    found, beam, forced = _decode(subject, query, replace(question, config=config), len(prompt) - 1)
    best = _chosen(found, question.hypothesis)
    after = (*best.ids, subject.specials.end) if best.finished else best.ids
    labels = (*prompt[1:], *after)
    fed = (*prompt, *best.ids)[: max(len(labels), len(prompt))]
    return Answer((), fed, labels, len(prompt), forced, tuple(found), beam, question.text, config)


def _reading(subject: TextEncoder, question: Question) -> Answer:
    if question.target is not None:
        raise InputError("an encoder-only model has no output text; leave target out")
    if any(isinstance(each, Force) for each in question.interventions):
        raise InputError("an encoder-only model has no output to force")
    if subject.model.config.head == "masked-lm" and MARKER in question.text:
        ids = subject._marked(0, question.text, MARKER, 1)
    else:
        (ids,) = subject._framed([question.text])
    if not ids:
        raise InputError("the text is blank; there is nothing to look at")
    return Answer(tuple(ids), (), (), 0, text=question.text)


def _decode(
    subject: Translator | LanguageModel, query: Query, question: Question, n_before: int
) -> tuple[list[Hypothesis], BeamLog | None, tuple[int, ...]]:
    """Hypotheses under the interventions; forced tokens, step by step, each after what came before it."""
    forces = sorted(
        (each for each in question.interventions if isinstance(each, Force)), key=lambda each: each.step
    )
    model, config = model_of(subject), question.config or subject.decode
    places: list[int] = []
    with evaluating([model]), intervening(model, question.interventions):
        found, beam = _search(subject, query, config)
        for force in forces:
            at = force.step - n_before
            said = found[0].ids
            if not 0 <= at <= len(said):
                raise InputError(
                    f"intervention 'force': step {force.step} is not one of the output; "
                    f"its steps run from {n_before} to {n_before + len(said)}"
                )
            ids = _forced_ids(subject.tokenizer, force)
            places += range(at, at + len(ids))
            query = replace(query, prefix=(*said[:at], *ids))
            found, beam = _search(subject, query, config)
    return found, beam, tuple(places)


def _forced_ids(tokenizer: Tokenizer, force: Force) -> Sequence[int]:
    if force.token is None:
        ids = tokenizer.encode(force.text or "")
        if not ids:
            raise InputError("intervention 'force': the text is blank")
        return ids
    if force.token >= tokenizer.size or force.token in tokenizer.control_ids:
        raise InputError(f"intervention 'force': {force.token} is no id of a text token")
    return [force.token]


def _search(
    subject: Translator | LanguageModel, query: Query, config: DecodeConfig
) -> tuple[list[Hypothesis], BeamLog | None]:
    log = None if config.sampling else BeamLog()
    (found,) = subject.decoder.decode([query], config, log)
    return found, log


def _chosen(found: Sequence[Hypothesis], wanted: int) -> Hypothesis:
    if wanted >= len(found):
        raise InputError(f"hypothesis {wanted} does not exist; there are {len(found)}, counted from 0")
    return found[wanted]
