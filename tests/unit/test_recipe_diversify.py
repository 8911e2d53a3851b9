"""Several corpora of one: what people wrote stays beside what models wrote, line by line."""

from pathlib import Path

from glassformer.text.lines import read_lines
from tests.support.recipes import recipe_module
from tests.support.trained import french, trained


def test_every_model_adds_the_whole_text(tmp_path: Path) -> None:
    sources = ["small red cat", "old house", "new road"]
    targets = ["red cat", "", "house"]  # nothing that the model would have written
    for language, lines in (("en", sources), ("fr", targets)):
        (tmp_path / f"train.{language}").write_text("".join(f"{line}\n" for line in lines))
    model, out = trained("translator"), tmp_path / "out"
    diversify = recipe_module("multi30k", "diversify").diversify
    diversify(tmp_path, "fr", out, forward=[model, model], backward=[model])
    english, other = (list(read_lines(out / f"train.{side}")) for side in ("en", "fr"))

    assert english == [*sources, *map(french, targets), *sources, *sources]
    assert other == [*targets, *targets, *map(french, sources), *map(french, sources)]
