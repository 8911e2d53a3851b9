"""How fast decoding is: output tokens per second beside the peers, in alternating rounds, at equal quality.

    python -m benchmarks.decode_speed [--model DIRECTORY SOURCE REFERENCE]... [--sentences 128] [--batch 64]
                    [--rounds 5] [--minutes 12] [--only int8 ctranslate2-int8 ...] [--out FOLDER]

Everyone decodes the same sentences with the same trained weights: ours from the model directory, CTranslate2
and Hugging Face from what our exporter wrote. Whole sentences of real text, ended where the model ends them.
Each runs at the best of its thread settings, searched for every way of asking, in a process of its own.
DIRECTORY is a model or a run (``benchmarks.decode_models`` makes one of the paper's base size); without any:
the shipped model. Minutes are for the rounds of all models together. Writes ``results.json`` (every
measurement), ``table.md`` and a plot.

When a search ends. Without a length penalty (alpha 0) everyone's search is complete: it ends when no live
hypothesis can overtake the best one, so all do the same work. With one, CTranslate2 knows only an early end
(the hypotheses that have ended are as many as the beam is wide): *beam 4, alpha 0.6, early* has ours do so
too; *complete* has ours go on until nothing better can come, which is what it does for users.
"""

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from benchmarks.decode_peers.contest import (
    Contestant,
    Team,
    Turn,
    Way,
    assemble,
    contestants,
    play,
)
from benchmarks.decode_peers.worker import Task
from benchmarks.measure import environment, write_results
from benchmarks.recipe_runs import RESULTS, SHARED
from glassformer.checkpoint import open_model, resolve_model_directory
from glassformer.config import ModelConfig
from glassformer.decoding import Translator
from glassformer.decoding.pretrained import shipped_model
from glassformer.decoding.shortlist import FILE as SHORTLIST
from glassformer.errors import GlassformerError
from glassformer.evaluation.scores import text_scores
from glassformer.interop.exporting import export_model
from glassformer.text import Tokenizer
from glassformer.text.lines import read_lines

RIVALS = {
    "int8": ("ctranslate2-int8", "generate"),
    "int8-vnni": ("ctranslate2-int8", "generate"),
    "int8-shortlist": ("ctranslate2-int8", "generate"),
    "float32": ("ctranslate2-float32", "generate"),
}
"""Whom each of ours is compared with."""


