"""``glassformer data check`` and ``glassformer tokenize``: look at text before learning from it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.report import say, show, show_json
from glassformer.errors import CheckFailed, ConfigError, DataError

if TYPE_CHECKING:
    from glassformer.config import CorpusFiles
    from glassformer.text.cleaning import Report

data_app = typer.Typer(no_args_is_help=True, help="Look at a corpus before learning from it.")

Source = Annotated[Path | None, typer.Option("--src", help="Source sentences, one per line.")]
Target = Annotated[Path | None, typer.Option("--tgt", help="Target sentences, line by line beside --src.")]
Table = Annotated[Path | None, typer.Option("--data", help="Pairs in one .tsv or .jsonl file.")]
PlainText = Annotated[Path | None, typer.Option("--text", help="Plain text, for language models.")]
LabelledText = Annotated[Path | None, typer.Option("--labelled", help="Texts with labels, .tsv or .jsonl.")]
ValidPair = Annotated[
    tuple[Path, Path] | None, typer.Option("--valid", help="Validation files: source target.")
]
ValidFile = Annotated[Path | None, typer.Option("--valid-data", help="Validation text in one file.")]
Json = Annotated[bool, typer.Option("--json", help="Print data for programs.")]


def corpus_files(
    src: Path | None, tgt: Path | None, data: Path | None, text: Path | None, labelled: Path | None
) -> "CorpusFiles":
    """The corpus that flags name; exactly one is named, or an error says so."""
    from glassformer.config import CorpusFiles, read

    flags = {"src": src, "tgt": tgt, "pairs": data, "text": text, "labelled": labelled}
    given = {name: str(path.absolute()) for name, path in flags.items() if path is not None}
    if not given:
        raise ConfigError("no corpus given; name one with --src and --tgt, --data, --text or --labelled")
    return read(CorpusFiles, given, "corpus")


def valid_files(
    kind: "CorpusFiles", pair: tuple[Path, Path] | None, one: Path | None
) -> "CorpusFiles | None":
    """The validation corpus, of the same kind as the training corpus where it is one file."""
    if pair is not None:
        return corpus_files(pair[0], pair[1], None, None, None)
    if one is None:
        return None
    return corpus_files(
        None,
        None,
        one if kind.src or kind.pairs else None,
        one if kind.text else None,
        one if kind.labelled else None,
    )


@data_app.command("check")
def check(
    src: Source = None,
    tgt: Target = None,
    data: Table = None,
    text: PlainText = None,
    labelled: LabelledText = None,
    valid: ValidPair = None,
    valid_data: ValidFile = None,
    fix: Annotated[Path | None, typer.Option(help="Write the lines worth keeping into this folder.")] = None,
    strict: Annotated[bool, typer.Option(help="Exit with 5 if any line should be left out.")] = False,
    as_json: Json = False,
) -> None:
    """Find empty, repeated, mismatched, garbled, wrong-script and leaked lines.

    glassformer data check --src train.en --tgt train.fr --valid valid.en valid.fr
    """
    from glassformer.text import open_corpus
    from glassformer.text.cleaning import check as look
    from glassformer.text.fixing import fix as mend

    files = corpus_files(src, tgt, data, text, labelled)
    held_out = valid_files(files, valid, valid_data)
    here = Path()
    corpus = open_corpus(files, here)
    validation = None if held_out is None else open_corpus(held_out, here)
    report = look(corpus, validation)
    outcome = mend(corpus, fix, validation) if fix is not None and not report.fatal else None
    if as_json:
        show_json(report.to_dict() | ({} if outcome is None else {"fixed": outcome.to_dict()}))
    else:
        _print(report)
        if outcome is not None:
            say(f"kept {outcome.n_kept:,}, left out {outcome.n_dropped:,}; written to {fix}/")
    if report.fatal:
        worst = next(each for each in report.findings if each.severity == "fatal")
        raise DataError(worst.meaning if worst.kind == "unreadable" else f"{report.corpus}: {worst.meaning}")
    if strict and not report.clean:
        left_out = report.n_lines - report.n_kept
        raise CheckFailed(f"{report.corpus}: {left_out:,} of {report.n_lines:,} lines should be left out")


def _print(report: "Report") -> None:
    scripts = " and ".join(report.scripts)
    say(f"{report.corpus}: {report.n_lines:,} lines, {report.n_kept:,} worth keeping ({scripts})")
    for finding in report.findings:
        say(f" {finding.severity:<5} {finding.count:>8,}  {finding.kind}: {finding.meaning}")
        for place in finding.examples:
            say(f"        line {place.line}: {' | '.join(place.texts)}")
    if report.clean:
        say(" nothing that should be left out")


def tokenize(
    text: Annotated[list[str] | None, typer.Argument(help="Text; standard input when there is none.")] = None,
    model: Annotated[
        Path | None, typer.Option("-m", "--model", help="A run, model or tokenizer.json.")
    ] = None,
    ids: Annotated[bool, typer.Option(help="Print ids instead of pieces.")] = False,
    as_json: Json = False,
) -> None:
    """Show the pieces that a tokenizer makes of a text.

    glassformer tokenize -m runs/train-en-fr-small-01 "A dog is sleeping."
    """
    from glassformer.text import Tokenizer

    if model is None:
        raise ConfigError("no tokenizer given; name one with -m, a run directory or a tokenizer.json")
    folders = (model, model / "model", Path("runs") / model)
    candidates = (model, *(folder / "tokenizer.json" for folder in folders))
    path = next((candidate for candidate in candidates if candidate.is_file()), None)
    if path is None:
        raise DataError(f"{model}: no tokenizer.json here; is this a run or a model directory?")
    tokenizer = Tokenizer.load(path)
    for line in text or (line.rstrip("\n") for line in sys.stdin):
        found = tokenizer.encode(line)
        if as_json:
            pieces, offsets = tokenizer.pieces(found), tokenizer.offsets(found)
            show_json({"text": tokenizer.decode(found), "ids": found, "pieces": pieces, "offsets": offsets})
        else:
            show(" ".join(map(str, found) if ids else tokenizer.pieces(found)))
