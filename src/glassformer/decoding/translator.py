"""Text in, text out, by an encoder-decoder."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack, overload

from glassformer.config import DecodeConfig
from glassformer.config.decode import DecodeOptions
from glassformer.decoding.alignment import (
    Pairs,
    Reading,
    default_reading,
    same_tokens,
)
from glassformer.decoding.defaults import FILE as DEFAULTS
from glassformer.decoding.defaults import AlignmentLayer, Defaults
from glassformer.decoding.engines import EngineChoice, Engines, Native
from glassformer.decoding.explaining import Explainable
from glassformer.decoding.familiarity import FILE as FAMILIAR
from glassformer.decoding.familiarity import Familiarity
from glassformer.decoding.framing import Framing, Key, Language, Terms, Wishes
from glassformer.decoding.hypothesis import Hypothesis, Query
from glassformer.decoding.paragraphs import NOTHING, join_texts
from glassformer.decoding.pretrained import load_family, main_directory, open_family, read_shortlist, save
from glassformer.decoding.results import Scored, Streamed, Translation
from glassformer.decoding.shortlist import FILE as SHORTLIST
from glassformer.decoding.shortlist import Shortlist
from glassformer.decoding.splitting import Segment
from glassformer.decoding.targets import Target
from glassformer.decoding.wording import (
    MUCH_UNKNOWN,
    UNREAD,
    check_texts,
    input_warnings,
    scored,
    settings,
    specials_of,
    stream,
    text_of,
    word_alignment,
)
from glassformer.engine import Precision
from glassformer.errors import InputError
from glassformer.text import Tokenizer

if TYPE_CHECKING:
    from glassformer.decoding.generation import Decoder
    from glassformer.nn import EncoderDecoder


class Translator(Explainable):
    """An encoder-decoder, or several with one tokenizer, and how to ask it.

    Threads may share one: translating changes nothing in it.
    """

    def __init__(
        self,
        model: "EncoderDecoder | Sequence[EncoderDecoder] | Native[EncoderDecoder]",
        tokenizer: Tokenizer,
        decode: DecodeConfig | None = None,
        *,
        language: str | None = None,
        shortlist: Shortlist | None = None,
        reading: Reading | None = None,
        familiarity: Familiarity | None = None,
    ) -> None:
        """``decode`` and ``language`` are for calls that give none; alignments come from ``reading``.

        With ``familiarity`` there is a warning for sources that are unlike what the model has learned from.
        """
        self.tokenizer = tokenizer
        self.decode = DecodeConfig() if decode is None else decode
        self.shortlist = shortlist
        self.familiarity = familiarity
        self.engines = Engines(model, lambda size: specials_of(tokenizer, size), shortlist)
        self.specials = self.engines.specials
        longest = min(config.max_length for config in self.engines.configs)
        self.framing = Framing(tokenizer, longest, language)
        self.reading = default_reading(self.engines.config) if reading is None else reading

    @classmethod
    def from_pretrained(
        cls,
        *directories: Path | str,
        decode: DecodeConfig | None = None,
        shortlist: bool = False,
        engine: EngineChoice = "auto",
        precision: Precision = "auto",
    ) -> Self:
        """The translator of a model or run directory; of several, an ensemble; of none, the shipped one.

        ``decode`` replaces the settings that the model itself asks for. With ``shortlist`` only the target
        tokens are considered that its training text makes likely.

        The native engine answers where it can, unless ``engine`` says otherwise; ``precision`` is how it
        multiplies. What it cannot do is done by PyTorch, and ``engines.reasons`` says why.
        """
        found = open_family("encoder-decoder", directories, engine, precision, _load)
        directory = main_directory(directories)
        defaults = Defaults.of(directory)
        translator = cls(
            found.model,
            found.tokenizer,
            decode or defaults.decode,
            language=defaults.language,
            shortlist=read_shortlist(directory) if shortlist else None,
            familiarity=Familiarity.of(directory, found.tokenizer),
        )
        translator.reading = defaults.alignment(translator.engines.config, str(directory))
        if found.reason:
            translator.engines.reasons[found.reason] = None
        return translator

    def into(self, language: str) -> Self:
        """The same translator, with this target language where a call names none."""
        self.tokenizer.language_id(language)  # refuses one that it has not
        found = copy(self)
        found.framing = replace(self.framing, language=language)
        return found

    @property
    def models(self) -> "tuple[EncoderDecoder, ...]":
        """The models as PyTorch has them, loaded on first use where the native engine answers."""
        return self.engines.models

    @property
    def decoder(self) -> "Decoder":
        """The decoder by PyTorch, which shows its steps to whoever asks."""
        return self.engines.pytorch

    def save_pretrained(self, directory: Path | str, card: str = "") -> None:
        """Write the model directory that ``from_pretrained`` reads; of one model, not of an ensemble."""
        reading = AlignmentLayer(layer=self.reading.layer, fed=self.reading.fed)
        defaults = Defaults(decode=self.decode, reading=reading, language=self.framing.language)
        extras = {DEFAULTS: defaults.to_bytes()}
        if self.shortlist is not None:
            extras[SHORTLIST] = self.shortlist.to_bytes()
        if self.familiarity is not None:
            extras[FAMILIAR] = self.familiarity.to_bytes()
        save(directory, self.models, self.tokenizer, card, extras)

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
        language: Language = None,
        alignment: bool = False,
        **options: Unpack[DecodeOptions],
    ) -> list[Translation]:
        """The translation of each text, in order; settings by name replace those of ``config``.

        A blank text gives a blank one without asking the model. A text longer than the model can read is
        refused; with ``split`` it is translated sentence by sentence. ``language`` is for a model of several
        target languages: one for all texts, or one for each.
        """
        config = settings(config or self.decode, {**options}, "translate")
        wishes = Wishes(prefix, required, forbidden, language)
        cut = self.framing.cut(check_texts(texts), wishes, split=config.split)
        queries = self.framing.queries(cut, wishes, split=config.split)
        answers, engine = self.engines.decode(list(queries.values()), config)
        told = {
            key: self._translation(cut[key[0]][key[1]].text, query, found, engine)
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
        queries = self.framing.queries([segments], wishes, split=config.split)
        return self._stream(segments, queries, config)

    def score(self, pairs: Sequence[tuple[str, str]], *, language: Language = None) -> list[Scored]:
        """What the model thinks of given translations, pairs of source and target."""
        sources = self.framing.sources(check_texts([source for source, _ in pairs]), language)
        forced = self.tokenizer.target_before
        encoded = self.framing.targets(check_texts([target for _, target in pairs]))
        targets = [(*forced, *ids) for ids in encoded]
        asked = [i for i, source in enumerate(sources) if source]
        wanted = [Target(sources[i], targets[i], n_forced=len(forced)) for i in asked]
        found = dict(zip(asked, self.engines.score(wanted), strict=True))
        return [
            scored(self.tokenizer, targets[i], found[i]) if i in found else UNREAD for i in range(len(pairs))
        ]

    def choose_reading(
        self,
        pairs: Sequence[tuple[str, str]],
        gold: Sequence[Pairs] | None = None,
        *,
        language: Language = None,
    ) -> Reading:
        """The layer whose attention aligns these pairs best; ``self.reading`` is where it may be kept.

        ``gold`` are links between tokens. Without them, tokens that occur once on both sides serve.
        """
        from glassformer.decoding.attending import choose_layer

        sources = self.framing.sources([source for source, _ in pairs], language)
        outputs = self.framing.targets([target for _, target in pairs])
        targets = [
            Target(source or (self.specials.end,), ids) for source, ids in zip(sources, outputs, strict=True)
        ]
        if gold is None and self.tokenizer.joint:
            gold = [same_tokens(target) for target in targets]
        return choose_layer(self.models[0], targets, self.specials, gold)

    def input_warnings(self, text: str, ids: Sequence[int] | None = None) -> list[str]:
        """What the author of a source should be told before it is translated; ``ids`` if they are known."""
        source = self.tokenizer.source
        if ids is None:
            (ids,) = self.tokenizer.encode_source([text])
        own = [token for token in ids if token == source.unk_id or token not in source.control_ids]
        unknown = source.unknown_ratio(own)
        found = input_warnings(text, unknown)
        if self.familiarity is not None and unknown < MUCH_UNKNOWN:  # else that is said already
            found += self.familiarity.warnings(text, own)
        return found

    def _translation(self, text: str, query: Query, found: Sequence[Hypothesis], engine: str) -> Translation:
        best, *others = (text_of(self.tokenizer, hypothesis) for hypothesis in found)
        unknown = self.tokenizer.source.unknown_ratio(query.ids[:-1])
        warnings = [] if found[0].finished else [f"the output met its limit of {found[0].length} tokens"]
        warnings += self.input_warnings(text, query.ids)
        return replace(
            best,
            n_input_tokens=len(query.ids),
            unknown_ratio=unknown,
            warnings=tuple(warnings),
            alternatives=tuple(others),
            engine=engine,
        )

    def _stream(
        self, segments: Sequence[Segment], queries: Mapping[Key, Query], config: DecodeConfig
    ) -> Iterator[Streamed]:
        for j, segment in enumerate(segments):
            if (0, j) in queries:
                with self.engines.begin(queries[0, j], config) as run:
                    yield from stream(run, self.tokenizer.stream())
            if segment.space and queries:
                yield Streamed(segment.space)

    def _aligned(
        self, told: Mapping[Key, Translation], queries: Mapping[Key, Query]
    ) -> dict[Key, Translation]:
        """The same with the alignment of the words of each, alternatives included."""
        texts = [(key, text) for key, found in told.items() for text in (found, *found.alternatives)]
        targets = [
            Target(
                queries[key].ids, tuple(token.id for token in text.tokens if token.id != self.specials.end)
            )
            for key, text in texts
        ]
        weights = self.engines.attention(targets, self.reading)
        aligned: dict[Key, list[Translation]] = {}
        for (key, text), target, each in zip(texts, targets, weights, strict=True):
            found = replace(text, alignment=word_alignment(self.tokenizer, target, each))
            aligned.setdefault(key, []).append(found)
        return {key: replace(best, alternatives=tuple(rest)) for key, (best, *rest) in aligned.items()}


def _load(directories: Sequence[Path | str]) -> "tuple[tuple[EncoderDecoder, ...], Tokenizer]":
    from glassformer.nn import EncoderDecoder

    return load_family(EncoderDecoder, directories)
