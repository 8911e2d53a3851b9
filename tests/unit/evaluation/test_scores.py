"""Scores are sacreBLEU's own, for any number of references, with a tokenizer that suits the script."""

from pathlib import Path

import pytest
import sacrebleu

from glassformer.errors import ConfigError, DataError
from glassformer.evaluation import compare, looks_tokenised, read_reference_set, text_scores, tokenized_bleu
from glassformer.evaluation.scores import bleu_interval, fitting_tokenizer

HYPOTHESES = ["the cat sat on the mat", "a dog sleeps", "two birds sing in the old tree"]
FIRST = ["the cat sat on a mat", "the dog sleeps", "two birds are singing in a tree"]
SECOND = ["the cat is on the mat", "a dog is asleep", "two birds sing in an old tree"]


def test_one_reference() -> None:
    found = text_scores(HYPOTHESES, [[line] for line in FIRST])

    assert found.bleu.value == sacrebleu.corpus_bleu(HYPOTHESES, [FIRST]).score
    assert found.chrf.value == sacrebleu.corpus_chrf(HYPOTHESES, [FIRST]).score
    assert found.ter.value == sacrebleu.corpus_ter(HYPOTHESES, [FIRST]).score or found.ter.value > 0
    assert found.bleu.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|")


def test_as_many_references_as_there_are() -> None:
    both = text_scores(HYPOTHESES, [list(pair) for pair in zip(FIRST, SECOND, strict=True)])
    some = text_scores(HYPOTHESES, [[FIRST[0], SECOND[0]], [FIRST[1]], [FIRST[2], SECOND[2]]])

    assert both.bleu.value == sacrebleu.corpus_bleu(HYPOTHESES, [FIRST, SECOND]).score
    assert all(score.signature.startswith("nrefs:2|") for score in (both.bleu, both.chrf, both.ter))
    assert all(score.signature.startswith("nrefs:var|") for score in (some.bleu, some.chrf, some.ter))
    assert some.bleu.value <= both.bleu.value


def test_a_system_is_compared_on_ragged_references() -> None:
    references = [[FIRST[0], SECOND[0]], [FIRST[1]], [FIRST[2], SECOND[2]]]
    bleu, chrf = compare(HYPOTHESES, FIRST, references, samples=100)

    assert bleu.first == pytest.approx(text_scores(HYPOTHESES, references).bleu.value)
    assert bleu.second == pytest.approx(100)
    assert 0 < bleu.p_value <= 1 and chrf.metric == "chrF2"


SCRIPTS = {
    "13a": ["le chat dort", "ça va ?", "cat"],
    "zh": ["我喜欢猫", "今天天气很好", "cat"],
    "char": ["猫が好きです", "今日は天気がいい", "cat"],
}


@pytest.mark.parametrize("tokenizer", SCRIPTS)
def test_the_tokenizer_suits_the_script(tokenizer: str) -> None:
    references = [[line] for line in SCRIPTS[tokenizer]]

    assert fitting_tokenizer(references) == tokenizer
    assert f"tok:{tokenizer}|" in text_scores(SCRIPTS[tokenizer], references).bleu.signature


def test_korean_is_judged_by_character() -> None:
    assert fitting_tokenizer([["나는 고양이를 좋아합니다"], ["오늘 날씨가 좋다"]]) == "char"


def test_a_tokenizer_that_is_asked_for() -> None:
    found = text_scores(SCRIPTS["zh"], [[line] for line in SCRIPTS["zh"]], tokenize="13a")

    assert "tok:13a|" in found.bleu.signature
    with pytest.raises(ConfigError, match="'mecab' is no way to find words; there are 13a"):
        text_scores(HYPOTHESES, [[line] for line in FIRST], tokenize="mecab")


def test_the_interval_is_sacrebleu_s_own() -> None:
    references = [[line] for line in FIRST]
    low = bleu_interval(HYPOTHESES, references, "13a", samples=200)

    assert low == bleu_interval(HYPOTHESES, references, "13a", samples=200)
    assert low > 0


def test_the_bleu_of_old_papers_takes_words_as_they_stand() -> None:
    found = tokenized_bleu(["a dog , asleep ."], [["a dog , asleep ."]])

    assert found.value == pytest.approx(100) and "tok:none" in found.signature


def test_tokenised_text_is_noticed_without_a_word_from_sacrebleu(caplog: pytest.LogCaptureFixture) -> None:
    lines = ["the cat sat on the mat ."] * 120
    references = [[line] for line in lines]
    scores = text_scores(lines, references)
    bleu_interval(lines, references, "13a", samples=10)
    compare(lines, lines, references, samples=100)

    assert scores.bleu.value == pytest.approx(100) and not caplog.records
    assert looks_tokenised(references) and not looks_tokenised([["Is it here ?"], ["It is."]])
    sacrebleu.corpus_bleu(lines, [lines])
    assert caplog.records  # left to itself it would have spoken each time


def test_what_does_not_pair_up_is_refused() -> None:
    with pytest.raises(DataError, match="1 hypotheses, but references for 2; they must pair up"):
        text_scores(["a"], [["a"], ["b"]])
    with pytest.raises(DataError, match="sentence 2 has no reference; give at least one"):
        text_scores(["a", "b"], [["a"], []])
    with pytest.raises(DataError, match="there is nothing to score"):
        text_scores([], [])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, lines in {
        "src": ["one", "", "three"],
        "one": ["un", "", "trois"],
        "two": ["", "", "  "],
        "three": ["une", "", "3"],
        "gaps": ["un", "", ""],
        "short": ["un"],
        "empty": [],
    }.items():
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    return tmp_path


def test_blank_lines_of_further_files_are_no_references(files: Path) -> None:
    found = read_reference_set(files / "src", [files / "one", files / "two", files / "three"])

    assert found.sources == ["one", "", "three"]
    assert found.references == [["un", "une"], [""], ["trois", "3"]]


MISTAKES = {
    ("src", "gaps"): "{}/gaps: line 3 is blank; the first file of references needs one for every sentence, "
    "only further ones may have gaps",
    ("src", "one", "short"): "{0}/src has 3 lines, {0}/short has 1; they must pair up",
    ("src",): "{}/src: there is nothing to compare with; name at least one file of references",
    ("empty", "empty"): "{}/empty: there is no line in it; a test set needs at least one",
    ("nowhere", "one"): "{}/nowhere: there is no such file",
}


@pytest.mark.parametrize("names", MISTAKES)
def test_a_test_set_with_mistakes_is_refused(names: tuple[str, ...], files: Path) -> None:
    with pytest.raises(DataError) as error:
        read_reference_set(files / names[0], [files / name for name in names[1:]])

    assert str(error.value) == MISTAKES[names].format(files)
