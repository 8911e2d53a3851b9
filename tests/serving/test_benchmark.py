"""The load benchmark measures what it says."""

from pathlib import Path

import pytest

from benchmarks.serve_load import main, read_sentences
from tests.serving.running import COPY


@pytest.mark.slow
def test_it_writes_a_table(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("".join(f"word{i}\n" for i in range(24)), encoding="utf-8")
    arguments = [str(COPY), "--source", str(tmp_path / "words"), "--clients", "1", "4", "4x3", "--beam", "1"]
    main([*arguments, "--out", str(tmp_path / "out")])
    rows = (tmp_path / "out" / "table.md").read_text(encoding="utf-8").split("\n")

    assert [row.split("|")[1].strip() for row in rows[2:5]] == ["1", "4", "4, 3 sentences a request"]
    assert '"failed": 0' in (tmp_path / "out" / "results.json").read_text(encoding="utf-8")


def test_sentences_without_a_file() -> None:
    assert len(set(read_sentences(None, 20))) == 20
