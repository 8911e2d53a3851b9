"""``glassformer demo``: see it work before you have any data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.progress import TrainingProgress
from glassformer.cli.report import console, say
from glassformer.cli.runs import RUNS

if TYPE_CHECKING:
    from glassformer.decoding import Translation
    from glassformer.training import RunDirectory

SHADES = " ░▒▓█"


SENTENCES = (
    "The cat chased the mouse.",
    "Where is the station?",
    "I do not like coffee.",
    "She has two brothers and one sister.",
)


def demo(
    quick: Annotated[
        bool, typer.Option("--quick", help="A few seconds of training instead of a minute.")
    ] = False,
    runs: Annotated[Path, typer.Option(help="Folder of runs.")] = RUNS,
) -> None:
    """Translate with the model that ships, then train one on a small corpus in about a minute."""
    from glassformer.workflow.demo import FULL, QUICK, train_on_phrasebook

    def progress(run: "RunDirectory") -> TrainingProgress:
        return TrainingProgress(console(), run.log, 50)

    _show_shipped()
    say("", " A model of your own: a grammar writes sentence pairs, and a small Transformer learns them.")
    size = QUICK if quick else FULL
    outcome = train_on_phrasebook(runs, size, notice=lambda message: say(f" {message}"), progress=progress)
    say("", " Sentences it has never seen:")
    for source, found in zip(outcome.sources, outcome.shown, strict=True):
        say(f"   {source} → {found.text}")
    say("", " Where it looked, word by word (cross-attention):", *picture(outcome.shown[0]))
    path = outcome.run.path
    say(
        "",
        f" exact       {outcome.exact:.1f} % of unseen sentences, word for word",
        f" alignment   {outcome.alignment_error:.1f} % error, read from attention, against the grammar's own",
        f" curves      {outcome.run.plots}/loss.png",
        "",
        " Next:",
        f"   glassformer explore {path}          look inside, in the browser",
        f"   glassformer serve {path}            over HTTP",
        f'   glassformer translate -m {path} "The little dog sleeps."',
        "   glassformer train --src train.en --tgt train.fr --valid valid.en valid.fr --preset tiny",
    )


def _show_shipped() -> None:
    """What the model in the package makes of a few sentences, and where it looked."""
    from glassformer.decoding import Translator

    translator = Translator.from_pretrained()
    found = translator.translate(list(SENTENCES), alignment=True)
    say(" The model that ships, English to French:")
    for source, one in zip(SENTENCES, found, strict=True):
        say(f"   {source} → {one.text}")
    say("", " Where it looked, word by word (cross-attention):", *picture(found[0]))


def picture(found: "Translation") -> list[str]:
    """An alignment as shades: a row for each target word, a column for each source word."""
    if found.alignment is None:
        return []
    words = found.alignment.target
    margin = max(map(len, words), default=0)
    columns = [max(len(word), 3) for word in found.alignment.source]
    head = " ".join(word.center(width) for word, width in zip(found.alignment.source, columns, strict=True))
    lines = [f"   {'':{margin}}  {head}"]
    for word, row in zip(words, found.alignment.weights, strict=True):
        cells = (SHADES[min(4, int(weight * 5))] * 2 for weight in row)
        shaded = " ".join(cell.center(width) for cell, width in zip(cells, columns, strict=True))
        lines.append(f"   {word:>{margin}}  {shaded}".rstrip())
    return lines
