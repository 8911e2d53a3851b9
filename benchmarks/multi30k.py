"""Translation quality on Multi30k, in the way the papers count, and how many minutes it takes.

    python -m benchmarks.multi30k [--languages de fr] [--recipes glassformer diversified four-writers paper]
                                  [--seeds 1 2 3] [--data FOLDER] [--runs FOLDER] [--out FOLDER]
                                  [--processes 2]

For each recipe, language and seed a run is trained (or taken up where it stopped), its weights chosen on the
validation set, and test2016 translated with a beam of 5. Two processes share what one would accumulate: an
update has as many tokens either way. For *diversified* and *four-writers* models of *glassformer* write text
first; their minutes count too. Writes ``results.json``, ``table.md`` and a plot of validation BLEU against
minutes; what ``results.json`` has of other runs stays.
*Tokenised lower-cased* is BLEU over Moses tokens, as Wu et al. 2021 count; beside it stands sacreBLEU of the
detokenised text, lower-cased, with its signature. Minutes depend on whose kernels multiply (``glassformer
doctor`` says it), so the table tells and the plot shows the runs of one kind.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from matplotlib.figure import Figure
from sacremoses import MosesDetokenizer

from benchmarks.measure import environment, write_results
from benchmarks.recipe_runs import RECIPES, RESULTS, SHARED, Trained, prepare, train
from glassformer.config import DecodeConfig
from glassformer.decoding import Translator
from glassformer.evaluation.scores import Score, text_scores, tokenized_bleu
from glassformer.text.lines import read_lines
from glassformer.training.plots import COLOURS

PUBLISHED = {"de": 41.02, "fr": 61.80}
"""Transformer-Tiny in Wu et al. 2021 (arXiv 2105.14462), test2016, tokenised lower-cased."""
NAMES = {
    "glassformer": "recipes/multi30k/glassformer.toml",
    "diversified": "recipes/multi30k/diversified.toml",
    "four-writers": "recipes/multi30k/four-writers.toml",
    "paper": "recipe of Wu et al. 2021",
}
WRITERS: Mapping[str, Mapping[str, Sequence[tuple[int, int | None]]]] = {
    "diversified": {"forward": [(1, None)], "backward": [(1, 2000)]},
    "four-writers": {"forward": [(1, 3000), (2, 3000)], "backward": [(1, 3000), (2, 3000)]},
}
"""Seed and updates of the models that write other targets and other sources; None: those of *glassformer*."""
TEST = "test_2016_flickr"
TOKENIZER = "tokenizer.json"
MICRO_BATCHES = 2
"""Of an update, in all recipes."""


@dataclass(frozen=True)
class Outcome:
    """What one run came to."""

    recipe: str
    language: str
    seed: int
    updates: int
    minutes: float
    tokenised: Score
    sacrebleu: Score
    curve: list[tuple[float, float]]
    """Minutes and validation BLEU."""
    kernels: str = "PyTorch"
    """Whose products and attention trained it: PyTorch's, or the native ones."""

    @property
    def kind(self) -> tuple[str, str, int, str]:
        """What seeds of it have in common."""
        return self.language, self.recipe, self.updates, self.kernels


def judge(run: Path, decode: DecodeConfig, words: Path, raw: Path, language: str) -> tuple[Score, Score]:
    """Both kinds of BLEU on test2016."""
    sources = list(read_lines(words / f"{TEST}.en"))
    references = [[line] for line in read_lines(words / f"{TEST}.{language}")]
    found = [one.text for one in Translator.from_pretrained(run, decode=decode).translate(sources)]
    plain = MosesDetokenizer(lang=language).detokenize
    texts = [plain(text.split()) for text in found]
    originals = [[line.strip()] for line in read_lines(raw / f"{TEST}.{language}.gz")]
    return tokenized_bleu(found, references), text_scores(texts, originals, lowercase=True).bleu


