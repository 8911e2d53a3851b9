"""Texts through a translator or a language model: sentences in, one result for each text out."""

import math
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from glassformer.config import DecodeConfig
from glassformer.errors import InputError
from glassformer.serving.asking import Progress, Service
from glassformer.serving.decoding_options import decode_config, language_of
from glassformer.serving.hosting import Host
from glassformer.serving.reading import place
from glassformer.serving.replies import Timing, Usage
from glassformer.serving.requests import Decoding, GenerateRequest, TranslateRequest
from glassformer.serving.tickets import Call

if TYPE_CHECKING:
    from glassformer.decoding import Hypothesis, Query, Segment, Translation, Translator
    from glassformer.decoding.asked import Asked


@dataclass
class Job:
    """A request that has been read: its texts cut into sentences, and a query for each that is not blank."""

    host: Host
    texts: list[str]
    cut: "list[list[Segment]]"
    queries: "dict[tuple[int, int], Query]"
    config: DecodeConfig
    deadline: float

    @property
    def asked(self) -> "list[Asked]":
        """What the model is asked."""
        from glassformer.decoding.asked import Asked

        return [Asked(query, self.config) for query in self.queries.values()]

    @property
    def n_input_tokens(self) -> int:
        """Tokens to read."""
        return sum(len(query.ids) for query in self.queries.values())


@dataclass
class Told:
    """The results of a job."""

    texts: "list[Translation]"
    usage: Usage
    timing: Timing


async def read_translation(service: Service, body: TranslateRequest) -> Job:
    """A request for translations, checked and cut into tokens."""
    host = service.hosts.find(body.model, "encoder-decoder")
    texts = service.reader.texts(body.text)
    service.reader.check_length(body.prefix, "prefix: ")
    config = decode_config(host.translator.decode, body, service.limits)
    language = language_of(host, body.source, body.target)
    job = Job(host, texts, [], {}, config, service.deadline(body.timeout))
    read = [*texts, body.prefix, *body.forbidden]
    await service.reader.run(read, _cut_translation, service, job, body, language)
    return job


async def read_prompts(service: Service, body: GenerateRequest) -> Job:
    """A request for texts that go on, checked and cut into tokens."""
    host = service.hosts.find(body.model, "decoder-only")
    texts = service.reader.texts(body.text)
    config = decode_config(host.language_model.decode, body, service.limits)
    job = Job(host, texts, [], {}, config, service.deadline(body.timeout))
    await service.reader.run([*texts, *body.forbidden], _cut_prompts, service, job, body)
    return job


def _cut_translation(service: Service, job: Job, body: TranslateRequest, language: str | None) -> None:
    from glassformer.decoding.framing import Wishes

    translator = job.host.translator
    _check_normalised(service, translator.tokenizer.source, job.texts)
    wishes = Wishes(prefix=body.prefix, forbidden=_short(service, body.forbidden), language=language)
    job.cut = translator.framing.cut(job.texts, wishes, split=body.split)
    encode = translator.tokenizer.encode_source
    try:
        job.queries = translator.framing.queries(job.cut, wishes)
    except InputError:
        _check_tokens(service, job, encode)  # a sentence that is too long is told in one way, by whomever
        raise
    if any(len(query.ids) > most_tokens(service, job.host) for query in job.queries.values()):
        _check_tokens(service, job, encode)
    _check_limits(job)


def _cut_prompts(service: Service, job: Job, body: GenerateRequest) -> None:
    from glassformer.decoding import Query, Segment

    model = job.host.language_model
    _check_normalised(service, model.tokenizer, job.texts)
    job.cut = [[Segment(text, "")] for text in job.texts]
    _check_tokens(service, job, model.tokenizer.encode_batch)
    never = tuple(tuple(ids) for ids in model.tokenizer.encode_batch(_short(service, body.forbidden)) if ids)
    job.queries = {
        (i, 0): Query((model.specials.start, *ids), forbidden=never, index=(i,))
        for i, ids in enumerate(model.tokenizer.encode_batch(job.texts))
    }
    _check_limits(job)


def _short(service: Service, forbidden: list[str]) -> list[str]:
    return service.reader.texts(forbidden)


def _check_normalised(service: Service, tokenizer: Any, texts: Sequence[str]) -> None:
    for i, text in enumerate(texts):
        service.reader.check_length(tokenizer.normalise(text), place(i, len(texts)))


def _check_tokens(service: Service, job: Job, encode: "Callable[[Sequence[str]], list[list[int]]]") -> None:
    """Refuse a sentence that is too long for the server or the model; both are told in one way."""
    counts = [max((len(ids) for ids in encode([each.text for each in cut])), default=0) for cut in job.cut]
    service.reader.check_tokens(counts, most_tokens(service, job.host))


def most_tokens(service: Service, host: Host) -> int:
    """Tokens that a sentence may have: the server and the model each set a limit."""
    return min(service.limits.max_input_tokens, host.max_length - 2)


