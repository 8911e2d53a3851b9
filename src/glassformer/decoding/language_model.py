"""Text that goes on, by a decoder-only model."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack, overload

from glassformer.config import DecodeConfig
from glassformer.config.decode import DecodeOptions
from glassformer.decoding.defaults import FILE as DEFAULTS
from glassformer.decoding.defaults import Defaults
from glassformer.decoding.engines import EngineChoice, Engines, Native
from glassformer.decoding.explaining import Explainable
from glassformer.decoding.hypothesis import Query
from glassformer.decoding.planning import output_limit
from glassformer.decoding.pretrained import load_family, main_directory, open_family, save
from glassformer.decoding.results import Generation, Scored, Streamed
from glassformer.decoding.targets import Target
from glassformer.decoding.wording import (
    UNREAD,
    check_texts,
    input_warnings,
    place,
    scored,
    settings,
    specials_of,
    stream,
    text_of,
)
from glassformer.engine import Precision
from glassformer.errors import InputError
from glassformer.text import Tokenizer

if TYPE_CHECKING:
    from glassformer.decoding.generation import Decoder
    from glassformer.nn import DecoderOnly


class LanguageModel(Explainable):
    """A decoder-only model, or several with one tokenizer, and how to ask it.

    In training, lines follow each other with a ``</s>`` between them: that is what a text begins after.
    Threads may share one: generating changes nothing in it.
    """

    def __init__(
        self,
        model: "DecoderOnly | Sequence[DecoderOnly] | Native[DecoderOnly]",
        tokenizer: Tokenizer,
        decode: DecodeConfig | None = None,
        *,
        context: int | None = None,
    ) -> None:
        """``decode`` are the settings where a call gives none; ``context`` is what training saw at once."""
        self.tokenizer = tokenizer
        self.context = context
        self.decode = DecodeConfig() if decode is None else decode
        self.engines = Engines(
            model, lambda size: specials_of(tokenizer, size, start=tokenizer.text_start_id), shortlist=None
        )
        self.specials = self.engines.specials

    @classmethod
    def from_pretrained(
        cls,
        directory: Path | str,
        *more: Path | str,
        decode: DecodeConfig | None = None,
        engine: EngineChoice = "auto",
        precision: Precision = "auto",
    ) -> Self:
        """The language model of a model or run directory; of several, an ensemble.

        Which engine answers is chosen as a ``Translator`` does.
        """
        found = open_family("decoder-only", (directory, *more), engine, precision, _load)
        defaults = Defaults.of(main_directory((directory,)))
        language_model = cls(
            found.model, found.tokenizer, decode or defaults.decode, context=defaults.context
        )
        if found.reason:
            language_model.engines.reasons[found.reason] = None
        return language_model

    @property
    def models(self) -> "tuple[DecoderOnly, ...]":
        """The models as PyTorch has them, loaded on first use where the native engine answers."""
        return self.engines.models

    @property
    def decoder(self) -> "Decoder":
        """The decoder by PyTorch, which shows its steps to whoever asks."""
        return self.engines.pytorch

    def save_pretrained(self, directory: Path | str, card: str = "") -> None:
        """Write the model directory that ``from_pretrained`` reads; of one model, not of an ensemble."""
        defaults = Defaults(decode=self.decode, context=self.context)
        save(directory, self.models, self.tokenizer, card, {DEFAULTS: defaults.to_bytes()})

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
        answers, engine = self.engines.decode(queries, config)
        results = []
        for prompt, query, found in zip(prompts, queries, answers, strict=True):
            best, *others = (text_of(self.tokenizer, each, query.ids) for each in found)
            unknown = self.tokenizer.unknown_ratio(query.ids[1:])
            results.append(
                replace(
                    best,
                    n_input_tokens=len(query.ids),
                    unknown_ratio=unknown,
                    warnings=tuple(input_warnings(prompt, unknown)),
                    alternatives=tuple(others),
                    engine=engine,
                )
            )
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
        output_limit(self.engines.config, query, config)
        return self._stream(query, config)

    def score(self, texts: Sequence[str]) -> list[Scored]:
        """What the model thinks of given texts, each from its beginning to its end."""
        encoded = self.tokenizer.encode_batch(check_texts(texts))
        most = self.engines.config.max_length
        for i, ids in enumerate(encoded):
            if len(ids) + 1 > most:
                raise InputError(
                    f"{place(i, len(texts))}a text of {len(ids) + 1} tokens is longer than "
                    f"max_length = {most}; split it, or train with a larger max_length"
                )
        asked = [i for i, ids in enumerate(encoded) if ids]
        targets = [Target((self.specials.start,), tuple(encoded[i])) for i in asked]
        found = dict(zip(asked, self.engines.score(targets), strict=True))
        return [
            scored(self.tokenizer, ids, found[i]) if i in found else UNREAD for i, ids in enumerate(encoded)
        ]

    def _stream(self, query: Query, config: DecodeConfig) -> Iterator[Streamed]:
        with self.engines.begin(query, config) as run:
            yield from stream(run, self.tokenizer.stream(query.ids))

    def _queries(self, prompts: Sequence[str], forbidden: Sequence[str]) -> list[Query]:
        if isinstance(forbidden, str):
            raise InputError("forbidden texts are a list; put a single one in a list")
        never = tuple(tuple(ids) for ids in self.tokenizer.encode_batch(list(forbidden)) if ids)
        return [
            Query((self.specials.start, *ids), forbidden=never, index=(i,))
            for i, ids in enumerate(self.tokenizer.encode_batch(prompts))
        ]


def _load(directories: Sequence[Path | str]) -> "tuple[tuple[DecoderOnly, ...], Tokenizer]":
    from glassformer.nn import DecoderOnly

    return load_family(DecoderOnly, directories)
