"""The one strict reader: TOML files, ``--set``, model directories and JSON requests come through here."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from glassformer.errors import ConfigError, suggest


class Strict(BaseModel):
    """A table of values: nothing unknown, nothing converted, nothing changed afterwards."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,  # true is no integer and "8" is no integer; 1 may stand for 1.0
        allow_inf_nan=False,
        use_attribute_docstrings=True,  # one place for name, type, default and meaning
    )

    @model_validator(mode="before")
    @classmethod
    def _know_every_key(cls, table: Any) -> Any:
        # Pydantic would report an unknown key too, but could not say which one was meant.
        unknown = [key for key in table if key not in cls.model_fields] if isinstance(table, Mapping) else []
        if unknown:
            names = (f"unknown key {key!r}{suggest(str(key), cls.model_fields)}" for key in unknown)
            raise ValueError("; ".join(names))
        return table


S = TypeVar("S", bound=Strict)


def read(cls: type[S], table: Mapping[str, object], where: str) -> S:
    """A ``cls`` from a table; every mistake is told at once, each with its place."""
    try:
        return cls.model_validate(table)
    except ValidationError as error:
        raise ConfigError("\n".join(_sentence(detail, where) for detail in error.errors())) from None


def _sentence(detail: Mapping[str, Any], where: str) -> str:
    """One finding of pydantic in our words: ``where [table]: what is wrong``."""
    if detail["type"] == "value_error":  # said by a validator of ours, about a whole table
        return f"{_place(where, detail['loc'])}: {detail['ctx']['error']}"
    wrong = "should be a table" if detail["type"] == "model_type" else detail["msg"].removeprefix("Input ")
    if not detail["loc"]:
        return f"{where}: {wrong}"
    *tables, key = detail["loc"]
    if detail["type"] == "missing":
        return f"{_place(where, tables)}: {key!r} is required"
    value = json.dumps(detail["input"], default=str)  # as the user wrote it: true, not True
    return f"{_place(where, tables)}: {key} = {value} {wrong}"


def _place(where: str, tables: Iterable[object]) -> str:
    path = ".".join(map(str, tables))
    return f"{where} [{path}]" if path else where