class Range(NamedTuple):
    """The median of rounds, the least and the most."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Range":
        """Of one value per round."""
        return cls(statistics.median(values), min(values), max(values))

    def told(self, form: str) -> str:
        """For a table."""
        return f"{self.median:{form}} ({self.least:{form}} – {self.most:{form}})"


class Result(NamedTuple):
    """What was found out about one model."""

    name: str
    """The last part of the directory that was given."""
    shape: ModelConfig
    tokenizer: Tokenizer
    references: list[str]
    ways: list[Way]
    who: dict[str, Contestant]
    teams: dict[str, Team]
    turns: dict[str, dict[str, list[Turn]]]
    missing: dict[str, str]

    def speed(self, way: str, name: str) -> Range:
        """Output tokens per second, ``</s>`` included."""
        return Range.of([_n_tokens(turn) / sum(turn.seconds) for turn in self.turns[way][name]])

    def latency(self, way: str, name: str) -> tuple[float, float]:
        """The median and the 95th percentile of the seconds of a call."""
        times = sorted(time for turn in self.turns[way][name] for time in turn.seconds)
        return statistics.median(times), times[min(len(times) - 1, int(0.95 * len(times)))]

    def ratio(self, way: str, name: str, rival: str, *, processor: bool = False) -> Range:
        """How many times as fast as a rival, round by round, for all sentences together."""

        def cost(turn: Turn) -> float:
            return turn.processor_seconds if processor else sum(turn.seconds)

        pairs = zip(self.turns[way][rival], self.turns[way][name], strict=False)  # the slow have fewer turns
        return Range.of([cost(theirs) / cost(own) for theirs, own in pairs])

    def bleu(self, way: str, name: str) -> float:
        """Of the outputs, which are the same in every round."""
        outputs = [self.tokenizer.decode(ids) for ids in self.turns[way][name][0].outputs]
        references = self.references[: len(outputs)]
        return text_scores(outputs, [[reference] for reference in references]).bleu.value


def _n_tokens(turn: Turn) -> int:
    return sum(len(ids) + 1 for ids in turn.outputs)


class Text(NamedTuple):
    """A model, what it translates, and what that should become."""

    directory: Path
    source: Path
    reference: Path


def measure(given: Text, options: argparse.Namespace) -> Result:
    """Everything about one model."""
    model = resolve_model_directory(given.directory)
    translator = Translator.from_pretrained(model)
    texts, references = list(read_lines(given.source)), list(read_lines(given.reference))
    sources = translator.framing.sources(texts)
    whole = [i for i, source in enumerate(sources) if source][: options.sentences]
    ways = _ways(options, len(whole))
    who = {
        name: each
        for name, each in contestants(options.threads or _cores()).items()
        if not options.only or name in options.only
    }
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        task = folder / "task.json"
        told = Task([list(sources[i]) for i in whole], list(translator.specials.suppressed))
        task.write_text(json.dumps(told._asdict()), encoding="utf-8")
        models = export(model, {each.form for each in who.values()}, folder)
        teams, missing = assemble(who, models, task, folder, ways)
        try:
            turns = play(teams, options.rounds, options.minutes / len(options.model), ways)
        finally:
            for team in teams.values():
                for child in team.children:
                    child.close()
    chosen = [references[i] for i in whole]
    with open_model(model) as files:
        shape = files.config
    name = given.directory.resolve().name
    return Result(name, shape, translator.tokenizer, chosen, ways, who, teams, turns, missing)


def _ways(options: argparse.Namespace, sentences: int) -> list[Way]:
    together = f"batches of {options.batch}"
    return [
        *(
            Way(f"{search}, {how}", beam, 0.0, False, batch, min(most, sentences))
            for search, beam in (("greedy", 1), ("beam 4", 4))
            for how, batch, most in (("one sentence", 1, options.alone), (together, options.batch, sentences))
        ),
        *(
            Way(f"beam 4, alpha 0.6, {end}, {together}", 4, 0.6, end == "early", options.batch, sentences)
            for end in ("complete", "early")
        ),
    ]


def export(model: Path, forms: set[str], folder: Path) -> dict[str, Path]:
    """The same weights in every form that is asked for; whoever gets none cannot take part."""
    models = {"model": model}
    if (model / SHORTLIST).is_file():
        models["shortlist"] = model
    for form in sorted(forms - {"model", "shortlist"}):
        try:
            export_model(model, folder / form, form)
            models[form] = folder / form
        except GlassformerError as error:
            print(f"no export to {form}: {error}", flush=True)
    return models


def _cores() -> int:
    return len(os.sched_getaffinity(0))


# --- What is told


def markdown(results: Sequence[Result]) -> str:
    """A table for each model and way."""
    parts = [part for result in results for part in _about(result)]
    parts.append(
        "Median of the rounds (least – most); ratios are taken round by round, for all sentences together. "
        "Milliseconds are those of one call: p50 / p95. Memory is the most that the process has held."
    )
    return "\n\n".join(parts) + "\n"


def _about(result: Result) -> list[str]:
    lines = [
        "| | way | setting | tokens/s | ms | BLEU | × as fast as | by processor time | memory |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [_row(result, way, name) for way in result.ways for name in result.teams]
    rounds = max(len(turns) for turns in result.turns[result.ways[0].name].values())
    told = [f"**{_name(result)}**, {len(result.references)} sentences, {rounds} rounds", "\n".join(lines)]
    told += [f"{result.who[name].title} could not run: {why}" for name, why in result.missing.items()]
    return told


def _row(result: Result, way: Way, name: str) -> str:
    p50, p95 = result.latency(way.name, name)
    rivals = [rival for rival in RIVALS.get(name, ()) if rival in result.teams]
    cells = [
        result.who[name].title,
        way.name,
        json.dumps(result.teams[name].child(way).setting),
        result.speed(way.name, name).told(",.0f"),
        f"{1000 * p50:.1f} / {1000 * p95:.1f}",
        f"{result.bleu(way.name, name):.2f}",
        "; ".join(
            f"{result.who[rival].title}: {result.ratio(way.name, name, rival).told('.2f')}"
            for rival in rivals
        ),
        "; ".join(result.ratio(way.name, name, rival, processor=True).told(".2f") for rival in rivals),
        f"{max(turn.memory_bytes for turn in result.turns[way.name][name]) / 1e6:.0f} MB",
    ]
    return f"| {' | '.join(cells)} |"


def raw(results: Sequence[Result], options: argparse.Namespace) -> dict[str, object]:
    """Everything that was measured."""
    return {
        "environment": environment(),
        "settings": {
            name: getattr(options, name) for name in ("rounds", "minutes", "batch", "sentences", "alone")
        },
        "models": {_name(result): _raw(result) for result in results},
    }


def _raw(result: Result) -> dict[str, object]:
    return {
        "could_not_run": result.missing,
        "ways": {
            way.name: {
                "asked": way._asdict(),
                "contestants": {name: _raw_contestant(result, way, name) for name in result.teams},
            }
            for way in result.ways
        },
    }


def _raw_contestant(result: Result, way: Way, name: str) -> dict[str, object]:
    team, turns = result.teams[name], result.turns[way.name][name]
    p50, p95 = result.latency(way.name, name)
    return {
        "setting": team.child(way).setting,
        "settings_tried": [child.setting for child in team.children],
        "settings_tried_seconds": team.searched[way.name],
        "versions": team.child(way).versions,
        "tokens_per_second": result.speed(way.name, name)._asdict(),
        "p50_seconds": p50,
        "p95_seconds": p95,
        "bleu": result.bleu(way.name, name),
        "times_as_fast": {
            rival: {
                "by_clock": result.ratio(way.name, name, rival)._asdict(),
                "by_processor_time": result.ratio(way.name, name, rival, processor=True)._asdict(),
            }
            for rival in RIVALS.get(name, ())
            if rival in result.teams
        },
        "rounds": [
            {**turn._asdict(), "outputs": len(turn.outputs), "n_tokens": _n_tokens(turn)} for turn in turns
        ],
    }


def draw(results: Sequence[Result], folder: Path) -> None:
    """Speed as bars: a row of panels for each model, a panel for each way."""
    columns = len(results[0].ways)
    figure = Figure(figsize=(3.2 * columns, 0.9 + 2.4 * len(results)), layout="constrained")
    panels = figure.subplots(len(results), columns, squeeze=False, sharey="row")
    for row, result in zip(panels, results, strict=True):
        for panel, way in zip(row, result.ways, strict=True):
            names = list(reversed(result.teams))
            speeds = [result.speed(way.name, name) for name in names]
            reach = [
                [speed.median - speed.least for speed in speeds],
                [speed.most - speed.median for speed in speeds],
            ]
            colours = ["#2a6f97" if name in RIVALS else "#b8c4cc" for name in names]
            titles = [result.who[name].title for name in names]
            panel.barh(titles, [speed.median for speed in speeds], xerr=reach, color=colours, ecolor="#444")
            panel.set_title(way.name, fontsize=8)
            panel.tick_params(labelsize=8)
            panel.spines[["top", "right"]].set_visible(False)
        row[0].set_ylabel(_name(result), fontsize=9)
    figure.supxlabel("output tokens per second", fontsize=9)
    figure.savefig(folder / "plot.svg", metadata={"Date": None})
    figure.savefig(folder / "plot.png", dpi=120)


def _name(result: Result) -> str:
    """A model for people: its run or the last part of its path."""
    shape = result.shape
    size = f"{shape.n_encoder_layers}+{shape.n_decoder_layers} layers of {shape.d_model}"
    return f"{result.name} ({size}, {shape.vocab_size:,} ids)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, and tell."""
    options = _options(arguments)
    results = [measure(Text(*map(Path, given)), options) for given in options.model]
    write_results(options.out, raw(results, options))
    table = markdown(results)
    (options.out / "table.md").write_text(table, encoding="utf-8")
    draw(results, options.out)
    print(f"\n{table}\nwritten to {options.out}")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    data = SHARED / "multi30k"
    captions = [data / f"test_2016_flickr.{language}.gz" for language in ("en", "fr")]
    raw_text = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw_text)
    parser.add_argument("--model", nargs=3, action="append", metavar=("DIRECTORY", "SOURCE", "REFERENCE"))
    parser.add_argument("--sentences", type=int, default=128)
    parser.add_argument("--alone", type=int, default=32, help="of these, given one by one")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=12.0, help="no round begins that would end later")
    parser.add_argument("--threads", type=int, default=0, help="cores to use; 0: all")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=RESULTS / "decode_speed")
    options = parser.parse_args(arguments)
    options.model = options.model or [[shipped_model(), *captions]]
    return options


if __name__ == "__main__":
    raise SystemExit(main())