def _check_limits(job: Job) -> None:
    """Refuse what leaves the model no room for an answer."""
    from glassformer.decoding.planning import output_limit

    for query in job.queries.values():
        output_limit(job.host.tool.engines.config, query, job.config)


async def translate(service: Service, request: Request, job: Job, *, alignment: bool = False) -> Told:
    """Every text of a job, decoded together with whatever else the server has to do."""
    answered = await service.decode(request, job.host, job.asked, job.deadline)
    told = {
        key: text_result(job, key, found) for key, found in zip(job.queries, answered.results, strict=True)
    }
    if alignment and told:
        told = await _aligned(service, request, job, told)
    return Told(joined(job, told), usage(job, answered.results), answered.timing)


async def _aligned(
    service: Service, request: Request, job: Job, told: "dict[tuple[int, int], Translation]"
) -> "dict[tuple[int, int], Translation]":
    """The same with the alignment of the words of each; that takes one more pass through the model."""
    items = [(found, job.queries[key]) for key, found in told.items()]
    call = Call(("align", job.host.name), partial(_align, job.host.translator), items)
    answered = await service.call(request, call, job.n_input_tokens, job.deadline)
    return dict(zip(told, answered.results, strict=True))


def _align(translator: "Translator", items: "Sequence[tuple[Translation, Query]]") -> "list[Translation]":
    from glassformer.decoding import Target
    from glassformer.decoding.wording import word_alignment

    end = translator.specials.end
    targets = [
        Target(query.ids, tuple(token.id for token in found.tokens if token.id != end))
        for found, query in items
    ]
    attention = translator.engines.attention(targets, translator.reading)
    return [
        replace(found, alignment=word_alignment(translator.tokenizer, target, weights))
        for (found, _), target, weights in zip(items, targets, attention, strict=True)
    ]


async def stream(service: Service, job: Job) -> "AsyncIterator[Progress | None]":
    """A job as its tokens become certain."""
    return await service.stream(job.host, job.asked, job.deadline)


def text_result(job: Job, key: tuple[int, int], found: "Sequence[Hypothesis]") -> "Translation":
    """The hypotheses of a sentence as text, with what its reader should know about it."""
    from glassformer.decoding.wording import input_warnings, text_of

    tokenizer, query = job.host.tool.tokenizer, job.queries[key]
    prompted = job.host.family == "decoder-only"
    after = query.ids if prompted else ()
    best, *others = (text_of(tokenizer, hypothesis, after) for hypothesis in found)
    unknown = (
        tokenizer.unknown_ratio(query.ids[1:]) if prompted else tokenizer.source.unknown_ratio(query.ids[:-1])
    )
    warnings = [] if found[0].finished else [f"the output met its limit of {found[0].length} tokens"]
    text = job.cut[key[0]][key[1]].text
    warnings += (
        input_warnings(text, unknown) if prompted else job.host.translator.input_warnings(text, query.ids)
    )
    return replace(
        best,
        n_input_tokens=len(query.ids),
        unknown_ratio=unknown,
        warnings=tuple(warnings),
        alternatives=tuple(others),
    )


def joined(job: Job, told: "dict[tuple[int, int], Translation]") -> "list[Translation]":
    """One result for each text, from those of its sentences."""
    from glassformer.decoding.paragraphs import NOTHING, join_texts

    return [
        join_texts(segments, [told.get((i, j), NOTHING) for j in range(len(segments))])
        for i, segments in enumerate(job.cut)
    ]


def usage(job: Job, results: "Sequence[Sequence[Hypothesis]]") -> Usage:
    """Tokens read and written."""
    written = sum(each.length for found in results for each in found)
    return Usage(input_tokens=job.n_input_tokens, output_tokens=written)


def reply_of(found: "Translation", wanted: Sequence[str], body: Decoding) -> dict[str, Any]:
    """A result as JSON."""
    reply = {
        **_alternative(found, wanted),
        "unknown_ratio": round(found.unknown_ratio, 4),
        "warnings": list(found.warnings),
    }
    if found.alignment is not None:
        reply["alignment"] = [
            [link.source, link.target, _finite(link.weight)] for link in found.alignment.links
        ]
    if body.nbest > 1:
        reply["alternatives"] = [_alternative(other, wanted) for other in found.alternatives]
    return reply


def _alternative(found: "Translation", wanted: Sequence[str]) -> dict[str, Any]:
    reply: dict[str, Any] = {
        "text": found.text,
        "score": _finite(found.score),
        "finish_reason": "stop" if found.finished else "length",
    }
    if "tokens" in wanted or "scores" in wanted:
        reply["tokens"] = tokens_of(found)
    return reply


def tokens_of(found: Any) -> list[dict[str, Any]]:
    """The tokens of a result as JSON."""
    return [
        {"text": token.piece, "id": token.id, "logprob": _finite(token.log_probability)}
        for token in found.tokens
    ]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
