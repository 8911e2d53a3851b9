"""Language models and classifiers against text: figures that a slow computation by hand gives too."""

import math

import pytest

import glassformer as gf
from glassformer.decoding import LanguageModel, TextEncoder, Translator
from glassformer.errors import DataError
from glassformer.evaluation import evaluate, evaluate_files, evaluate_labels, evaluate_text
from tests.support.trained import corpus, trained


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return LanguageModel.from_pretrained(trained("language model"), engine="pytorch")


def test_the_perplexity_of_short_lines_is_that_of_scoring(model: LanguageModel) -> None:
    """One line per window: what a model sees from before it is only the ``</s>`` between lines."""
    line = "red cat house"
    length = len(model.tokenizer.encode(line)) + 1
    found = evaluate_text(model, [line] * 5, context=length)
    (score,) = model.score([line])
    assert score.log_probability is not None

    assert found.tokens == 5 * length and found.words == 5 * 4
    assert found.loss == pytest.approx(-score.log_probability / length, rel=1e-5)
    assert found.perplexity == pytest.approx(math.exp(found.loss))
    assert found.word_perplexity == pytest.approx(math.exp(-score.log_probability / 4), rel=1e-5)
    assert found.bits_per_byte == pytest.approx(-score.log_probability / math.log(2) / 14, rel=1e-5)


def test_more_context_helps(model: LanguageModel) -> None:
    lines = (corpus("language model") / "valid.txt").read_text().splitlines()
    told: list[int] = []

    assert (
        evaluate_text(model, lines, context=2).loss > evaluate_text(model, lines, progress=told.append).loss
    )
    assert told[-1] == len(lines)


def test_nothing_to_foresee(model: LanguageModel) -> None:
    with pytest.raises(DataError, match="the text is blank"):
        evaluate_text(model, ["", " "])
    with pytest.raises(DataError, match="of an ensemble is not measured"):
        evaluate_text(LanguageModel([*model.models] * 2, model.tokenizer), ["red"])


def test_labels_are_counted() -> None:
    encoder = TextEncoder.from_pretrained(trained("classifier"))
    examples = [("red cat", "colour"), ("dog red", "other"), ("cat", "colour"), ("", "other")]
    found = evaluate_labels(encoder, examples)
    colour, other = found.labels

    assert found.predictions == ("colour", "other", "other", "")
    assert found.accuracy == 50.0
    assert (colour.texts, colour.precision, colour.recall) == (2, 100.0, 50.0)
    assert (other.texts, other.precision, other.recall) == (2, 50.0, 50.0)
    with pytest.raises(DataError, match=r"^line 2: this model has no label 'color'; did you mean 'colour'\?"):
        evaluate_labels(encoder, [("red", "other"), ("red", "color")])
    with pytest.raises(DataError, match="there is nothing to evaluate on"):
        evaluate_labels(encoder, [])


def test_a_translator_is_evaluated_on_files_and_lists() -> None:
    folder = corpus("translator")
    translator = Translator.from_pretrained(trained("translator"))
    found = gf.evaluate(translator, folder / "valid.en", folder / "valid.fr")
    sources = (folder / "valid.en").read_text().splitlines()
    references = (folder / "valid.fr").read_text().splitlines()
    told: list[int] = []
    again = evaluate(translator, sources, [[line] for line in references], progress=told.append)

    assert found == again and evaluate_files is gf.evaluate
    assert found.hypotheses == tuple(translator(sources)) and told == [40]
    assert str(found) == f"BLEU {found.bleu.value:.2f} ± {found.interval:.2f}  {found.bleu.signature}"
    assert sum(bucket.sentences for bucket in found.buckets) == 40
