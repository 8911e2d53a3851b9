"""The verbs that use a model: translate, generate, fill, classify, embed, score."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.data import Json
from glassformer.cli.report import console, say, show, show_json
from glassformer.errors import DataError

if TYPE_CHECKING:
    from glassformer.decoding import Translation

Texts = Annotated[list[str] | None, typer.Argument(help="Text; standard input or -i when there is none.")]
Model = Annotated[
    list[Path] | None, typer.Option("-m", "--model", help="A run or model; several: an ensemble.")
]
OneModel = Annotated[Path, typer.Option("-m", "--model", help="A run or model directory.")]
Input = Annotated[Path | None, typer.Option("-i", "--input", help="A file, one text per line.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write here instead of standard output.")]
Beam = Annotated[int | None, typer.Option(help="Hypotheses kept; 1 is greedy.")]
Alpha = Annotated[float | None, typer.Option(help="Strength of the length penalty.")]
NBest = Annotated[int | None, typer.Option(help="Results per input.")]
Sample = Annotated[bool, typer.Option("--sample", help="Draw at random instead of searching.")]
Temperature = Annotated[float | None, typer.Option(help="Sampling: below 1 is surer; 0 is greedy.")]
TopK = Annotated[int | None, typer.Option(help="Sampling: among this many best tokens.")]
TopP = Annotated[float | None, typer.Option(help="Sampling: among the best of this total probability.")]
Seed = Annotated[int | None, typer.Option(help="Sampling: fixes what is drawn.")]
Scores = Annotated[bool, typer.Option("--scores", help="Print the score before each result.")]
Stream = Annotated[bool, typer.Option("--stream", help="Print tokens as they come.")]

CHUNK = 256
"""Lines translated together: enough for full batches, few enough to see results soon."""


def translate(
    text: Texts = None,
    model: Model = None,
    source: Input = None,
    out: Output = None,
    beam: Beam = None,
    alpha: Alpha = None,
    nbest: NBest = None,
    sample: Sample = False,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: Seed = None,
    prefix: Annotated[str, typer.Option(help="How each translation begins.")] = "",
    term: Annotated[list[str] | None, typer.Option(help="Words that must occur; may be repeated.")] = None,
    forbid: Annotated[list[str] | None, typer.Option(help="Words that may not occur.")] = None,
    language: Annotated[str | None, typer.Option(help="Target language of a multilingual model.")] = None,
    split: Annotated[bool, typer.Option("--split", help="Translate sentence by sentence.")] = False,
    scores: Scores = False,
    align: Annotated[bool, typer.Option("--align", help="Print word alignments (Pharaoh).")] = False,
    stream: Stream = False,
    as_json: Json = False,
) -> None:
    """Translate text given as arguments, on standard input, in a file, or at a prompt.

    glassformer translate "The cat chased the mouse."

    glassformer translate -m runs/train-en-fr-small-01 -i test.en -o test.fr
    """
    from glassformer.decoding import Translator

    options = _options(beam, alpha, nbest, sample, temperature, top_k, top_p, seed) | {"split": split}
    translator = Translator.from_pretrained(*(model or []))
    wishes: dict[str, Any] = {"prefix": prefix, "forbidden": forbid or (), "language": language}
    if term:
        wishes["required"] = term

    def several(lines: Sequence[str]) -> Iterator[str]:
        for line, found in zip(
            lines, translator.translate(lines, alignment=align, **wishes, **options), strict=True
        ):
            _warn(found)
            yield from _rendered(line, found, scores=scores, align=align, as_json=as_json)

    if stream:
        for line in _lines(text, source):
            for piece in translator.stream(line, **wishes, **options):
                sys.stdout.write(piece.text)
                sys.stdout.flush()
            show("")
    elif text is None and source is None and sys.stdin.isatty():
        _prompt(several)
    else:
        _map_lines(text, source, out, several)


def generate(
    prompt: Texts = None,
    model: OneModel = Path(),
    source: Input = None,
    out: Output = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Most tokens to add.")] = 100,
    beam: Beam = None,
    nbest: NBest = None,
    temperature: Annotated[float, typer.Option(help="Below 1 is surer; 0 is greedy.")] = 0.8,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: Seed = None,
    scores: Scores = False,
    stream: Stream = False,
    as_json: Json = False,
) -> None:
    """Continue a text with a language model.

    glassformer generate -m runs/shakespeare-01 "To be, or" --stream
    """
    from glassformer.decoding import LanguageModel

    sampled = beam is None
    options = _options(beam, None, nbest, sampled, temperature if sampled else None, top_k, top_p, seed)
    options["max_length"] = max_tokens
    language_model = LanguageModel.from_pretrained(model)
    if stream:
        for line in _lines(prompt, source):
            sys.stdout.write(line)
            for piece in language_model.stream(line, **options):
                sys.stdout.write(piece.text)
                sys.stdout.flush()
            show("")
        return

    def several(lines: Sequence[str]) -> Iterator[str]:
        for line, found in zip(lines, language_model.generate(lines, **options), strict=True):
            yield from _rendered(line, found, scores=scores, align=False, as_json=as_json, before=line)

    _map_lines(prompt, source, out, several)


def fill(
    text: Texts = None,
    model: OneModel = Path(),
    source: Input = None,
    mask: Annotated[str, typer.Option(help="The marker of a blank.")] = "[MASK]",
    top: Annotated[int, typer.Option(min=1, help="Candidates per blank.")] = 5,
    as_json: Json = False,
) -> None:
    """Guess the words for each blank of a text with a masked language model.

    glassformer fill -m runs/book-01 "The [MASK] is sleeping."
    """
    from glassformer.decoding import TextEncoder

    encoder = TextEncoder.from_pretrained(model)
    lines = list(_lines(text, source))
    for line, blanks in zip(lines, encoder.fill(lines, top=top, marker=mask), strict=True):
        if as_json:
            show_json({"text": line, "blanks": [[vars_of(guess) for guess in blank] for blank in blanks]})
            continue
        for number, blank in enumerate(blanks, start=1):
            candidates = "  ".join(f"{guess.text.strip()} {guess.probability:.2f}" for guess in blank)
            show(f"{number}\t{candidates}")


def classify(
    text: Texts = None,
    model: OneModel = Path(),
    source: Input = None,
    out: Output = None,
    every: Annotated[bool, typer.Option("--all", help="Every label, not just the best.")] = False,
    as_json: Json = False,
) -> None:
    """Name the class of each text.

    glassformer classify -m runs/reviews-01 "a gorgeous, witty film"
    """
    from glassformer.decoding import TextEncoder

    encoder = TextEncoder.from_pretrained(model)

    def several(lines: Sequence[str]) -> Iterator[str]:
        for line, labels in zip(lines, encoder.classify(lines), strict=True):
            chosen = labels if every else labels[:1]
            if as_json:
                yield _json_line({"text": line, "labels": [vars_of(label) for label in chosen]})
            else:
                yield "\t".join(f"{label.name}\t{label.probability:.4f}" for label in chosen)

    _map_lines(text, source, out, several)


def embed(
    text: Texts = None,
    model: OneModel = Path(),
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
    import numpy as np

    from glassformer.decoding import TextEncoder
    from glassformer.errors import ConfigError

    if pool not in (None, "mean", "first"):
        raise ConfigError(f"--pool {pool}: should be mean or first")
    encoder = TextEncoder.from_pretrained(model)
    lines = list(_lines(text, source))
    vectors = encoder.embed(lines, pool=pool, normalize=normalize or similarity)  # type: ignore[arg-type]  # checked
    if similarity:
        vectors = vectors @ vectors.T
    if out is not None:
        with out.open("wb") as file:
            np.save(file, vectors.numpy(), allow_pickle=False)
        say(f"wrote {tuple(vectors.shape)} to {out}")
    elif as_json:
        show_json(vectors.tolist())
    else:
        for row in vectors.tolist():
            show(" ".join(f"{value:.4f}" for value in row))


def score(
    model: Model = None,
    source: Annotated[
        Path | None, typer.Option("--src", help="Source sentences; none for a language model.")
    ] = None,
    target: Annotated[Path | None, typer.Option("--tgt", help="Texts to score.")] = None,
    words: Annotated[bool, typer.Option("--words", help="Log-probability of each word.")] = False,
    as_json: Json = False,
) -> None:
    """Say how probable given translations, or texts, are.

    glassformer score -m runs/train-en-fr-small-01 --src test.en --tgt test.fr
    """
    from glassformer.decoding import LanguageModel, Translator
    from glassformer.text import Lines, Pairs

    if target is None:
        raise DataError("nothing to score; name the texts with --tgt")
    if source is None:
        found = LanguageModel.from_pretrained(*(model or [])).score(list(Lines.from_file(target)))
    else:
        pairs = [(pair.source, pair.target) for pair in Pairs.from_files(source, target)]
        found = Translator.from_pretrained(*(model or [])).score(pairs)
    for each in found:
        if as_json:
            show(_json_line(each.to_dict()))
        elif each.log_probability is None:
            show("")
        elif words:
            show("\t".join(f"{word} {value:.3f}" for word, value in each.words))
        else:
            show(f"{each.log_probability:.4f}\t{each.perplexity:.3f}")


def vars_of(value: object) -> dict[str, object]:
    """A small result as plain data."""
    from dataclasses import asdict

    return asdict(value)  # type: ignore[call-overload,no-any-return]  # our results are dataclasses


def _options(
    beam: int | None,
    alpha: float | None,
    nbest: int | None,
    sample: bool,
    temperature: float | None,
    top_k: int | None,
    top_p: float | None,
    seed: int | None,
) -> dict[str, Any]:
    """Decoding options that were given; what was not is the model's own default."""
    wanted = temperature if temperature is not None else 1.0 if sample else None
    given = {
        "beam": beam,
        "alpha": alpha,
        "nbest": nbest,
        "temperature": wanted,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    return {name: value for name, value in given.items() if value is not None}


def _lines(texts: list[str] | None, source: Path | None) -> Iterator[str]:
    from glassformer.text.lines import read_lines

    if texts:
        yield from texts
    elif source is not None:
        yield from read_lines(source)
    else:
        for number, line in enumerate(sys.stdin.buffer, start=1):
            try:
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                raise DataError(
                    f"standard input: line {number} is not UTF-8 (byte 0x{line[error.start]:02x} at column "
                    f"{error.start + 1})"
                ) from None


def _chunks(lines: Iterator[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _map_lines(texts: list[str] | None, source: Path | None, out: Path | None, several: Any) -> None:
    """Every line through ``several``, chunk by chunk; a file gets a progress line."""
    with _output(out) as stream:
        done = 0
        for chunk in _chunks(_lines(texts, source)):
            for result in several(chunk):
                stream.write(result + "\n")
            stream.flush()
            done += len(chunk)
            if out is not None and console().is_terminal:
                console().print(f" {done:,} lines", end="\r")
    if out is not None:
        say(f"wrote {done:,} lines to {out}")


@contextmanager
def _output(out: Path | None) -> Iterator[IO[str]]:
    """Standard output, or a file that appears only when it is whole."""
    if out is None:
        yield sys.stdout
        return
    temporary = out.with_name(f".{out.name}.partial")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        temporary.replace(out)
    except OSError as error:
        raise DataError(f"{out}: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _prompt(several: Any) -> None:
    say("type a text and press Enter; an empty line or Ctrl-D ends")
    while True:
        try:
            line = input("> ")
        except EOFError:
            return
        if not line.strip():
            return
        for result in several([line]):
            show(result)


def _rendered(
    line: str, found: "Translation", *, scores: bool, align: bool, as_json: bool, before: str = ""
) -> Iterator[str]:
    """The lines that a result is printed as: one, or one for each alternative."""
    if as_json:
        yield _json_line({"source": line, **found.to_dict()})
        return
    for each in (found, *found.alternatives):
        text = " ".join((before + each.text).split("\n"))  # one result, one line
        parts = [f"{each.score:.4f}" if each.score is not None else "0.0000"] if scores else []
        parts.append(_safe(text))
        if align:
            parts.append("" if each.alignment is None else each.alignment.pharaoh)
        yield "\t".join(parts)


def _safe(text: str) -> str:
    """Text that cannot steer a terminal."""
    if not sys.stdout.isatty():
        return text
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def _warn(found: "Translation") -> None:
    for warning in found.warnings:
        say(f"warning: {warning}")


def _json_line(data: dict[str, Any]) -> str:
    import json

    return json.dumps(data, ensure_ascii=False, allow_nan=False)
