"""Where the settings of a run come from: file, environment, ``--set``, flags; and ``glassformer init``."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.data import (
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
from glassformer.cli.report import say, show
from glassformer.errors import ConfigError, GlassformerError

if TYPE_CHECKING:
    from glassformer.config import CorpusFiles, RunConfig

Tables = dict[str, Any]


def strongest(flags: Mapping[str, Mapping[str, object]], assignments: list[str]) -> Tables:
    """What --set and flags say; a flag that was not given says nothing."""
    from glassformer.config.layers import from_assignments, overlay

    given = {table: {k: v for k, v in values.items() if v is not None} for table, values in flags.items()}
    return overlay(
        from_assignments(assignments), {table: values for table, values in given.items() if values}
    )


def resolve_settings(config: Path | None, given: Tables, init_from: Path | None) -> "RunConfig":
    """File, then environment, then flags; paths in a file are relative to it.

    The architecture is that of ``init_from``, where nothing else is said.
    """
    from glassformer.config import CorpusFiles, read, read_toml, resolve
    from glassformer.config.layers import from_environment, overlay
    from glassformer.workflow.starting import architecture
    from glassformer.workflow.template import fitting_model

    tables: Tables = {}
    where = "settings"
    if config is not None:
        tables, where = read_toml(config), str(config)
        _anchor(tables.get("data"), config.parent)
        _anchor_tokenizer(tables.get("tokenizer"), config.parent)
    tables = overlay(overlay(tables, from_environment(os.environ)), given)
    data, model = tables.get("data", {}), tables.get("model", {})
    if "train" not in data:
        raise ConfigError(
            "nothing to train on; give --src and --tgt, --data, --text, --labelled or a config file",
            "glassformer train --src train.en --tgt train.fr --valid valid.en valid.fr --preset tiny",
        )
    fitting = fitting_model(read(CorpusFiles, data["train"], f"{where} [data.train]"))
    if init_from is not None and "preset" not in model:
        fitting = architecture(init_from, head=fitting.get("head"))
    elif "family" in model or ("preset" in model and "head" not in fitting):
        fitting = {}
    tables["model"] = fitting | model
    return resolve(tables, where)


def _anchor(data: object, folder: Path) -> None:
    """Make the corpus paths of a file absolute."""
    if not isinstance(data, dict):
        return
    for split in ("train", "valid"):
        files = data.get(split)
        if isinstance(files, str):
            data[split] = str((folder / files).absolute())
        elif isinstance(files, dict):
            data[split] = {
                k: str((folder / v).absolute()) if isinstance(v, str) else v for k, v in files.items()
            }


def _anchor_tokenizer(tokenizer: object, folder: Path) -> None:
    if isinstance(tokenizer, dict) and isinstance(tokenizer.get("path"), str):
        tokenizer["path"] = str((folder / tokenizer["path"]).absolute())


def _relative(files: "CorpusFiles", folder: Path) -> "CorpusFiles":
    """Paths as they are from a folder: it can then be moved together with its text."""
    given = files.model_dump(exclude_none=True)
    return files.model_copy(update={key: os.path.relpath(path, folder) for key, path in given.items()})


def init(
    folder: Annotated[Path, typer.Argument(help="Where to write glassformer.toml.")] = Path(),
    src: Source = None,
    tgt: Target = None,
    data: Table = None,
    text: PlainText = None,
    labelled: LabelledText = None,
    valid: ValidPair = None,
    valid_data: ValidFile = None,
    preset: Annotated[str | None, typer.Option(help="The architecture to begin with.")] = None,
) -> None:
    """Write a commented glassformer.toml with every setting.

    glassformer init --src train.en --tgt train.fr --valid valid.en valid.fr
    """
    from glassformer.workflow.template import template

    files = corpus_files(src, tgt, data, text, labelled)
    held_out = valid_files(files, valid, valid_data)
    missing = [
        path for corpus in (files, held_out) if corpus for path in corpus.paths if not Path(path).is_file()
    ]
    if missing:
        raise ConfigError(f"{missing[0]}: there is no such file")
    path = folder / "glassformer.toml"
    content = template(_relative(files, folder), held_out and _relative(held_out, folder), preset)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(content)
    except FileExistsError:
        raise GlassformerError(f"{path}: is there already; remove it, or choose another folder") from None
    except OSError as error:
        raise GlassformerError(f"{path}: cannot be written ({error.strerror})") from None
    say(f"wrote {path}; next: glassformer train {path} --dry-run")
    show(str(path))
