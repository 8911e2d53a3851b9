"""Text in, lines out: arguments, standard input, files or a prompt go through a model chunk by chunk."""

import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from glassformer.cli.output_file import OutputFile, this_command
from glassformer.cli.progress import LineProgress
from glassformer.cli.report import console, say, show
from glassformer.errors import ConfigError, DataError, InputError

if TYPE_CHECKING:
    from glassformer.decoding import Streamed
    from glassformer.decoding.results import Text

CHUNK = 256
"""Lines answered together: enough for full batches, few enough to see results soon."""

Several = Callable[[Sequence[str], int], Iterator[str]]
"""The output lines for some input lines, and the number of the first of those."""

_BIDI = set(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))


def answer(
    texts: list[str] | None, source: Path | None, out: Path | None, several: Several, context: typer.Context
) -> None:
    """Every line through ``several``; a person at a terminal who gives no text is asked for it."""
    if not texts and source is None and out is None and sys.stdin.isatty():
        _prompt(several)
    elif out is None:
        done = 0
        for chunk in _chunks(each_line(texts, source)):
            with _located(chunk, done + 1, _where(texts, source)):
                for result in several(chunk, done + 1):
                    show(result)
            sys.stdout.flush()
            done += len(chunk)
    else:

        def written(lines: Sequence[str], first: int) -> bytes:
            return "".join(f"{_exported(result, out)}\n" for result in several(lines, first)).encode()

        n_lines = into_file(texts, source, out, written, context)
        say(f"wrote {n_lines:,} lines to {out}")


def into_file(
    texts: list[str] | None,
    source: Path | None,
    out: Path,
    written: Callable[[Sequence[str], int], bytes],
    context: typer.Context,
    head: Callable[[int], bytes] = lambda _: b"",
) -> int:
    """What ``written`` makes of every line, after a head for so many lines; gives their number.

    A head is as long for few lines as for many: its place is kept until their number is known.

    A file is read once before, so that a line that is no text is told now and not after hours.
    """
    again = bool(texts) or (source is not None and source.is_file())
    total = sum(1 for _ in each_line(texts, source)) if again else None
    with OutputFile(out, this_command(context) if again else None, head) as file:
        lines = file.take_up(lambda: each_line(texts, source))
        progress = LineProgress(console(), total, file.done)
        for chunk in _chunks(lines):
            with _located(chunk, file.done + 1, _where(texts, source)):
                results = written(chunk, file.done + 1)
            file.add(chunk, results)
            progress.moved(file.done)
        file.finish()
    return file.done


def _where(texts: list[str] | None, source: Path | None) -> str:
    return "" if texts else "standard input: " if source is None else f"{source}: "


def each_line(texts: list[str] | None, source: Path | None) -> Iterator[str]:
    """The texts of a command: its arguments, or the lines of a file or of standard input."""
    from glassformer.text.lines import read_lines

    if texts and source is not None:
        raise ConfigError("text is given twice, as arguments and with -i; leave one of them out")
    if texts:
        return iter(texts)
    return read_lines(source) if source is not None else _standard_input()


def _standard_input() -> Iterator[str]:
    from glassformer.text.lines import MAX_LINE_BYTES

    number = 0
    while line := sys.stdin.buffer.readline(MAX_LINE_BYTES + 2):
        number += 1
        line = line.removesuffix(b"\n")
        if len(line) > MAX_LINE_BYTES:
            raise DataError(f"standard input: line {number} is longer than {MAX_LINE_BYTES} bytes; split it")
        try:
            yield line.removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise DataError(
                f"standard input: line {number} is not UTF-8 (byte 0x{line[error.start]:02x} at column "
                f"{error.start + 1})"
            ) from None


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


@contextmanager
def _located(chunk: Sequence[str], first: int, where: str) -> Iterator[None]:
    """A text that the model cannot take is named by its line in the file."""
    try:
        yield
    except InputError as error:
        if not where:
            raise
        told = re.match(r"text (\d+): ", str(error))
        if told is None and len(chunk) > 1:  # about no text in particular
            raise
        number = first if told is None else first + int(told[1]) - 1
        message = str(error) if told is None else str(error)[told.end() :]
        raise InputError(f"{where}line {number}: {message}", error.hint) from None


def _prompt(several: Several) -> None:
    """A mistake in one text is told and does not end the conversation."""
    say("type a text and press Enter; an empty line or Ctrl-D ends")
    while True:
        try:
            line = input("> ")
        except EOFError:
            return
        if not line.strip():
            return
        try:
            for result in several([line], 1):
                show(result)
        except InputError as error:
            say(f"error: {error}")


def stream_out(pieces: Iterable["Streamed"], before: str = "") -> None:
    """A text on standard output as it is made, on one line."""
    sys.stdout.write(safe(before))
    for piece in pieces:
        sys.stdout.write(safe(_one_line(piece.text)))
        sys.stdout.flush()
    show("")


def rendered(
    line: str, found: "Text", *, scores: bool, align: bool = False, as_json: bool, before: str = ""
) -> Iterator[str]:
    """The lines that a result is printed as: one, or one for each alternative."""
    if as_json:
        yield json_line({"source": line, **found.to_dict()})
        return
    for each in (found, *found.alternatives):
        parts = [f"{each.score:.4f}" if each.score is not None else ""] if scores else []
        parts.append(safe(_one_line(before + each.text)))
        if align:
            parts.append("" if each.alignment is None else each.alignment.pharaoh)
        yield "\t".join(parts)


def safe(text: str) -> str:
    """Text that cannot steer a terminal; elsewhere it is left as it is."""
    if not sys.stdout.isatty() or text.isprintable():
        return text
    return "".join(f"\\x{ord(char):02x}" if _steers(char) else char for char in text)


def _steers(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in _BIDI


def _one_line(text: str) -> str:
    """One result, one line, and no column more than it has."""
    return " ".join(re.split("[\n\r\t]", text))


def _exported(line: str, out: Path) -> str:
    """The same in a table for spreadsheets, which would run what begins like a formula."""
    if out.suffix != ".tsv":
        return line
    return "\t".join(f"'{cell}" if cell[:1] in ("=", "+", "@") else cell for cell in line.split("\t"))


class Warnings:
    """What there is to say about results: of each kind the first at once, how many more there are at the end.

    Warnings that differ in figures alone are of one kind.
    """

    def __init__(self) -> None:
        self._first: dict[str, int] = {}
        self._more: Counter[str] = Counter()

    def tell(self, warnings: Iterable[str], number: int) -> None:
        """The warnings about the text of a number."""
        for warning in warnings:
            kind = re.sub(r"\d+", "", warning)
            if self._first.setdefault(kind, number) == number:
                say(f"warning: text {number}: {warning}")
            else:
                self._more[kind] += 1

    def finish(self) -> None:
        """How many were left untold."""
        for kind, count in self._more.items():
            texts = "1 more text" if count == 1 else f"{count:,} more texts"
            say(f"warning: {texts} as text {self._first[kind]}; --json tells each")


def json_line(data: dict[str, Any]) -> str:
    """Strict JSON on one line, even for those who take U+2028 for the end of one."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return re.sub("[\x85\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)
