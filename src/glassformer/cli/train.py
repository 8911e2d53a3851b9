"""``glassformer train``: from text files to a model."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.data import (
    Json,
    LabelledText,
    PlainText,
    Source,
    Table,
    Target,
    ValidFile,
    ValidPair,
    corpus_files,
    valid_files,
)
from glassformer.cli.progress import TrainingProgress, clock
from glassformer.cli.report import console, say, show, show_json
from glassformer.cli.runs import RUNS, find_run
from glassformer.cli.settings import Tables, init, resolve_settings, strongest
from glassformer.errors import ConfigError, GlassformerError, Interrupted

if TYPE_CHECKING:
    from glassformer.config import RunConfig
    from glassformer.training import Progress, RunDirectory
    from glassformer.workflow.plan import Plan
    from glassformer.workflow.training import ProgressFor

__all__ = ["init", "train"]

Setting = Annotated[list[str] | None, typer.Option("--set", help="Any setting: --set train.steps=500.")]


def train(
    config: Annotated[Path | None, typer.Argument(help="A glassformer.toml; flags are stronger.")] = None,
    src: Source = None,
    tgt: Target = None,
    data: Table = None,
    text: PlainText = None,
    labelled: LabelledText = None,
    valid: ValidPair = None,
    valid_data: ValidFile = None,
    preset: Annotated[str | None, typer.Option(help="tiny, small, base, big, tiny-lm, tiny-mlm …")] = None,
    family: Annotated[
        str | None, typer.Option(help="encoder-decoder, decoder-only or encoder-only, instead of a preset's.")
    ] = None,
    langs: Annotated[str | None, typer.Option(help="Language codes, such as en,fr.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Updates.")] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Passes over the corpus, instead of steps.")
    ] = None,
    max_minutes: Annotated[float | None, typer.Option(help="Stop and save after this time.")] = None,
    batch_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens in a batch.")] = None,
    vocab_size: Annotated[int | None, typer.Option(min=1, help="Ids of the tokenizer.")] = None,
    precision: Annotated[str | None, typer.Option(help="float32 or bfloat16.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Fixes weights, dropout and order.")] = None,
    compile_: Annotated[bool | None, typer.Option("--compile", help="Use torch.compile.")] = None,
    shard: Annotated[bool | None, typer.Option("--shard", help="Shard over processes (FSDP2).")] = None,
    settings: Setting = None,
    name: Annotated[str | None, typer.Option(help="Name of the run; a number is added.")] = None,
    runs: Annotated[Path, typer.Option(help="Folder of runs.")] = RUNS,
    devices: Annotated[int | None, typer.Option(min=1, help="Processes that train together.")] = None,
    resume: Annotated[Path | None, typer.Option(help="A run to continue exactly where it stopped.")] = None,
    init_from: Annotated[
        Path | None, typer.Option(help="A run or model whose weights to start from.")
    ] = None,
    track: Annotated[bool, typer.Option("--track", help="Write TensorBoard files to the run's tb/.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be done; write nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train a tokenizer, if there is none, and a model.

    glassformer train --src train.en --tgt train.fr --valid valid.en valid.fr --preset tiny

    glassformer train --text book.txt --preset tiny-lm

    glassformer train --resume runs/train-en-fr-tiny-01
    """
    flags: dict[str, dict[str, object]] = {
        "model": {"preset": preset, "family": family},
        "tokenizer": {"vocab_size": vocab_size},
        "data": {"langs": None if langs is None else langs.split(",")},
        "train": {
            "steps": steps,
            "epochs": epochs,
            "max_minutes": max_minutes,
            "batch_tokens": batch_tokens,
            "precision": precision,
            "seed": seed,
            "compile": compile_,
            "shard": shard,
        },
    }
    given = strongest(flags, settings or [])
    if any((src, tgt, data, text, labelled)):
        files = corpus_files(src, tgt, data, text, labelled)
        named: Tables = {"train": files.model_dump(exclude_none=True)}
        held_out = valid_files(files, valid, valid_data)
        if held_out is not None:
            named["valid"] = held_out.model_dump(exclude_none=True)
        given["data"] = named | given.get("data", {})
    elif valid or valid_data:
        raise ConfigError("validation text without training text; give --src and --tgt, --data, --text …")
    with _for_people():
        if resume is not None:
            _refuse_with_resume({"a config file": config, "--init-from": init_from, "--dry-run": dry_run})
            _resume(find_run(resume), given, devices, track=track)
            return
        initial = _initial(init_from)
        resolved = resolve_settings(config, given, initial)
        if dry_run:
            _dry_run(resolved, initial, runs / _name(resolved, name), as_json=as_json)
        elif not _spawned(devices):
            _start(resolved, runs, _name(resolved, name), initial, track=track)


