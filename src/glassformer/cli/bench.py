"""``glassformer bench``: how fast a model answers here, one text at a time and many together."""

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from glassformer.cli.data import Json
from glassformer.cli.report import say, show, show_json, table
from glassformer.cli.use import EngineName, PrecisionName, read_engine, read_precision

SENTENCES = (
    "The cat chased the mouse.",
    "Yesterday my sister bought three old books and a small red lamp at the market near the river.",
    "Where is the nearest station?",
    "When the rain stopped, the children ran out into the garden and played until it was dark.",
    "I have not seen him since last week.",
    "The teacher explained the lesson twice, but only a few of the students understood it.",
    "Please close the window; it is cold in here.",
    "Two men in white shirts are talking to a woman who sells flowers in front of the church.",
)
"""What is translated, or continued, where no file is given."""


class Figures(NamedTuple):
    """How fast one way of asking is; the median of the rounds, and how far they lay apart."""

    way: str
    tokens_per_second: float
    tokens_per_second_range: tuple[float, float]
    p50_ms: float
    p95_ms: float


def bench(
    run: Annotated[
        Path | None, typer.Argument(help="A run or model directory; none: the shipped model.")
    ] = None,
    source: Annotated[Path | None, typer.Option("-i", "--input", help="Texts to use, one per line.")] = None,
    beam: Annotated[int, typer.Option(min=1, help="Beam beside greedy search.")] = 4,
    batch: Annotated[int, typer.Option(min=2, help="Texts given together.")] = 64,
    rounds: Annotated[int, typer.Option(min=1, help="Times that everything is measured.")] = 5,
    engine: EngineName = "auto",
    precision: PrecisionName = "auto",
    as_json: Json = False,
) -> None:
    """Measure speed: output tokens per second, and the time that one text takes (median, 95th percentile).

    glassformer bench

    glassformer bench runs/train-en-fr-small-01 -i test.en --json
    """
    from glassformer.decoding import LanguageModel, TextEncoder, load
    from glassformer.decoding.pretrained import shipped_model
    from glassformer.errors import InputError

    model = load(
        run or shipped_model(),
        engine=read_engine(engine),
        precision=read_precision(precision),
        any_language=True,
    )
    if isinstance(model, TextEncoder):
        raise InputError("bench measures models that generate text; this one only reads")
    texts = _texts(source)
    ask: Callable[..., Any] = model.generate if isinstance(model, LanguageModel) else model.translate
    many = [texts[i % len(texts)] for i in range(batch)]
    found = [
        _measure(f"{name}, {'one by one' if one else f'{batch} together'}", ask, asked, options, rounds)
        for name, options in (("greedy", {"beam": 1}), (f"beam {beam}", {"beam": beam}))
        for one, asked in ((True, [[text] for text in texts]), (False, [many]))
    ]
    if as_json:
        show_json(
            {"engine": model.engines.name, "rounds": rounds, "ways": [each._asdict() for each in found]}
        )
        return
    for reason in model.engines.reasons:
        say(f"note: PyTorch answers: {reason}")
    show(f"engine: {model.engines.name}")
    rows = [("", "tokens/s", "(least – most)", "ms p50", "ms p95")]
    rows += [
        (
            each.way,
            f"{each.tokens_per_second:,.0f}",
            "({:,.0f} – {:,.0f})".format(*each.tokens_per_second_range),
            f"{each.p50_ms:.1f}",
            f"{each.p95_ms:.1f}",
        )
        for each in found
    ]
    for line in table(rows):
        show(line)


def _texts(source: Path | None) -> list[str]:
    from glassformer.errors import DataError
    from glassformer.text.lines import read_lines

    texts = list(SENTENCES) if source is None else [line for line in read_lines(source) if line.strip()]
    if not texts:
        raise DataError(f"{source}: there is no text in it")
    return texts


def _measure(
    way: str, ask: Callable[..., Any], calls: Sequence[list[str]], options: dict[str, int], rounds: int
) -> Figures:
    """Every call once in each round, after one call that warms up."""
    ask(calls[0], **options)
    speeds, times = [], []
    for _ in range(rounds):
        n_tokens, began = 0, time.perf_counter()
        for texts in calls:
            start = time.perf_counter()
            n_tokens += sum(len(found.tokens) for found in ask(texts, **options))
            times.append(1000 * (time.perf_counter() - start))
        speeds.append(n_tokens / (time.perf_counter() - began))
    ranked = sorted(times)
    return Figures(
        way,
        statistics.median(speeds),
        (min(speeds), max(speeds)),
        statistics.median(ranked),
        ranked[min(len(ranked) - 1, int(0.95 * len(ranked)))],
    )
