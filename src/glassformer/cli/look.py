"""``glassformer explain`` and ``explore``: see through a model in the terminal, a file or the browser."""

import math
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.cells import cell_len, set_cell_size

from glassformer.cli.data import Json
from glassformer.cli.report import say, show, show_json
from glassformer.cli.use import TargetLanguage
from glassformer.errors import CheckpointError, ConfigError, suggest

if TYPE_CHECKING:
    from glassformer.probe import Subject, Trace
    from glassformer.probe.picture import Picture

RUNS = Path("runs")
LARGEST = 32.0
"""Inches that a picture has at most each way."""
NAMED = 76
"""So many names find room on its sides; of more, every second or third is written."""
OneModel = Annotated[
    Path | None, typer.Option("-m", "--model", help="A run or model; unset: the shipped one.")
]


def explain(
    text: Annotated[str, typer.Argument(help="Text to look at.")],
    model: OneModel = None,
    target: Annotated[str | None, typer.Option("--tgt", help="Look at this output instead.")] = None,
    language: TargetLanguage = None,
    kind: Annotated[str | None, typer.Option(help="enc, dec or cross; unset: what says most.")] = None,
    layer: Annotated[int | None, typer.Option(min=0, help="Layer, counted from 0.")] = None,
    head: Annotated[int | None, typer.Option(min=0, help="Head, counted from 0; unset: their mean.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the explorer with this text in it.")] = None,
    full: Annotated[bool, typer.Option("--full", help="With --html: every head, however large.")] = False,
    png: Annotated[Path | None, typer.Option(help="Draw the attention into this file.")] = None,
    svg: Annotated[Path | None, typer.Option(help="The same as SVG.")] = None,
    as_json: Json = False,
) -> None:
    """Show where a model looks and what it thought of instead.

    glassformer explain "The cat sat on the mat."

    glassformer explain "The cat sat." --html cat.html --png cat.png
    """
    from glassformer.probe.picture import picture

    options: dict[str, Any] = {} if language is None else {"language": language}
    found = _subject(model).explain(text, target=target, **options)
    drawn = picture(found, _kind(found, kind), layer, head)
    if html is not None:
        _written(html, partial(found.save_html, html, full=full))
        say(f"{html.stat().st_size / 1e6:.1f} MB; open it in a browser")
    for path, form in ((png, "png"), (svg, "svg")):
        if path is not None:
            _written(path, partial(_draw, drawn, path, form))
    if as_json:
        show_json(_plain(found.to_dict()))
    elif html is None and png is None and svg is None:
        _print(found, drawn)


def explore(
    runs: Annotated[list[Path] | None, typer.Argument(help="Runs or models; none: the shipped one.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="0: any; unset: 7860 if free.")] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen at; others than this machine's need --token.")
    ] = "127.0.0.1",
    token: Annotated[str | None, typer.Option(help="Browsers must know this.")] = None,
    allow_host: Annotated[list[str] | None, typer.Option(help="A name of this machine.")] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
) -> None:
    """Open the web explorer on models or on runs, also on those in training.

    glassformer explore

    glassformer explore runs/train-en-fr-small-01
    """
    from glassformer.explorer.running import Place
    from glassformer.explorer.running import explore as serve

    places = [_directory(run) for run in runs] if runs else [_shipped()]

    def opened(address: str) -> None:
        say("the explorer is open; Ctrl-C ends it")
        show(address)
        _flush()
        if not no_open:
            typer.launch(address)

    serve(places, Place(host, port, token, tuple(allow_host or ())), opened)


def _subject(model: Path | None) -> "Subject":
    from glassformer.decoding import load
    from glassformer.explorer.runs import open_runs

    place = _shipped() if model is None else _directory(model)
    (run,) = open_runs([place]).values()
    return load(run.model_directory) if run.model_directory else run.subject(run.checkpoint(None))


def _shipped() -> Path:
    from glassformer.decoding.pretrained import shipped_model

    return shipped_model()


def _directory(name: Path) -> Path:
    """A directory, or a name under runs/."""
    for place in (name, RUNS / name):
        if place.is_dir():
            return place
    known = [path.name for path in RUNS.iterdir()] if RUNS.is_dir() else []
    raise CheckpointError(
        f"{name}: there is no such run or model{suggest(name.name, known)}", "glassformer runs ls"
    )


def _kind(found: "Trace", wanted: str | None) -> Any:
    if wanted is not None and wanted not in found.kinds:
        raise ConfigError(f"--kind {wanted}: this model has {', '.join(found.kinds)}")
    return wanted


def _written(path: Path, write: Callable[[], object]) -> None:
    """Write a file and name it."""
    try:
        write()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from None
    show(str(path))


def _print(found: "Trace", drawn: "Picture") -> None:
    """The picture as text; a terminal that is too narrow gets it in parts, one below the other."""
    from glassformer.probe.picture import bars

    names = [_short(name) for name in drawn.columns]
    widths = [max(cell_len(name), 3) for name in names]
    rows = [_short(name) for name in drawn.rows]
    first = max([cell_len(name) for name in rows], default=0)
    aside = max([cell_len(remark) for remark in drawn.remarks], default=0)
    room = shutil.get_terminal_size().columns - first - 6 - aside if sys.stdout.isatty() else sys.maxsize
    for place, part in enumerate(_parts(widths, room)):
        if place:
            show("")
        show(" " * (first + 3) + " ".join(_centred(names[i], widths[i]) for i in part))
        for name, row, remark in zip(rows, drawn.weights.tolist(), drawn.remarks, strict=True):
            cells = " ".join(_centred(bars(row[i]), widths[i]) for i in part)
            show(f" {set_cell_size(name, first)}  {cells}   {'' if place else remark}".rstrip())
    for line in drawn.lines:
        show(line)
    worst = max(found.fidelity.values(), default=math.nan)
    say(f"{drawn.caption}; numbers equal the kernel's within {worst:.0e}; every head: glassformer explore")


def _parts(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Columns that fit side by side, at least one at a time."""
    part: list[int] = []
    for column, width in enumerate(widths):
        if part and sum(widths[i] + 1 for i in part) + width > room:
            yield part
            part = []
        part.append(column)
    yield part


def _centred(text: str, width: int) -> str:
    """In the middle of so many cells of a terminal; some characters take two."""
    before = (width - cell_len(text)) // 2
    return set_cell_size(" " * before + text, width)


def _draw(drawn: "Picture", path: Path, form: str) -> None:
    from matplotlib.figure import Figure

    n_rows, n_columns = drawn.weights.shape
    size = min(1.6 + 0.42 * n_columns, LARGEST), min(1.4 + 0.34 * n_rows, LARGEST)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(drawn.weights.numpy(), cmap="cividis", vmin=0.0, vmax=1.0, aspect="auto")
    across, down = (slice(None, None, math.ceil(count / NAMED)) for count in (n_columns, n_rows))
    axes.set_xticks(
        range(n_columns)[across], [_literal(name) for name in drawn.columns[across]], rotation=60, ha="right"
    )
    axes.set_yticks(range(n_rows)[down], [_literal(name) for name in drawn.rows[down]])
    axes.set_title(drawn.caption, fontsize=9)
    figure.colorbar(image, ax=axes, label="weight")
    figure.savefig(path, format=form, dpi=160)


def _literal(name: str) -> str:
    """A label that is shown as it is: a dollar sign would begin mathematics."""
    return _short(name).replace("$", r"\$")


def _short(name: str) -> str:
    return name if len(name) <= 16 else name[:15] + "…"


def _plain(value: Any) -> Any:
    """Numbers that JSON has."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _flush() -> None:
    sys.stdout.flush()
