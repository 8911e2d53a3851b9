"""The verbs that turn text into text, labels or scores: translate, generate, fill, classify, score."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.data import Json
from glassformer.cli.lines import Warnings, answer, each_line, json_line, rendered, stream_out
from glassformer.cli.report import say, show
from glassformer.errors import ConfigError

if TYPE_CHECKING:
    from glassformer.config import DecodeConfig
    from glassformer.decoding import EngineChoice
    from glassformer.engine import Precision

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
TargetLanguage = Annotated[
    str | None, typer.Option("--language", "--to", help="Target language of a multilingual model.")
]
Shortlist = Annotated[
    bool, typer.Option("--shortlist", help="Consider only target tokens that the training text makes likely.")
]
EngineName = Annotated[
    str, typer.Option("--engine", help="auto, native or pytorch; auto: native where it can.")
]
PrecisionName = Annotated[
    str, typer.Option("--precision", help="Native engine: auto, float32 or int8; auto: as stored.")
]


def read_engine(name: str) -> "EngineChoice":
    """The engine of a flag."""
    if name not in ("auto", "native", "pytorch"):
        raise ConfigError(f"--engine {name}: should be auto, native or pytorch")
    return name  # type: ignore[return-value]  # checked


def read_precision(name: str) -> "Precision":
    """The precision of a flag."""
    if name not in ("auto", "float32", "int8"):
        raise ConfigError(f"--precision {name}: should be auto, float32 or int8")
    return name  # type: ignore[return-value]  # checked


def translate(
    context: typer.Context,
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
    language: TargetLanguage = None,
    split: Annotated[bool, typer.Option("--split", help="Translate sentence by sentence.")] = False,
    shortlist: Shortlist = False,
    scores: Scores = False,
    align: Annotated[bool, typer.Option("--align", help="Print word alignments (Pharaoh).")] = False,
    stream: Stream = False,
    ray: Annotated[
        str | None, typer.Option(help="Translate -i to -o on a Ray cluster at this address, or local.")
    ] = None,
    engine: EngineName = "auto",
    precision: PrecisionName = "auto",
    as_json: Json = False,
) -> None:
    """Translate text given as arguments, on standard input, in a file, or at a prompt.

    glassformer translate "The cat chased the mouse."

    glassformer translate -m runs/train-en-fr-small-01 -i test.en -o test.fr
    """
    from glassformer.decoding import Translator

    if stream:
        _refuse("--stream", {"--json": as_json, "--scores": scores, "--align": align, "-o": out is not None})
    translator = Translator.from_pretrained(
        *(model or []),
        shortlist=shortlist,
        engine=read_engine(engine),
        precision=read_precision(precision),
    )
    given = {"beam": beam, "alpha": alpha, "nbest": nbest, "temperature": temperature}
    given |= {"top_k": top_k, "top_p": top_p, "seed": seed}
    options = _options(translator.decode, given, sample=sample)
    options["split"] = split or translator.decode.split
    wishes: dict[str, Any] = {"prefix": prefix, "forbidden": forbid or (), "language": language}
    if term:
        wishes["required"] = term
    if ray is not None:
        from glassformer.cli.bulk import on_ray

        _refuse("--ray", {"--json": as_json, "--scores": scores, "--align": align, "--stream": stream})
        on_ray(ray, model, source, out, options | wishes)
        return

    warnings = Warnings()

    def several(lines: Sequence[str], first: int) -> Iterator[str]:
        found = translator.translate(lines, alignment=align, **wishes, **options)
        for number, (line, each) in enumerate(zip(lines, found, strict=True), start=first):
            warnings.tell(each.warnings, number)
            yield from rendered(line, each, scores=scores, align=align, as_json=as_json)

    if stream:
        for number, line in enumerate(each_line(text, source), start=1):
            warnings.tell(translator.input_warnings(line), number)
            stream_out(translator.stream(line, **wishes, **options))
    else:
        answer(text, source, out, several, context)
    warnings.finish()
    if translator.engines.name != "pytorch":
        for reason in translator.engines.reasons:  # PyTorch is slower: whoever waits is told why
            say(f"note: {reason}; PyTorch answered")


def generate(
    context: typer.Context,
    prompt: Texts = None,
    *,
    model: OneModel,
    source: Input = None,
    out: Output = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Most tokens to add.")] = 100,
    beam: Beam = None,
    nbest: NBest = None,
    temperature: Annotated[float | None, typer.Option(help="Below 1 is surer; 0 is greedy.")] = None,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: Seed = None,
    scores: Scores = False,
    stream: Stream = False,
    engine: EngineName = "auto",
    precision: PrecisionName = "auto",
    as_json: Json = False,
) -> None:
    """Continue a text with a language model: by sampling at temperature 0.8, or with --beam by searching.

    glassformer generate -m runs/shakespeare-01 "To be, or" --stream
    """
    from glassformer.decoding import LanguageModel

    if stream:
        _refuse("--stream", {"--json": as_json, "--scores": scores, "-o": out is not None})
    if beam is not None:
        sampling = {"--temperature": temperature, "--top-k": top_k, "--top-p": top_p, "--seed": seed}
        _refuse("--beam", {name: value is not None for name, value in sampling.items()})
    language_model = LanguageModel.from_pretrained(
        model, engine=read_engine(engine), precision=read_precision(precision)
    )
    given = {"beam": beam, "nbest": nbest, "top_k": top_k, "top_p": top_p, "seed": seed}
    if beam is None:
        given["temperature"] = 0.8 if temperature is None else temperature
    options = _options(language_model.decode, given) | {"max_length": max_tokens}

    warnings = Warnings()

    def several(lines: Sequence[str], first: int) -> Iterator[str]:
        found = language_model.generate(lines, **options)
        for number, (line, each) in enumerate(zip(lines, found, strict=True), start=first):
            warnings.tell(each.warnings, number)
            yield from rendered(line, each, scores=scores, as_json=as_json, before=line)

    if stream:
        for line in each_line(prompt, source):
            stream_out(language_model.stream(line, **options), before=line)
    else:
        answer(prompt, source, out, several, context)
    warnings.finish()


def fill(
    context: typer.Context,
    text: Texts = None,
    *,
    model: OneModel,
    source: Input = None,
    out: Output = None,
    mask: Annotated[str, typer.Option(help="The marker of a blank.")] = "[MASK]",
    top: Annotated[int, typer.Option(min=1, help="Candidates per blank.")] = 5,
    as_json: Json = False,
) -> None:
    """Guess the words for each blank of a text with a masked language model.

    glassformer fill -m runs/book-01 "The [MASK] is sleeping."
    """
    from glassformer.decoding import TextEncoder

    encoder = TextEncoder.from_pretrained(model)

    def several(lines: Sequence[str], _: int) -> Iterator[str]:
        for line, blanks in zip(lines, encoder.fill(lines, top=top, marker=mask), strict=True):
            if as_json:
                yield json_line(
                    {"text": line, "blanks": [[vars_of(guess) for guess in blank] for blank in blanks]}
                )
                continue
            shown = ("  ".join(f"{g.text.strip()} {g.probability:.2f}" for g in blank) for blank in blanks)
            yield "\t".join(shown)

    answer(text, source, out, several, context)


def classify(
    context: typer.Context,
    text: Texts = None,
    *,
    model: OneModel,
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

    def several(lines: Sequence[str], _: int) -> Iterator[str]:
        for line, labels in zip(lines, encoder.classify(lines), strict=True):
            chosen = labels if every else labels[:1]
            if as_json:
                yield json_line({"text": line, "labels": [vars_of(label) for label in chosen]})
            else:
                yield "\t".join(f"{label.name}\t{label.probability:.4f}" for label in chosen)

    answer(text, source, out, several, context)


def score(
    model: Model = None,
    source: Annotated[
        Path | None, typer.Option("--src", help="Source sentences; none for a language model.")
    ] = None,
    target: Annotated[Path | None, typer.Option("--tgt", help="Texts to score.")] = None,
    words: Annotated[bool, typer.Option("--words", help="Log-probability of each word.")] = False,
    language: TargetLanguage = None,
    as_json: Json = False,
) -> None:
    """Say how probable given translations, or texts, are: log-probability and perplexity of each line.

    glassformer score -m runs/train-en-fr-small-01 --src test.en --tgt test.fr
    """
    from glassformer.decoding import LanguageModel, Translator
    from glassformer.text import Lines, Pairs

    if target is None:
        raise ConfigError("nothing to score; name the texts with --tgt")
    if source is not None:
        pairs = [(pair.source, pair.target) for pair in Pairs.from_files(source, target)]
        found = Translator.from_pretrained(*(model or [])).score(pairs, language=language)
    elif model:
        found = LanguageModel.from_pretrained(*model).score(list(Lines.from_file(target)))
    else:
        raise ConfigError("a text alone is scored by a language model; name one with -m, or give --src")
    for each in found:
        if as_json:
            show(json_line(each.to_dict()))
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
    default: "DecodeConfig", given: dict[str, int | float | None], *, sample: bool = False
) -> dict[str, Any]:
    """Decoding options that were given; what was not is the model's own default."""
    options = {name: value for name, value in given.items() if value is not None}
    if sample:
        options.setdefault("temperature", 1.0)
    nbest = options.get("nbest", 1)
    if "beam" not in options and "temperature" not in options and nbest > default.beam:
        options["beam"] = nbest  # who asks for so many does not insist on a narrower search
    return options


def _refuse(flag: str, others: dict[str, bool]) -> None:
    """Flags that contradict another one."""
    for other, given in others.items():
        if given:
            raise ConfigError(f"{flag} and {other} do not go together; leave one of them out")
