"""Text in, text out, by an encoder-decoder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self, Unpack, overload

from glassformer.config import DecodeConfig
from glassformer.config.decode import DecodeOptions
from glassformer.decoding.alignment import (
    Pairs,
    Reading,
    choose_layer,
    cross_attention,
    default_reading,
    same_tokens,
    token_weights,
)
from glassformer.decoding.framing import Framing, Key, Terms, Wishes
from glassformer.decoding.generation import Decoder, evaluating
from glassformer.decoding.hypothesis import Hypothesis, Query
from glassformer.decoding.paragraphs import NOTHING, join_texts
from glassformer.decoding.pretrained import load_family, save
from glassformer.decoding.results import Scored, Streamed, Translation
from glassformer.decoding.scoring import Target, score_targets
from glassformer.decoding.shortlist import Shortlist
from glassformer.decoding.splitting import Segment
from glassformer.decoding.wording import (
    UNREAD,
    check_texts,
    scored,
    settings,
    specials_of,
    stream,
    text_of,
    word_alignment,
)
from glassformer.errors import InputError
from glassformer.nn import EncoderDecoder
from glassformer.text import Tokenizer

_MUCH_UNKNOWN = 0.5


class Translator:
    """An encoder-decoder, or several with one tokenizer, and how to ask it.

    Threads may share one: translating changes nothing in it.
    """

    def __init__(
        self,
        model: EncoderDecoder | Sequence[EncoderDecoder],
        tokenizer: Tokenizer,
        decode: DecodeConfig | None = None,
        *,
        language: str | None = None,
        shortlist: Shortlist | None = None,
        reading: Reading | None = None,
    ) -> None:
        """``decode`` and ``language`` are for calls that give none; alignments come from ``reading``."""
        self.models = (model,) if isinstance(model, EncoderDecoder) else tuple(model)
        self.tokenizer = tokenizer
        self.decode = DecodeConfig() if decode is None else decode
        self.specials = specials_of(tokenizer, self.models[0].config.vocab_size)
        self.decoder = Decoder(self.models, self.specials, shortlist)
        longest = min(model.config.max_length for model in self.models)
        self.framing = Framing(tokenizer, longest, language)
        self.reading = default_reading(self.models[0]) if reading is None else reading
        for each in self.models:
            each.eval()

    @classmethod
    def from_pretrained(cls, *directories: Path | str, decode: DecodeConfig | None = None) -> Self:
        """The translator of a model or run directory; of several, an ensemble; of none, the shipped one."""
        models, tokenizer = load_family(EncoderDecoder, directories)
        return cls(models, tokenizer, decode)

    def save_pretrained(self, directory: Path | str, card: str = "") -> None:
        """Write the model directory that ``from_pretrained`` reads; of one model, not of an ensemble."""
        save(directory, self.models, self.tokenizer, card)

    @overload
    def __call__(self, text: str, /) -> str: ...
    @overload
    def __call__(self, text: list[str] | tuple[str, ...], /) -> list[str]: ...
    def __call__(self, text: str | list[str] | tuple[str, ...], /) -> str | list[str]:
        """The best translation of a text, or of each of several."""
        if isinstance(text, str):
            return self.translate([text])[0].text
        return [translation.text for translation in self.translate(text)]

    def translate(
        self,
        texts: Sequence[str],
        config: DecodeConfig | None = None,
        *,
        prefix: str | Sequence[str] = "",
        required: Terms = (),
        forbidden: Sequence[str] = (),
        language: str | None = None,
        alignment: bool = False,
        **options: Unpack[DecodeOptions],
    ) -> list[Translation]:
        """The translation of each text, in order; settings by name replace those of ``config``.

        A blank text gives a blank one without asking the model. A text longer than the model can read is
        refused; with ``split`` it is translated sentence by sentence.
        """
        config = settings(config or self.decode, {**options}, "translate")
        wishes = Wishes(prefix, required, forbidden, language)
        cut = self.framing.cut(check_texts(texts), wishes, split=config.split)
        queries = self.framing.queries(cut, wishes)
        answers = self.decoder.decode(list(queries.values()), config)
        told = {
            key: self._translation(query, found)
            for (key, query), found in zip(queries.items(), answers, strict=True)
        }
        if alignment:
            told = self._aligned(told, queries)
        return [
            join_texts(segments, [told.get((i, j), NOTHING) for j in range(len(segments))])
            for i, segments in enumerate(cut)
        ]

    def stream(
        self,
        text: str,
        config: DecodeConfig | None = None,
        *,
        prefix: str = "",
        required: Terms = (),
        forbidden: Sequence[str] = (),
        language: str | None = None,
        **options: Unpack[DecodeOptions],
    ) -> Iterator[Streamed]:
        """The translation of a text, token by token; the texts join to what ``translate`` gives.

        Greedy search and sampling give each token at once, a beam the tokens that all its hypotheses share.
        """
        config = settings(config or self.decode, {**options}, "stream")
        if config.nbest > 1:
            raise InputError(f"nbest = {config.nbest} cannot be streamed; set nbest = 1")
        wishes = Wishes(prefix, required, forbidden, language)
        (segments,) = self.framing.cut(check_texts([text]), wishes, split=config.split)
        return self._stream(segments, self.framing.queries([segments], wishes), config)

    def score(self, pairs: Sequence[tuple[str, str]], *, language: str | None = None) -> list[Scored]:
        """What the model thinks of given translations, pairs of source and target."""
        sources = self.framing.sources(check_texts([source for source, _ in pairs]), language)
        targets = self.framing.targets(check_texts([target for _, target in pairs]))
        asked = [i for i, source in enumerate(sources) if source]
        wanted = [Target(sources[i], targets[i]) for i in asked]
        found = dict(zip(asked, score_targets(self.models, wanted, self.specials), strict=True))
        return [
            scored(self.tokenizer, targets[i], found[i]) if i in found else UNREAD for i in range(len(pairs))
        ]

    def choose_reading(
        self, pairs: Sequence[tuple[str, str]], gold: Sequence[Pairs] | None = None
    ) -> Reading:
        """The layer whose attention aligns these pairs best; ``self.reading`` is where it may be kept.

        ``gold`` are links between tokens. Without them, tokens that occur once on both sides serve.
        """
        sources = self.framing.sources([source for source, _ in pairs])
        outputs = self.framing.targets([target for _, target in pairs])
        targets = [
            Target(source or (self.specials.end,), ids) for source, ids in zip(sources, outputs, strict=True)
        ]
        if gold is None and self.tokenizer.joint:
            gold = [same_tokens(target) for target in targets]
        return choose_layer(self.models[0], targets, self.specials, gold)

    def _translation(self, query: Query, found: Sequence[Hypothesis]) -> Translation:
        best, *others = (text_of(self.tokenizer, hypothesis) for hypothesis in found)
        unknown = self.tokenizer.source.unknown_ratio(query.ids[:-1])
        warnings = [] if found[0].finished else [f"the output met its limit of {found[0].length} tokens"]
        if unknown >= _MUCH_UNKNOWN:
            warnings.append(f"{unknown:.0%} of the input is in characters that the tokenizer does not know")
        return replace(
            best,
            n_input_tokens=len(query.ids),
            unknown_ratio=unknown,
            warnings=tuple(warnings),
            alternatives=tuple(others),
        )

    def _stream(
        self, segments: Sequence[Segment], queries: Mapping[Key, Query], config: DecodeConfig
    ) -> Iterator[Streamed]:
        with evaluating(self.models):
            for j, segment in enumerate(segments):
                if (0, j) in queries:
                    run = self.decoder.begin([queries[0, j]], config)
                    yield from stream(run, self.tokenizer.stream())
                if segment.space and queries:
                    yield Streamed(segment.space)

    def _aligned(
        self, told: Mapping[Key, Translation], queries: Mapping[Key, Query]
    ) -> dict[Key, Translation]:
        """The same with the alignment of the words of each."""
        targets = [
            Target(
                queries[key].ids, tuple(token.id for token in found.tokens if token.id != self.specials.end)
            )
            for key, found in told.items()
        ]
        attention = cross_attention(self.models[0], targets, self.specials)
        return {
            key: replace(
                found, alignment=word_alignment(self.tokenizer, target, token_weights(weights, self.reading))
            )
            for (key, found), target, weights in zip(told.items(), targets, attention, strict=True)
        }
