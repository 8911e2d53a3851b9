"""Three corpora of one: what people wrote stays beside what models wrote, line by line."""

from pathlib import Path

from glassformer.text.lines import read_lines
from tests.support.recipes import recipe_module
from tests.support.trained import french, trained


def test_every_pair_is_there_three_times(tmp_path: Path) -> None:
    sources = ["small red cat", "old house", "new road"]
    targets = ["red cat", "", "house"]  # nothing that the model would have written
    for language, lines in (("en", sources), ("fr", targets)):
        (tmp_path / f"train.{language}").write_text("".join(f"{line}\n" for line in lines))
    model = trained("translator")
    recipe_module("multi30k", "diversify").main(tmp_path, "fr", model, model, tmp_path / "out")
    english, other = (list(read_lines(tmp_path / "out" / f"train.{side}")) for side in ("en", "fr"))

    assert english == [*sources, *map(french, targets), *sources]
    assert other == [*targets, *targets, *map(french, sources)]
