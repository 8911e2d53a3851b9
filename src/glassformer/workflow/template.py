"""A ``glassformer.toml`` with every setting, each under its meaning, made from the settings themselves."""

import textwrap
from typing import Any

import tomli_w

from glassformer.config import (
    CorpusFiles,
    DataConfig,
    DecodeConfig,
    ModelConfig,
    Strict,
    TokenizerConfig,
    TrainConfig,
)

HEADER = """\
# Settings of a training run: glassformer train glassformer.toml
# Paths are relative to this file. A key that is commented out has the default shown.
"""


def fitting_model(train: CorpusFiles) -> dict[str, str]:
    """The [model] table for a kind of corpus, where the user says nothing."""
    if train.labelled:
        return {"preset": "small-mlm", "head": "classifier"}
    return {"preset": "small-lm" if train.text else "small"}


def template(train: CorpusFiles, valid: CorpusFiles | None, preset: str | None = None) -> str:
    """The text of the file, for these corpora and this preset."""
    fitting = fitting_model(train)
    model = fitting if preset is None else fitting | {"preset": preset}
    data = DataConfig(train=train, valid=valid)
    parts = [
        HEADER,
        _table("data", data, set(), {"train": train, "valid": valid}),
        _table("tokenizer", TokenizerConfig(), set(), {}),
        _model(model),
        _table("train", TrainConfig(), {"steps", "batch_tokens"}, {}),
        _table("decode", DecodeConfig(), set(), {}),
    ]
    return "\n".join(parts)


def _model(table: dict[str, str]) -> str:
    given = {key: value for key, value in table.items() if key != "preset"}
    size = TokenizerConfig().vocab_size  # which the real one replaces
    config = ModelConfig.preset(table["preset"], vocab_size=size, **given)
    head = "[model]\n# A named architecture; keys below replace its values.\n"
    return f'{head}preset = "{table["preset"]}"\n' + _keys(config, set(given), {"vocab_size"})


def _table(name: str, config: Strict, open_keys: set[str], corpora: dict[str, CorpusFiles | None]) -> str:
    lines = [f"[{name}]"]
    for split, files in corpora.items():
        if files is not None:
            inline = ", ".join(
                f"{key} = {_toml(value)}" for key, value in files.model_dump(exclude_none=True).items()
            )
            lines.append(f"{split} = {{{inline}}}")
    return "\n".join(lines) + "\n" + _keys(config, open_keys, set(corpora))


def _keys(config: Strict, open_keys: set[str], left_out: set[str]) -> str:
    lines = []
    for name, field in type(config).model_fields.items():
        if name in left_out:
            continue
        value = getattr(config, name)
        meaning = textwrap.fill(field.description or "", 100, initial_indent="# ", subsequent_indent="# ")
        lines.append(meaning)
        if value is None or isinstance(value, Strict):
            lines.append(f"# {name} =")
        else:
            mark = "" if name in open_keys else "# "
            lines.append(f"{mark}{name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"  # on one line, so that it can be commented out
    return tomli_w.dumps({"x": value}).removeprefix("x = ").strip()
