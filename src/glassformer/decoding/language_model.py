"""Text that goes on, by a decoder-only model."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self, Unpack, overload

from glassformer.config import DecodeConfig
from glassformer.config.decode import DecodeOptions
from glassformer.decoding.generation import Decoder, evaluating
from glassformer.decoding.hypothesis import Query
from glassformer.decoding.pretrained import load_family, save
from glassformer.decoding.results import Generation, Scored, Streamed
from glassformer.decoding.scoring import Target, score_targets
from glassformer.decoding.wording import (
    UNREAD,
    check_texts,
    place,
    scored,
    settings,
    specials_of,
    stream,
    text_of,
)
from glassformer.errors import InputError
from glassformer.nn import DecoderOnly
from glassformer.text import Tokenizer


class LanguageModel:
    """A decoder-only model, or several with one tokenizer, and how to ask it.

    In training, lines follow each other with a ``</s>`` between them: that is what a text begins after.
    Threads may share one: generating changes nothing in it.
    """

    def __init__(
        self,
        model: DecoderOnly | Sequence[DecoderOnly],
        tokenizer: Tokenizer,
        decode: DecodeConfig | None = None,
    ) -> None:
        """``decode`` are the settings where a call gives none."""
        self.models = (model,) if isinstance(model, DecoderOnly) else tuple(model)
        self.tokenizer = tokenizer
        self.decode = DecodeConfig() if decode is None else decode
        size = self.models[0].config.vocab_size
        self.specials = specials_of(tokenizer, size, start=tokenizer.eos_id)
        self.decoder = Decoder(self.models, self.specials)
        for each in self.models:
            each.eval()

    @classmethod
    def from_pretrained(
        cls, directory: Path | str, *more: Path | str, decode: DecodeConfig | None = None
    ) -> Self:
        """The language model of a model or run directory; of several, an ensemble."""
        models, tokenizer = load_family(DecoderOnly, (directory, *more))
        return cls(models, tokenizer, decode)

    def save_pretrained(self, directory: Path | str, card: str = "") -> None:
        """Write the model directory that ``from_pretrained`` reads; of one model, not of an ensemble."""
        save(directory, self.models, self.tokenizer, card)

    @overload
    def __call__(self, prompt: str, /) -> str: ...
    @overload
    def __call__(self, prompt: list[str] | tuple[str, ...], /) -> list[str]: ...
    def __call__(self, prompt: str | list[str] | tuple[str, ...], /) -> str | list[str]:
        """What follows a prompt, or each of several."""
        if isinstance(prompt, str):
            return self.generate([prompt])[0].text
        return [found.text for found in self.generate(prompt)]

    def generate(
        self,
        prompts: Sequence[str],
        config: DecodeConfig | None = None,
        *,
        forbidden: Sequence[str] = (),
        **options: Unpack[DecodeOptions],
    ) -> list[Generation]:
        """What follows each prompt, in order, with the space before it; settings by name replace others.

        A blank prompt asks for a text from its beginning.
        """
        config = settings(config or self.decode, {**options}, "generate")
        queries = self._queries(check_texts(prompts), forbidden)
        answers = self.decoder.decode(queries, config)
        results = []
        for query, found in zip(queries, answers, strict=True):
            best, *others = (text_of(self.tokenizer, each, query.ids) for each in found)
            unknown = self.tokenizer.unknown_ratio(query.ids[1:])
            size, rest = len(query.ids), tuple(others)
            results.append(replace(best, n_input_tokens=size, unknown_ratio=unknown, alternatives=rest))
        return results

    def stream(
        self,
        prompt: str,
        config: DecodeConfig | None = None,
        *,
        forbidden: Sequence[str] = (),
        **options: Unpack[DecodeOptions],
    ) -> Iterator[Streamed]:
        """What follows a prompt, token by token; the texts join to what ``generate`` gives."""
        config = settings(config or self.decode, {**options}, "stream")
        if config.nbest > 1:
            raise InputError(f"nbest = {config.nbest} cannot be streamed; set nbest = 1")
        (query,) = self._queries(check_texts([prompt]), forbidden)
        self.decoder.limit(query, config)
        return self._stream(query, config)

    def score(self, texts: Sequence[str]) -> list[Scored]:
        """What the model thinks of given texts, each from its beginning to its end."""
        encoded = self.tokenizer.encode_batch(check_texts(texts))
        most = self.models[0].config.max_length
        for i, ids in enumerate(encoded):
            if len(ids) + 1 > most:
                raise InputError(
                    f"{place(i, len(texts))}a text of {len(ids) + 1} tokens is longer than "
                    f"max_length = {most}; split it, or train with a larger max_length"
                )
        asked = [i for i, ids in enumerate(encoded) if ids]
        targets = [Target((self.specials.start,), tuple(encoded[i])) for i in asked]
        found = dict(zip(asked, score_targets(self.models, targets, self.specials), strict=True))
        return [
            scored(self.tokenizer, ids, found[i]) if i in found else UNREAD for i, ids in enumerate(encoded)
        ]

    def _stream(self, query: Query, config: DecodeConfig) -> Iterator[Streamed]:
        with evaluating(self.models):
            yield from stream(self.decoder.begin([query], config), self.tokenizer.stream(query.ids))

    def _queries(self, prompts: Sequence[str], forbidden: Sequence[str]) -> list[Query]:
        if isinstance(forbidden, str):
            raise InputError("forbidden texts are a list; put a single one in a list")
        never = tuple(tuple(ids) for ids in self.tokenizer.encode_batch(list(forbidden)) if ids)
        return [
            Query((self.specials.start, *ids), forbidden=never, index=(i,))
            for i, ids in enumerate(self.tokenizer.encode_batch(prompts))
        ]
