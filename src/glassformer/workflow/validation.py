"""Validation by the very decoder that users get, so that a validation score is a served score."""

from collections.abc import Callable, Sequence
from itertools import islice

from glassformer.config import DecodeConfig, RunConfig
from glassformer.decoding import Translator
from glassformer.decoding.framing import Framing
from glassformer.errors import DataError, InputError
from glassformer.evaluation import text_scores
from glassformer.nn import EncoderDecoder, Transformer
from glassformer.text import Pairs, Tokenizer
from glassformer.text.languages import Tagger
from glassformer.training import DecodeValid, Sample, TextScores
from glassformer.workflow.preparation import target_language

SAMPLES = 8
CHUNK = 64
"""Sentences between two looks at whether to stop."""


def decode_validation(config: RunConfig, tokenizer: Tokenizer, corpus: object) -> DecodeValid | None:
    """A function that translates the validation set; None where there is nothing to translate."""
    if not isinstance(corpus, Pairs) or not config.train.valid_sentences:
        return None
    pairs = list(islice(corpus, config.train.valid_sentences))
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    tagger, named = Tagger(tokenizer, target_language(config)), islice(corpus.languages, len(pairs))
    languages = [tagger.language(each, f"{corpus.name}: line {i}") for i, each in enumerate(named, start=1)]
    try:
        Framing(tokenizer, config.model.max_length).sources(sources, languages)
    except InputError as error:  # told now, not at the first validation
        raise DataError(f"{corpus.name}: validation {error}") from None

    def decode(model: Transformer, stop: Callable[[], bool]) -> TextScores | None:
        if not isinstance(model, EncoderDecoder):
            return TextScores({}, ())
        found = _translate(Translator(model, tokenizer), sources, languages, config.decode, stop)
        if found is None:
            return None
        hypotheses = [text for text, _ in found]
        scores = text_scores(hypotheses, [[reference] for reference in references])
        samples = (
            Sample(source, reference, text, score)
            for source, reference, (text, score) in zip(sources, references, found, strict=True)
        )
        figures = {"bleu": scores.bleu.value, "chrf": scores.chrf.value}
        return TextScores(figures, tuple(islice(samples, SAMPLES)))

    return decode


def _translate(
    translator: Translator,
    sources: Sequence[str],
    languages: Sequence[str | None],
    options: DecodeConfig,
    stop: Callable[[], bool],
) -> list[tuple[str, float]] | None:
    found: list[tuple[str, float]] = []
    for start in range(0, len(sources), CHUNK):
        if stop():
            return None
        here = slice(start, start + CHUNK)
        results = translator.translate(sources[here], options, language=languages[here])
        found += [(result.text, result.score or 0.0) for result in results]
    return found