def curve(done: Trained, before: float = 0.0) -> list[tuple[float, float]]:
    """Minutes and validation BLEU; steps are taken to last equally long, after the minutes ``before``."""
    each = done.minutes / done.steps
    scored = (line for line in done.validations if "bleu" in line)
    return [(before + float(line["step"]) * each, float(line["bleu"])) for line in scored]


def table(outcomes: Sequence[Outcome]) -> str:
    """One row per recipe, language and length: the median over seeds, the least and the most."""
    lines = [
        "| | recipe | updates | kernels | seeds | tokenised lower-cased BLEU "
        "| sacreBLEU, lower-cased | minutes |",
        "|---|---|--:|---|--:|--:|--:|--:|",
    ]
    for kind in sorted({one.kind for one in outcomes}):
        language, recipe, updates, kernels = kind
        rows = [one for one in outcomes if one.kind == kind]
        tokenised, sacre = ([getattr(one, key).value for one in rows] for key in ("tokenised", "sacrebleu"))
        minutes = statistics.median(one.minutes for one in rows)
        lines.append(
            f"| En→{language.capitalize()} | {NAMES[recipe]} | {updates:,} | {kernels} | {len(rows)} | "
            f"{_spread(tokenised)} | {_spread(sacre)} | {minutes:.0f} |"
        )
    published = ", ".join(f"En→{key.capitalize()} {value}" for key, value in PUBLISHED.items())
    signatures = sorted({one.sacrebleu.signature for one in outcomes})
    return "\n".join(
        [*lines, "", f"Published (Wu et al. 2021): {published}. Signature: `{'`, `'.join(signatures)}`"]
    )


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} – {max(values):.2f})"


def draw(outcomes: Sequence[Outcome], folder: Path) -> None:
    """Validation BLEU against minutes, one picture for all that the kernels of the last one trained."""
    outcomes = [one for one in outcomes if one.kernels == outcomes[-1].kernels]
    languages, recipes = (sorted({getattr(one, key) for one in outcomes}) for key in ("language", "recipe"))
    figure = Figure(figsize=(1 + 5 * len(languages), 4.4), layout="constrained")
    for axes, language in zip(figure.subplots(1, len(languages), squeeze=False)[0], languages, strict=True):
        for recipe in recipes:
            runs = [one for one in outcomes if (one.language, one.recipe) == (language, recipe)]
            for index, one in enumerate(runs):
                label = "_" if index else NAMES[recipe]
                colour = COLOURS[recipes.index(recipe)]
                axes.plot(*zip(*one.curve, strict=True), color=colour, label=label, linewidth=1.2)
        axes.set_title(f"En→{language.capitalize()}", loc="left", fontsize="medium")
        axes.set_xlabel("minutes of training, with those of models that wrote text")
        axes.set_ylabel("BLEU on the validation set")
        axes.grid(visible=True, alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="lower right")
    figure.savefig(folder / "plot.svg", metadata={"Date": None})
    figure.savefig(folder / "plot.png", dpi=150)


