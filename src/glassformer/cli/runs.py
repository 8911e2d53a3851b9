"""``glassformer runs``, ``average`` and ``plot``: what was trained, how it went, the mean of its end."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.data import Json
from glassformer.cli.report import say, show, show_json, table
from glassformer.errors import CheckpointError, ConfigError, DataError, suggest

if TYPE_CHECKING:
    from glassformer.training import RunDirectory

runs_app = typer.Typer(no_args_is_help=True, help="List, show, compare and remove runs.")

RUNS = Path("runs")
RunName = Annotated[Path, typer.Argument(help="A run directory, or a name under runs/.")]


def find_run(name: Path) -> "RunDirectory":
    """The run of that path or that name under runs/."""
    from glassformer.training import RunDirectory

    if name.is_dir():
        return RunDirectory.open(name)
    under = RUNS / name
    if under.is_dir():
        return RunDirectory.open(under)
    known = [path.name for path in RUNS.iterdir()] if RUNS.is_dir() else []
    raise CheckpointError(f"{name}: there is no such run{suggest(name.name, known)}", "glassformer runs ls")


def _summaries() -> list[dict[str, object]]:
    from glassformer.training import RunDirectory

    paths = sorted(RUNS.iterdir()) if RUNS.is_dir() else []
    runs = (RunDirectory(path) for path in paths)
    return [{"name": run.path.name, **run.read_info()} for run in runs if run.config.is_file()]


@runs_app.command("ls")
def list_runs(
    sort: Annotated[str, typer.Option(help="name, step, or a score such as loss, bleu, chrf.")] = "name",
    as_json: Json = False,
) -> None:
    """Every run under runs/, with its best scores."""
    found = _summaries()
    falling = sort in ("bleu", "chrf", "accuracy", "step")

    def key(run: dict[str, object]) -> tuple[bool, float, str]:
        best = run.get("best")
        value = best.get(sort) if isinstance(best, dict) else None
        value = run.get(sort) if value is None else value
        number = float(value) if isinstance(value, int | float) else None
        return number is None, -(number or 0.0) if falling else (number or 0.0), str(run["name"])

    found.sort(key=key)
    if as_json:
        show_json(found)
        return
    if not found:
        say("no runs here yet; make one with: glassformer train --src train.en --tgt train.fr")
        return
    rows = [["run", "status", "step", "best"]]
    for run in found:
        best = run.get("best")
        scores = "  ".join(f"{k} {v:.2f}" for k, v in best.items()) if isinstance(best, dict) else ""
        rows.append([str(run["name"]), str(run.get("status", "?")), str(run.get("step", 0)), scores])
    for line in table(rows):
        show(line)


@runs_app.command("show")
def show_run(run: RunName, as_json: Json = False) -> None:
    """What run.json says: status, scores, command, versions."""
    directory = find_run(run)
    info = {"path": str(directory.path), **directory.read_info()}
    if as_json:
        show_json(info)
        return
    for line in table([[key, str(value)] for key, value in info.items()]):
        show(line)


@runs_app.command("diff")
def diff_runs(first: RunName, second: RunName, as_json: Json = False) -> None:
    """The settings in which two runs differ."""
    from glassformer.workflow.resuming import flat

    one, other = (flat(find_run(run).settings().model_dump(mode="json")) for run in (first, second))
    keys = sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
    if as_json:
        show_json({key: [one.get(key), other.get(key)] for key in keys})
        return
    if not keys:
        say("the two runs have the same settings")
    for line in table([[key, str(one.get(key)), str(other.get(key))] for key in keys]):
        show(line)


@runs_app.command("rm")
def remove_run(run: RunName, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False) -> None:
    """Remove a run and everything in it."""
    from glassformer.checkpoint import RunLock

    directory = find_run(run)
    if not yes and not typer.confirm(f"remove {directory.path} and everything in it?", err=True):
        raise typer.Exit(1)
    with RunLock(directory.path):  # not under the hands of who trains there
        shutil.rmtree(directory.path)
    say(f"removed {directory.path}")


def average(
    run: RunName,
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="How many of the last checkpoints.")] = 5,
    out: Annotated[Path | None, typer.Option(help="A new model directory; else the run's own.")] = None,
) -> None:
    """Make one model of the last checkpoints of a run: their mean.

    glassformer average runs/train-en-fr-small-01 -n 5
    """
    from glassformer.workflow.averaging import average_run

    steps, directory = average_run(find_run(run), count, out)
    say(f"mean of steps {', '.join(map(str, steps))}; next: glassformer info {directory}")
    show(str(directory))


def plot(
    runs: Annotated[list[Path], typer.Argument(help="Runs to draw, over each other if several.")],
    out: Annotated[Path | None, typer.Option(help="Folder to write to; else the run's plots/.")] = None,
    formats: Annotated[str, typer.Option("--format", help="svg, png or term.")] = "svg,png",
    open_: Annotated[bool, typer.Option("--open", help="Show the first picture.")] = False,
) -> None:
    """Draw loss, learning rate and scores of runs.

    glassformer plot runs/first-01 runs/second-01 --out compare
    """
    from glassformer.training import draw_runs

    wanted = formats.split(",")
    unknown = [name for name in wanted if name not in ("svg", "png", "term")]
    if unknown:
        raise ConfigError(f"--format {unknown[0]}: should be svg, png or term")
    directories = [find_run(run) for run in runs]
    if "term" in wanted:
        _sparklines(directories)
    files = [name for name in wanted if name != "term"]
    if not files:
        return
    if out is None and len(directories) > 1:
        raise ConfigError("several runs in one plot need a folder; name it with --out")
    names = {run.path.name if len(directories) > 1 else "": run.metrics for run in directories}
    written = draw_runs(names, out or directories[0].plots, files)
    if not written:
        raise DataError(f"{directories[0].metrics}: nothing to draw yet")
    for path in written:
        show(str(path))
    if open_:
        typer.launch(str(written[0]))


BARS = "▁▂▃▄▅▆▇█"


def _sparklines(directories: list["RunDirectory"]) -> None:
    from glassformer.training import read_metrics

    for run in directories:
        for split, key in (("train", "nll"), ("valid", "loss"), ("valid", "bleu")):
            lines = read_metrics(run.metrics)
            values = [float(line[key]) for line in lines if line["split"] == split and key in line]
            if values:
                ends = f"{values[0]:.2f} → {values[-1]:.2f}"
                show(f"{run.path.name}  {split:<5} {key:<4} {sparkline(values)}  {ends}")


def sparkline(values: list[float], width: int = 60) -> str:
    """A curve in one line of text."""
    picked = [values[i * len(values) // min(width, len(values))] for i in range(min(width, len(values)))]
    low, high = min(picked), max(picked)
    span = (high - low) or 1.0
    return "".join(BARS[round((value - low) / span * (len(BARS) - 1))] for value in picked)