@contextlib.contextmanager
def _for_people() -> Iterator[None]:
    """Ctrl-C before the first update is an end like any other; of several processes one speaks."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("stopped before the first update; nothing was lost") from None
    except GlassformerError as error:
        if _first():
            raise
        sys.exit(error.exit_code)


def _first() -> bool:
    return os.environ.get("RANK", "0") == "0"


def _refuse_with_resume(others: dict[str, object]) -> None:
    for flag, value in others.items():
        if value:
            raise ConfigError(f"--resume goes on with a run as it is; it does not take {flag}")


def _initial(init_from: Path | None) -> Path | None:
    from glassformer.checkpoint import resolve_model_directory

    return None if init_from is None else resolve_model_directory(init_from)


def _name(config: "RunConfig", name: str | None) -> str:
    """``train-en-fr-256``: the corpus, the languages and the width, unless the user has a name."""
    if name is not None:
        if name in (".", "..") or name != Path(name).name:
            raise ConfigError(f"--name {name}: should be a plain name; --runs is for the folder")
        return name
    first = Path(config.data.train.paths[0]).name
    stem = first.removesuffix(".gz").split(".")[0] or "run"
    return "-".join([stem, *config.data.langs, f"{config.model.d_model}"])


def _spawned(devices: int | None) -> bool:
    """Whether this process only starts those that train, and has now waited for them."""
    world = os.environ.get("WORLD_SIZE")
    if world is not None:
        if devices not in (None, int(world)):
            raise ConfigError(
                f"--devices {devices}, but torchrun has started {world} processes; leave --devices out"
            )
        return False
    if devices in (None, 1):
        return False
    from glassformer.training import spawn

    code = spawn(int(devices or 1), sys.argv[1:])
    if code:
        sys.exit(code)
    return True


def _progress(*, track: bool) -> "ProgressFor":
    from glassformer.training import Several, TensorBoard

    @contextlib.contextmanager
    def shown(run: "RunDirectory") -> Iterator["Progress"]:
        with contextlib.ExitStack() as stack:
            every = run.settings().train.log_every
            bar = stack.enter_context(TrainingProgress(console(), run.log, every))
            board = [stack.enter_context(TensorBoard(run.tensorboard, every))] if track else []
            yield Several(bar, *board)

    if track:
        TensorBoard.require()
    return shown


def _start(config: "RunConfig", runs: Path, name: str, initial: Path | None, *, track: bool) -> None:
    from glassformer.workflow.training import start_run

    progress = _progress(track=track)
    _tell_end(start_run(config, runs, name, init_from=initial, notice=_notice, progress=progress))


def _resume(run: "RunDirectory", given: Tables, devices: int | None, *, track: bool) -> None:
    from glassformer.workflow.training import resume_run

    if _spawned(devices or int(str(run.read_info().get("processes", 1)))):
        return
    _notice(f"resuming {run.path}")
    _tell_end(resume_run(run, given, notice=_notice, progress=_progress(track=track)))


def _notice(message: str) -> None:
    if _first():
        say(f" {message}")


def _tell_end(run: "RunDirectory") -> None:
    """Where everything is, and the next command."""
    if not _first():
        return
    info = run.read_info()
    best = info.get("best")
    scores = "  ".join(f"{k} {v:.2f}" for k, v in best.items()) if isinstance(best, dict) else ""
    say(
        f" done        {clock(float(str(info.get('seconds', 0))))} of training   {scores}".rstrip(),
        f" model       {run.model}",
        f" curves      {run.plots}/",
        f" everything  {run.path}",
        f" next        {_next_command(run)}",
    )
    show(str(run.path))


def _next_command(run: "RunDirectory") -> str:
    model = run.settings().model
    if model.family == "encoder-only":
        verb = {"masked-lm": "fill", "classifier": "classify", "embedding": "embed"}[model.head]
    else:
        verb = "translate" if model.family == "encoder-decoder" else "generate"
    example = "A [MASK] is here." if verb == "fill" else "…"
    return f'glassformer {verb} -m {run.path} "{example}"'


def _dry_run(config: "RunConfig", initial: Path | None, run: Path, *, as_json: bool) -> None:
    from glassformer.workflow.plan import plan

    found = plan(config, init_from=initial, notice=_notice)
    if as_json:
        show_json(found.to_dict())
    else:
        _print_plan(config, found, run)


def _print_plan(config: "RunConfig", found: "Plan", run: Path) -> None:
    dropped = ", ".join(f"{count:,} {reason}" for reason, count in found.dropped.items() if count)
    train = config.train
    example: dict[str, Any] = {"src": found.first_source, "tgt": found.first_target}
    say(
        f" Data      train {found.n_train:,}{f' ({dropped} left out)' if dropped else ''}   "
        f"valid {found.n_valid:,}",
        f" Model     {found.architecture} · {found.parameters / 1e6:.1f} M parameters · "
        f"vocabulary {found.vocabulary:,}",
        f" Schedule  {train.schedule}, warm-up {train.warmup_steps:,} (paper 4,000) · "
        f"label smoothing {train.label_smoothing} · {train.batch_tokens:,} tokens a batch · "
        f"{found.steps:,} steps ≈ {found.epochs:.1f} epochs",
        f" Estimate  {found.seconds_per_step:.2f} s/step → about {clock(found.hours * 3600)} · "
        f"peak {found.peak_bytes / 1e9:.1f} GB",
        " First example, as the model sees it",
        *(f"   {side}  {' '.join(pieces)}" for side, pieces in example.items() if pieces),
        f" Run dir   {run}-NN  (new)",
        "dry run: nothing written. Drop --dry-run to start.",
    )
