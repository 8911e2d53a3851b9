"""``glassformer import`` and ``export``: models from other programs, and for them."""

from pathlib import Path
from typing import Annotated

import typer

from glassformer.cli.data import Json
from glassformer.cli.report import say, show, show_json, table


def import_(
    directory: Annotated[
        Path, typer.Argument(help="A Hugging Face directory: config.json, safetensors, tokenizer files.")
    ],
    out: Annotated[Path, typer.Argument(help="The new model directory.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and check, write nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Make a model directory of a Hugging Face one. Nothing but data is read, no code is run.

    Prints what became of every tensor and, where transformers is installed, how far the original differs.

    glassformer import opus-mt-en-fr models/en-fr
    """
    from glassformer.interop import import_hugging_face

    found = import_hugging_face(directory)
    parity = found.measure()
    if not dry_run:
        found.save(out, parity)
    if as_json:
        measured = None if parity is None else parity.to_dict()
        show_json({**found.summary(), "parity": measured, "out": None if dry_run else str(out)})
        return
    rows = [[key, value] for key, value in found.lines(parity)]
    say(*table(rows), *(f"note: {note}" for note in found.notes))
    if dry_run:
        say("dry run: nothing written. Drop --dry-run to import.")
        return
    say(f"next: glassformer info {out}")
    show(str(out))


def export(
    model: Annotated[Path, typer.Argument(help="A run directory, a model directory or a name under runs/.")],
    out: Annotated[Path, typer.Argument(help="The new directory.")],
    to: Annotated[str, typer.Option("--to", help="hf, ctranslate2, ctranslate2-int8 or onnx.")] = "hf",
    as_json: Json = False,
) -> None:
    """Write a translation model in another program's format, and compare what that program makes of it.

    glassformer export runs/train-en-fr-small-01 en-fr-ct2 --to ctranslate2
    """
    from glassformer.interop import export_model

    report = export_model(model, out, to)
    if as_json:
        show_json({**report.to_dict(), "out": str(out)})
        return
    say(f"parity: {report}")
    show(str(out))