def main() -> None:
    """Train what is asked for, then judge and draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--languages", nargs="+", choices=("de", "fr"), default=["de", "fr"])
    parser.add_argument("--recipes", nargs="+", choices=tuple(NAMES), default=["glassformer"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--data", type=Path, default=SHARED / "multi30k")
    parser.add_argument("--runs", type=Path, default=Path("runs") / "multi30k")
    parser.add_argument("--out", type=Path, default=RESULTS / "multi30k")
    parser.add_argument("--processes", type=int, choices=(1, 2), default=2)
    given = parser.parse_args()
    words = (given.runs / "data").absolute()
    prepare("multi30k", given.data, words)
    outcomes = []
    for recipe in given.recipes:
        for language in given.languages:
            for seed in given.seeds:
                outcomes.append(_one(given, words, recipe, language, seed))
                write(outcomes, given.out)
    print(table(outcomes))


def write(outcomes: Sequence[Outcome], folder: Path) -> None:
    """Figures, table and picture of what is finished, after what is known of other runs."""
    measured = {(*one.kind, one.seed) for one in outcomes}
    before = [one for one in read(folder) if (*one.kind, one.seed) not in measured]
    outcomes = [*before, *outcomes]
    write_results(folder, {"environment": environment(), "runs": [asdict(one) for one in outcomes]})
    (folder / "table.md").write_text(table(outcomes) + "\n", encoding="utf-8")
    draw(outcomes, folder)


def read(folder: Path) -> list[Outcome]:
    """What ``write`` wrote."""
    path = folder / "results.json"
    found = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    scores = ("tokenised", "sacrebleu")
    return [Outcome(**{**run, **{key: Score(**run[key]) for key in scores}}) for run in found]


def _one(given: argparse.Namespace, words: Path, recipe: str, language: str, seed: int) -> Outcome:
    config = RECIPES / "multi30k" / f"{recipe}.toml"
    decode = DecodeConfig.model_validate(tomllib.loads(config.read_text(encoding="utf-8"))["decode"])
    settings, before = _settings(given, words, words, ("en", language)), 0.0
    if recipe in WRITERS:
        text, before = diverse(given, words, recipe, language)
        settings = _settings(given, text, words, ("en", language)) | {"tokenizer.path": text / TOKENIZER}
    settings["train.seed"] = seed
    done = train(config, given.runs, f"{recipe}-{language}-{seed}", settings, processes=given.processes)
    tokenised, sacre = judge(done.path, decode, words, given.data, language)
    minutes = before + done.minutes
    print(f"{recipe} en-{language} seed {seed}: {tokenised.value:.2f} after {minutes:.0f} minutes")
    figures = (done.steps, round(minutes, 1), tokenised, sacre, curve(done, before), done.kernels)
    return Outcome(recipe, language, seed, *figures)


def diverse(given: argparse.Namespace, words: Path, recipe: str, language: str) -> tuple[Path, float]:
    """The text of a recipe, and the minutes of the models that wrote parts of it."""
    models = {
        way: [_writer(given, words, language, way, *one) for one in writers]
        for way, writers in WRITERS[recipe].items()
    }
    folder = (given.runs / f"text-{recipe}-{language}").absolute()
    if not (folder / TOKENIZER).exists():  # which comes last
        ways = [str(word) for way in models for word in (f"--{way}", *(one.path for one in models[way]))]
        script = RECIPES / "multi30k" / "diversify.py"
        subprocess.run([sys.executable, script, words, language, folder, *ways], check=True)
        shutil.copyfile(models["forward"][0].path / TOKENIZER, folder / TOKENIZER)
    return folder, sum(one.minutes for way in models for one in models[way])


def _writer(
    given: argparse.Namespace, words: Path, language: str, way: str, seed: int, updates: int | None
) -> Trained:
    pair = ("en", language) if way == "forward" else (language, "en")
    settings = _settings(given, words, words, pair) | {"train.seed": seed}
    name = f"glassformer-{language}-{seed}"  # which the recipe trains anyway
    if updates is not None:
        settings["train.steps"] = updates
        name = f"{way}-{language}-{seed}-{updates}"
    config = RECIPES / "multi30k" / "glassformer.toml"
    return train(config, given.runs, name, settings, processes=given.processes)


def _settings(
    given: argparse.Namespace, text: Path, words: Path, languages: tuple[str, str]
) -> dict[str, object]:
    """What a recipe is told of its data: ``text`` to train on, ``words`` to validate on."""
    source, target = languages
    return {
        "data.train.src": text / f"train.{source}",
        "data.train.tgt": text / f"train.{target}",
        "data.valid.src": words / f"val.{source}",
        "data.valid.tgt": words / f"val.{target}",
        "data.langs": f'["{source}","{target}"]',
        "train.accumulate": MICRO_BATCHES // given.processes,
    }


if __name__ == "__main__":
    main()
