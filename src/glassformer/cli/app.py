"""The commands. Imports stand inside them, so that --help need not wait for torch."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from glassformer import __version__
from glassformer.cli.bench import bench
from glassformer.cli.convert import export, import_
from glassformer.cli.data import data_app, tokenize
from glassformer.cli.demo import demo
from glassformer.cli.embed import embed
from glassformer.cli.judge import check, evaluate
from glassformer.cli.look import explain, explore
from glassformer.cli.machine import doctor, info
from glassformer.cli.runs import average, plot, runs_app
from glassformer.cli.serve import serve
from glassformer.cli.train import init, train
from glassformer.cli.use import classify, fill, generate, score, translate
from glassformer.errors import GlassformerError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a traceback of ours must not print users' texts
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"glassformer {__version__}")
        raise typer.Exit


@app.callback()
def glassformer(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Train, evaluate, translate with, serve and look inside Transformers."""


app.command()(demo)
app.command()(init)
app.add_typer(data_app, name="data")
app.command()(tokenize)
app.command()(train)
app.command()(translate)
app.command()(generate)
app.command()(fill)
app.command()(classify)
app.command()(embed)
app.command()(score)
app.command()(explain)
app.command()(explore)
app.command("eval")(evaluate)
app.command()(check)
app.command("import")(import_)
app.command()(export)
app.add_typer(runs_app, name="runs")
app.command()(plot)
app.command()(average)
app.command()(bench)
app.command()(serve)
app.command()(info)
app.command()(doctor)


def main() -> None:
    """Run a command; a mistake of the user ends it with a sentence, not with a traceback."""
    try:
        app()
    except GlassformerError as error:
        console = Console(stderr=True, soft_wrap=True)
        console.print(Text.assemble(("error: ", "bold red"), str(error)))  # Text: [model] is no markup
        if error.hint:
            console.print(Text.assemble(("hint:  ", "bold cyan"), error.hint))
        sys.exit(error.exit_code)
