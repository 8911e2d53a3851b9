"""``glassformer eval`` and ``check``: how good a model is, and whether it keeps its promises."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from glassformer.cli.data import Json
from glassformer.cli.report import console, say, show, show_json, table
from glassformer.errors import CheckFailed, ConfigError, DataError, suggest

SENTENCES = (
    "The cat chased the mouse.",
    "Where is the station?",
    "I do not know what she said yesterday.",
    "Two small birds sat on the old stone wall and sang until the sun went down.",
    "Yes!",
)
"""What ``check`` reads where no text is given: the checks hold for any text, so any will do."""


def evaluate(
    model: Annotated[Path, typer.Argument(help="A run or model directory.")],
    src: Annotated[Path | None, typer.Option("--src", help="Source sentences.")] = None,
    ref: Annotated[
        list[Path] | None, typer.Option("--ref", help="References; several files: several each.")
    ] = None,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Strength of the length penalty.")] = None,
    compare: Annotated[Path | None, typer.Option(help="Another model, by paired bootstrap.")] = None,
    min_bleu: Annotated[float | None, typer.Option(help="Exit with 5 below this BLEU.")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Write the translations here.")] = None,
    as_json: Json = False,
) -> None:
    """Score a model on a test set: BLEU, chrF and TER with signatures, perplexity, by length.

    glassformer eval runs/train-en-fr-small-01 --src test.en --ref test.fr
    """
    from glassformer.decoding import Translator
    from glassformer.evaluation import compare as compare_systems
    from glassformer.evaluation import evaluate as judge
    from glassformer.text.lines import read_lines

    if src is None or not ref:
        raise ConfigError("nothing to evaluate on; give --src and --ref")
    sources = list(read_lines(src))
    columns = [list(read_lines(path)) for path in ref]
    for path, column in zip(ref, columns, strict=True):
        if len(column) != len(sources):
            raise DataError(f"{src} has {len(sources)} lines, {path} has {len(column)}; they must pair up")
    references = [list(given) for given in zip(*columns, strict=True)]
    options = {name: value for name, value in (("beam", beam), ("alpha", alpha)) if value is not None}
    decode = Translator.from_pretrained(model).decode.model_copy(update=options)
    show_count = _counter(len(sources))
    found = judge(Translator.from_pretrained(model), sources, references, decode, progress=show_count)
    report = found.to_dict()
    if compare is not None:
        other = judge(Translator.from_pretrained(compare), sources, references, decode, progress=show_count)
        comparisons = compare_systems(found.hypotheses, other.hypotheses, references)
        report["compare"] = [vars(each) for each in comparisons]
    if out is not None:
        out.write_text("".join(text + "\n" for text in found.hypotheses), encoding="utf-8")
    if as_json:
        show_json(report)
    else:
        scores = found.scores
        rows = [["BLEU", f"{scores.bleu.value:.2f}", scores.bleu.signature]]
        rows += [["chrF", f"{scores.chrf.value:.2f}", scores.chrf.signature]]
        rows += [
            ["TER", f"{scores.ter.value:.2f}", scores.ter.signature],
            ["ppl", f"{found.perplexity:.2f}", ""],
        ]
        rows += [
            [f"BLEU {b.words} words", f"{b.bleu:.2f}", f"{b.sentences} sentences"] for b in found.buckets
        ]
        if compare is not None:
            rows += [
                [f"{c.metric} compared", f"{c.first:.2f} / {c.second:.2f}", f"p = {c.p_value:.4f}"]
                for c in comparisons
            ]
        for line in table(rows):
            show(line)
    if min_bleu is not None and found.bleu.value < min_bleu:
        raise CheckFailed(f"{model}: BLEU {found.bleu.value:.2f} is below --min-bleu {min_bleu}")


def check(
    model: Annotated[Path, typer.Argument(help="A run or model directory.")],
    source: Annotated[Path | None, typer.Option("-i", "--input", help="Texts to check with.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="One check by name; may be repeated.")] = None,
    as_json: Json = False,
) -> None:
    """Check on your own model that batch, padding, cache and files do not change results.

    glassformer check runs/train-en-fr-small-01
    """
    from glassformer.decoding import Translator
    from glassformer.evaluation import CHECKS, check_translator
    from glassformer.text.lines import read_lines

    for name in only or []:
        if name not in CHECKS:
            raise ConfigError(f"--only {name}: there is no such check{suggest(name, CHECKS)}")
    texts = [line for line in read_lines(source) if line.strip()] if source is not None else list(SENTENCES)
    found = check_translator(Translator.from_pretrained(model), texts, only or ())
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


def _counter(total: int) -> Callable[[int], None]:
    stderr = console()

    def shown(done: int) -> None:
        if stderr.is_terminal:
            stderr.print(f" {done:,} of {total:,}", end="\r")
        elif done == total:
            say(f" translated {total:,}")

    return shown
