"""Model directories that mean harm are refused in words, soon, without running or reading anything else."""

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from glassformer.errors import GlassformerError
from glassformer.interop import import_hugging_face
from tests.support.foreign_tokenizers import bert_fast, marian
from tests.support.hostile import CASES, Hostile

pytest.importorskip("transformers", reason="the sound directories are written by transformers")
pytest.importorskip("sentencepiece", reason="it trains their vocabularies")


class Watch:
    """What Python itself reports: files opened, code run."""

    RUNS = (
        "os.system",
        "os.exec",
        "os.posix_spawn",
        "subprocess.Popen",
        "pickle.find_class",
        "ctypes.dlopen",
    )

    def __init__(self) -> None:
        self.on = False
        self.opened: list[str] = []
        self.ran: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.on:
            return
        if event == "open" and isinstance(arguments[0], str | bytes | Path):
            self.opened.append(str(arguments[0]))
        elif event in self.RUNS:
            self.ran.append(event)


pytestmark = pytest.mark.forked  # what watches a process can never be taken away from it again


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound directory of each kind."""
    folder = tmp_path_factory.mktemp("sound")
    for make, name in ((marian, "marian"), (bert_fast, "bert")):
        (folder / name).mkdir()
        make(folder / name)
        import_hugging_face(folder / name)  # loads every module that will be needed, too
    return folder


@pytest.fixture(scope="module")
def watching() -> Watch:
    return Watch()


@pytest.fixture
def watch(watching: Watch) -> Iterator[Watch]:
    watching.opened, watching.ran = [], []
    yield watching
    watching.on = False


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refused(case: Hostile, sound: Path, tmp_path: Path, watch: Watch) -> None:
    for name in ("marian", "bert"):
        shutil.copytree(sound / name, tmp_path / name)
    folder = tmp_path / case.base
    case.spoil(folder)
    watch.on, start = True, time.process_time()
    with pytest.raises(GlassformerError) as caught:
        import_hugging_face(folder)
    watch.on, seconds = False, time.process_time() - start

    assert case.message in str(caught.value)
    assert str(folder) in str(caught.value) or "config.json" in str(caught.value)
    assert len(str(caught.value)) < 1_000
    assert seconds <= (5 if sys.gettrace() is None else 20)  # coverage slows Python down
    assert watch.ran == []
    outside = [path for path in watch.opened if not path.startswith(str(folder))]
    assert [path for path in outside if not path.endswith((".py", ".pyc"))] == []


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 60


def test_requests_for_code_are_told_and_not_followed(sound: Path, tmp_path: Path, watch: Watch) -> None:
    folder = tmp_path / "bert"
    shutil.copytree(sound / "bert", folder)
    text = (
        (folder / "config.json")
        .read_text()
        .replace(
            "{",
            '{"auto_map": {"AutoModel": "evil.Model"}, "model_file": "evil.py", "custom_pipelines": {},',
            1,
        )
    )
    (folder / "config.json").write_text(text)
    (folder / "evil.py").write_text("raise SystemExit")
    watch.on = True
    notes = import_hugging_face(folder).notes
    watch.on = False

    for key in ("auto_map", "custom_pipelines", "model_file"):
        assert f"{key} in config.json asks for code; it was not run" in notes
    assert watch.ran == [] and not any("evil" in path for path in watch.opened)
