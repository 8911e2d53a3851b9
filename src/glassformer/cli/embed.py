"""glassformer embed: texts to vectors, printed or as an array in a file."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.data import Json
from glassformer.cli.lines import answer, each_line, into_file
from glassformer.cli.output_file import OutputFile
from glassformer.cli.report import say, show, show_json
from glassformer.cli.use import Input, OneModel, Texts
from glassformer.errors import ConfigError

if TYPE_CHECKING:
    from torch import Tensor


def embed(
    context: typer.Context,
    text: Texts = None,
    *,
    model: OneModel,
    source: Input = None,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Write a .npy file.")] = None,
    pool: Annotated[str | None, typer.Option(help="mean or first; unset: as the model was made.")] = None,
    normalize: Annotated[bool, typer.Option(help="Make every vector of length 1.")] = True,
    similarity: Annotated[
        bool, typer.Option("--similarity", help="Print cosines between the texts.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Turn each text into one vector.

    glassformer embed -m runs/book-01 --similarity "a cat" "a dog" "a stone"
    """
    from glassformer.decoding import TextEncoder

    if pool not in (None, "mean", "first"):
        raise ConfigError(f"--pool {pool}: should be mean or first")
    encoder = TextEncoder.from_pretrained(model)

    def vectors(lines: Sequence[str]) -> "Tensor":
        return encoder.embed(lines, pool=pool, normalize=normalize or similarity)  # type: ignore[arg-type]  # checked

    def several(lines: Sequence[str], _: int) -> Iterator[str]:
        return map(_row, vectors(lines).tolist())

    if similarity:
        _similarity(vectors(list(each_line(text, source))), out, as_json=as_json)
    elif out is not None:
        width = encoder.model.config.d_model
        n_vectors = into_file(
            text,
            source,
            out,
            lambda lines, _: _bytes(vectors(lines)),
            context,
            head=lambda n_rows: _head(n_rows, width),
        )
        say(f"wrote {(n_vectors, width)} to {out}")
    elif as_json:  # one value
        show_json(vectors(list(each_line(text, source))).tolist())
    else:
        answer(text, source, None, several, context)


def _similarity(vectors: "Tensor", out: Path | None, *, as_json: bool) -> None:
    """The cosine of every text with every text, which needs all of them at once."""
    cosines = vectors @ vectors.T
    if out is not None:
        with OutputFile(out, None, head=lambda _: _head(*cosines.shape)) as file:
            file.begin()
            file.add([], _bytes(cosines))
            file.finish()
        say(f"wrote {tuple(cosines.shape)} to {out}")
    elif as_json:
        show_json(cosines.tolist())
    else:
        for row in cosines.tolist():
            show(_row(row))


def _row(values: Sequence[float]) -> str:
    return " ".join(f"{value:.4f}" for value in values)


def _bytes(rows: "Tensor") -> bytes:
    return rows.numpy().astype("<f4").tobytes()


def _head(n_rows: int, width: int) -> bytes:
    """What stands before the numbers of a .npy file; NumPy leaves room in it for any number of rows."""
    import numpy as np

    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f4", "fortran_order": False, "shape": (n_rows, width)}
    )
    return head.getvalue()
