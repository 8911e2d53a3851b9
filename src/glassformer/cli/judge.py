"""``glassformer eval`` and ``check``: how good a model is, and whether it keeps its promises."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from glassformer.cli.data import Json
from glassformer.cli.report import console, say, show, show_json, table
from glassformer.cli.use import TargetLanguage
from glassformer.errors import CheckFailed, ConfigError, DataError, suggest

if TYPE_CHECKING:
    from glassformer.evaluation import Comparison, Evaluation

SENTENCES = (
    "The cat chased the mouse.",
    "Where is the station?",
    "I do not know what she said yesterday.",
    "Two small birds sat on the old stone wall and sang until the sun went down.",
    "Yes!",
)
"""What ``check`` reads where no text is given: the checks hold for any text, so any will do."""

Rows = list[list[str]]


class _Report(NamedTuple):
    """What an evaluation found: for programs, for people, line by line, and the figure that decides."""

    data: Mapping[str, object]
    rows: Rows
    outputs: Sequence[str]
    bleu: float | None = None


def evaluate(
    model: Annotated[Path, typer.Argument(help="A run or model directory.")],
    src: Annotated[Path | None, typer.Option("--src", help="Source sentences.")] = None,
    ref: Annotated[
        list[Path] | None, typer.Option("--ref", help="References; several files: several each.")
    ] = None,
    text: Annotated[Path | None, typer.Option("--text", help="Text, for a language model.")] = None,
    labelled: Annotated[
        Path | None, typer.Option("--labelled", help="Texts with labels, for a classifier.")
    ] = None,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Strength of the length penalty.")] = None,
    shortlist: Annotated[bool, typer.Option("--shortlist", help="Translate with the shortlist.")] = False,
    tokenize: Annotated[
        str | None, typer.Option(help="How BLEU finds words: 13a intl zh char none; unset: by script.")
    ] = None,
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="BLEU of old papers too: tokenised text, lower-cased.")
    ] = False,
    language: TargetLanguage = None,
    compare: Annotated[Path | None, typer.Option(help="Another model, by paired bootstrap.")] = None,
    min_bleu: Annotated[float | None, typer.Option(help="Exit with 5 below this BLEU.")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Write the translations here.")] = None,
    as_json: Json = False,
) -> None:
    """Score a model: BLEU, chrF, TER and perplexity; of other families perplexity or accuracy.

    glassformer eval runs/train-en-fr-small-01 --src test.en --ref test.fr

    A blank line in a second --ref file means that there is no further reference for this sentence.
    """
    _check_family(model, src, ref, text, labelled)
    translations = {"--beam": beam, "--alpha": alpha, "--tokenize": tokenize, "--compare": compare}
    translations |= {
        "--language": language,
        "--min-bleu": min_bleu,
        "--shortlist": shortlist or None,
        "--tokenized": tokenized or None,
    }
    if src is None and (given := [name for name, value in translations.items() if value is not None]):
        raise ConfigError(f"{given[0]} is about translations; leave it out")
    if text is not None:
        report = _language_report(model, text)
    elif labelled is not None:
        report = _label_report(model, labelled)
    else:
        options = {name: value for name, value in (("beam", beam), ("alpha", alpha)) if value is not None}
        judge = _Judge(model, compare, options, shortlist, tokenize, tokenized, language)
        report = judge.report(src or Path(), ref or [])
    if out is not None:
        try:
            out.write_text("".join(line + "\n" for line in report.outputs), encoding="utf-8")
        except OSError as error:
            raise DataError(f"{out}: cannot be written ({error.strerror})") from None
    if as_json:
        show_json(report.data)
    else:
        for line in table(report.rows):
            show(line)
    if min_bleu is not None and report.bleu is not None and report.bleu < min_bleu:
        raise CheckFailed(f"{model}: BLEU {report.bleu:.2f} is below --min-bleu {min_bleu}")


class _Judge(NamedTuple):
    """How a translator is judged."""

    model: Path
    other: Path | None
    options: Mapping[str, float]
    shortlist: bool
    tokenize: str | None
    tokenized: bool
    language: str | None

    def report(self, src: Path, ref: Sequence[Path]) -> _Report:
        """Translate a test set and score it."""
        from glassformer.evaluation import compare, looks_tokenised, read_reference_set, tokenized_bleu

        given = read_reference_set(src, ref)
        if not self.tokenized and looks_tokenised(given.references):
            say(
                f"warning: {ref[0]}: full stops stand apart, so this text looks tokenised, and BLEU of it "
                "cannot be compared with published figures; detokenise it, or give --tokenized to count as "
                "older papers do"
            )
        found = self._judged(self.model, given.sources, given.references)
        data, rows = found.to_dict(), _rows(found)
        if self.tokenized:
            lowered = [[text.lower() for text in each] for each in given.references]
            old = tokenized_bleu([text.lower() for text in found.hypotheses], lowered)
            data["tokenized_bleu"] = vars(old)
            rows.insert(1, ["BLEU tokenised, lower-cased", f"{old.value:.2f}", old.signature])
        if self.other is not None:
            other = self._judged(self.other, given.sources, given.references)
            compared = compare(found.hypotheses, other.hypotheses, given.references, tokenize=self.tokenize)
            data["compare"] = [vars(each) for each in compared]
            rows += _compared(compared)
        return _Report(data, rows, found.hypotheses, found.bleu.value)

    def _judged(self, model: Path, sources: list[str], references: list[list[str]]) -> "Evaluation":
        from glassformer.config import DecodeConfig, read
        from glassformer.decoding import Translator
        from glassformer.evaluation import evaluate as judge

        translator = Translator.from_pretrained(model, shortlist=self.shortlist)
        if self.language is not None:
            translator = translator.into(self.language)
        decode = read(DecodeConfig, translator.decode.model_dump() | dict(self.options), "eval")
        counter = _counter(len(sources), "translated")
        return judge(translator, sources, references, decode, tokenize=self.tokenize, progress=counter)


def _rows(found: "Evaluation") -> Rows:
    scores = found.scores
    rows = [["BLEU", f"{scores.bleu.value:.2f} ± {found.interval:.2f}", scores.bleu.signature]]
    rows += [["chrF", f"{scores.chrf.value:.2f}", scores.chrf.signature]]
    rows += [["TER", f"{scores.ter.value:.2f}", scores.ter.signature]]
    rows += [["ppl", f"{found.perplexity:.2f}", ""]]
    return rows + [
        [f"BLEU {b.words} words", f"{b.bleu:.2f}", f"{b.sentences} sentences"] for b in found.buckets
    ]


def _compared(comparisons: "Sequence[Comparison]") -> Rows:
    return [
        [f"{c.metric} compared", f"{c.first:.2f} / {c.second:.2f}", f"p = {c.p_value:.4f}"]
        for c in comparisons
    ]


def _language_report(model: Path, path: Path) -> _Report:
    from glassformer.decoding import LanguageModel
    from glassformer.evaluation import evaluate_text
    from glassformer.text import Lines

    lines = list(Lines.from_file(path))
    language_model = LanguageModel.from_pretrained(model)
    found = evaluate_text(language_model, lines, progress=_counter(len(lines), "read"))
    rows = [
        ["ppl", f"{found.perplexity:.3f}", f"per token, {found.tokens:,} tokens, {found.context} at once"],
        ["word ppl", f"{found.word_perplexity:.3f}", f"per word and line end, {found.words:,} of them"],
        ["bits per byte", f"{found.bits_per_byte:.4f}", ""],
    ]
    return _Report(found.to_dict(), rows, ())


def _label_report(model: Path, path: Path) -> _Report:
    from glassformer.config import CorpusFiles
    from glassformer.decoding import TextEncoder
    from glassformer.evaluation import evaluate_labels
    from glassformer.text import open_corpus

    examples = [(row[0], row[1]) for row in open_corpus(CorpusFiles(labelled=str(path)), Path()).rows()]
    encoder = TextEncoder.from_pretrained(model)
    found = evaluate_labels(encoder, examples, progress=_counter(len(examples), "classified"))
    rows = [["accuracy", f"{found.accuracy:.2f} %", f"{found.texts:,} texts"]]
    rows += [
        [each.name, f"precision {each.precision:.2f} %", f"recall {each.recall:.2f} %, {each.texts:,} texts"]
        for each in found.labels
    ]
    return _Report(found.to_dict(), rows, found.predictions)


_ON = {  # what each family is judged on
    "encoder-decoder": "--src FILE --ref FILE",
    "decoder-only": "--text FILE",
    "encoder-only": "--labelled FILE",
}


def _check_family(
    model: Path, src: Path | None, ref: list[Path] | None, text: Path | None, labelled: Path | None
) -> None:
    """Each family is judged on one kind of file; the error names it."""
    from glassformer.checkpoint import open_model, resolve_model_directory

    with open_model(resolve_model_directory(model)) as files:
        config = files.config
    call = f"glassformer eval {model} {_ON[config.family]}"
    if config.family == "encoder-only" and config.head != "classifier":
        raise ConfigError(
            f'{model}: a model with head = "{config.head}" has no labels to be right about; '
            "only classifiers are evaluated",
            f"glassformer train --init-from {model} --labelled FILE",
        )
    given = {"encoder-decoder": src or ref, "decoder-only": text, "encoder-only": labelled}
    if not any(given.values()) or (src and not ref) or (ref and not src):
        raise ConfigError("nothing to evaluate on; name the files", call)
    if sum(bool(each) for each in given.values()) > 1 or not given[config.family]:
        raise ConfigError(
            f'{model}: this is a model of family = "{config.family}"; judge it on its own kind of file', call
        )


def check(
    model: Annotated[Path, typer.Argument(help="A run or model directory.")],
    source: Annotated[Path | None, typer.Option("-i", "--input", help="Texts to check with.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="One check by name; may be repeated.")] = None,
    as_json: Json = False,
) -> None:
    """Check on your own model that batch, padding, cache and files do not change results.

    glassformer check runs/train-en-fr-small-01
    """
    from glassformer.decoding import load
    from glassformer.evaluation import CHECKS, check_model
    from glassformer.text.lines import read_lines

    for name in only or []:
        if name not in CHECKS:
            raise ConfigError(f"--only {name}: there is no such check{suggest(name, CHECKS)}")
    texts = [line for line in read_lines(source) if line.strip()] if source is not None else list(SENTENCES)
    if not texts:
        raise DataError(f"{source}: every line is blank; give at least one text")
    used = load(model, engine="pytorch", any_language=True)  # what is checked holds for each of them
    found = check_model(used, texts, only or ())
    if as_json:
        show_json(
            [{**vars(each), "difference": _number(each.difference), "holds": each.holds} for each in found]
        )
    else:
        rows = []
        for each in found:
            figure = "bit-equal" if each.difference == 0 else f"Δ {each.difference:.0e}"
            rows.append(["✓" if each.holds else "✗", each.name, each.claim, figure, each.detail])
        for line in table(rows):
            show(line)
    broken = [each for each in found if not each.holds]
    if broken:
        worst = broken[0]
        raise CheckFailed(
            f"{model}: {worst.name}: {worst.claim}: Δ {worst.difference:.1e} is more than {worst.bound:.0e}"
        )


def _number(value: float) -> float | str:
    return value if json.dumps(value) != "Infinity" else "infinite"


def _counter(total: int, done_what: str) -> Callable[[int], None]:
    stderr = console()

    def shown(done: int) -> None:
        if stderr.is_terminal:
            stderr.print(f" {done:,} of {total:,}", end="\r")
        elif done == total:
            say(f" {done_what} {total:,}")

    return shown
