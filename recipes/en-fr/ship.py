"""Make the shipped model of a trained run: numbers as int8, judged as stored, with a card.

python recipes/en-fr/ship.py runs/en-fr-01 recipes/en-fr/data src/glassformer/pretrained/en-fr

A fourth argument says in words how it was trained, where the run's settings do not say all of it.
"""

import sys
import tempfile
from pathlib import Path

from glassformer.checkpoint import save_model
from glassformer.config import RunConfig, load
from glassformer.decoding import Translator
from glassformer.evaluation import Evaluation, evaluate
from glassformer.nn import parameter_count
from glassformer.text.lines import read_lines
from glassformer.workflow.card import describe
from glassformer.workflow.companions import Companions
from glassformer.workflow.preparation import prepare


def main(run: Path, data: Path, out: Path, training: str = "") -> None:
    """Judge the model as it will be loaded, then write it."""
    trained = Translator.from_pretrained(run)
    model = trained.models[0]
    settings = load(RunConfig, run / "config.toml")
    extras = Companions(prepare(settings, run.parent, tokenizer=trained.tokenizer)).beside(model)
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "model"
        save_model(stored, model, trained.tokenizer, card="", storage="int8", extras=extras)
        found = judge(Translator.from_pretrained(stored), data)
    figures = f"{describe(model.config)}, {parameter_count(model):,} parameters"
    told = card(figures, settings, found, training or updates(settings))
    save_model(out, model, trained.tokenizer, card=told, storage="int8", extras=extras, replace=True)
    print(f"{out}: BLEU {found.scores.bleu.value:.1f}, {size(out) / 1e6:.1f} MB")


def judge(translator: Translator, data: Path) -> Evaluation:
    """Scores on the held-out slice with all its references; a blank line is no reference."""
    sources = list(read_lines(data / "test.en"))
    columns = [list(read_lines(path)) for path in sorted(data.glob("test.fr.*"))]
    references = [[line for line in row if line] for row in zip(*columns, strict=True)]
    return evaluate(translator, sources, references)


def size(directory: Path) -> int:
    """Bytes of all files."""
    return sum(path.stat().st_size for path in directory.iterdir())


def _in_a_cell(text: str) -> str:
    return text.replace("|", "\\|")


def updates(settings: RunConfig) -> str:
    """How a model was trained, from the settings of its run."""
    return f"{settings.train.steps:,} updates, seed {settings.train.seed}"


def card(figures: str, settings: RunConfig, found: Evaluation, training: str) -> str:
    """The README.md of the model."""
    scores, train = found.scores, settings.train
    rows = [
        f"| {name} | {score.value:.1f} | `{_in_a_cell(score.signature)}` |"
        for name, score in (("BLEU", scores.bleu), ("chrF", scores.chrf), ("TER", scores.ter))
    ]
    buckets = [f"| {each.words} | {each.sentences:,} | {each.bleu:.1f} |" for each in found.buckets]
    return "\n".join(
        [
            "# English → French, for short everyday sentences",
            "",
            f"{figures}, stored as int8 with one scale per row.",
            f"Trained with `recipes/en-fr` of Glassformer ({train.optimizer}, {train.batch_tokens:,} tokens "
            f"an update): {training}.",
            "",
            "## Data and licence",
            "",
            "- Sentence pairs of the Tatoeba Project as paired by www.manythings.org/anki: **CC BY 2.0**, "
            "attribution: www.manythings.org/anki and tatoeba.org.",
            "- 30,000 pairs of Glassformer's phrasebook, and introductions and sentences with numbers that "
            "`recipes/en-fr` writes: Apache-2.0.",
            "- The weights may be used under CC BY 2.0 with the attribution above.",
            "",
            "## Scores",
            "",
            f"{scores.sentences:,} English sentences of Tatoeba that were not trained on, with all their "
            f"references; beam {settings.decode.beam}, weights as stored.",
            "",
            "| | | signature |",
            "|---|---|---|",
            *rows,
            "",
            "| words of the source | sentences | BLEU |",
            "|---|---|---|",
            *buckets,
            "",
            "## Limits",
            "",
            "- It has seen short everyday sentences (six words on average) and knows their words. "
            "Long, technical, historical or literary text comes out badly, rare names may be misspelt.",
            "- English leaves open what French must say (tu or vous, genders, tenses): it picks one.",
            "- Its sentences were written by volunteers and hold their habits and prejudices.",
            "",
        ]
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), *sys.argv[4:])
