"""Shards are done once, kept in order, and never mixed with those of another job."""

from pathlib import Path

import pytest

from glassformer.bulk.shards import Shards
from glassformer.errors import DataError


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.en"
    path.write_text("".join(f"line {i}\n" for i in range(25)), encoding="utf-8")
    return path


def shards(corpus: Path, size: int = 10) -> Shards:
    return Shards(corpus, corpus.with_name("corpus.fr"), size)


def test_what_is_missing_is_done_in_any_order_and_put_in_order(corpus: Path) -> None:
    job = shards(corpus)
    assert job.begin({"beam": 4}) == 0
    parts = dict(job.missing())
    assert {number: len(lines) for number, lines in parts.items()} == {0: 10, 1: 10, 2: 5}
    for number in (2, 0):
        job.keep(number, [line.upper() for line in parts[number]])

    again = shards(corpus)  # another process
    assert again.begin({"beam": 4}) == 2
    ((number, lines),) = again.missing()
    again.keep(number, [line.upper() for line in lines])

    assert again.finish() == 25
    assert again.output.read_text(encoding="utf-8") == "".join(f"LINE {i}\n" for i in range(25))
    assert not again.folder.exists()


@pytest.mark.parametrize("change", ["options", "size", "corpus"])
def test_shards_of_another_job_are_refused(corpus: Path, change: str) -> None:
    shards(corpus).begin({"options": {}})
    if change == "corpus":
        corpus.write_text("other\n", encoding="utf-8")
    other = shards(corpus, 5 if change == "size" else 10)

    with pytest.raises(DataError, match=f"differs in {'source' if change == 'corpus' else change}"):
        other.begin({"options": {"beam": 2} if change == "options" else {}})


def test_a_line_stays_one_line(corpus: Path) -> None:
    job = shards(corpus, 25)
    job.begin({})
    job.keep(0, ["two\nlines"] * 25)

    assert job.finish() == 25


def test_a_shard_that_lost_a_line_is_noticed(corpus: Path) -> None:
    job = shards(corpus, 25)
    job.begin({})
    job.keep(0, ["x"] * 24)

    with pytest.raises(DataError, match="holds 24 lines for the 25"):
        job.finish()
    assert not job.output.exists()
