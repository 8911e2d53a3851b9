"""What stands beside a trained model: how it is asked, where alignments are read, its shortlist."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from glassformer.checkpoint import load_model
from glassformer.checkpoint.files import write_directory
from glassformer.config import DataConfig, DecodeConfig
from glassformer.data import TokenStore, build_store
from glassformer.decoding import LanguageModel, Reading, Translator
from glassformer.decoding.defaults import FILE, AlignmentLayer, Defaults
from glassformer.decoding.shortlist import FILE as SHORTLIST
from glassformer.errors import CheckpointError
from glassformer.text import Pairs
from glassformer.training import RunDirectory
from glassformer.workflow import lexicon
from glassformer.workflow.averaging import average_run
from glassformer.workflow.lexicon import learn_lexicon
from tests.support.corpora import WORDS
from tests.support.trained import DICTIONARY, corpus, french, trained


@pytest.fixture
def translator() -> Translator:
    return Translator.from_pretrained(trained("translator"))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy of a model directory that may be changed."""
    return Path(shutil.copytree(trained("translator") / "model", tmp_path / "model"))


def rewritten(model: Path, name: str, content: bytes, left_out: tuple[str, ...] = ()) -> Path:
    """A model directory with another content of one file, and a manifest that vouches for it."""
    new = model.with_name("rewritten")

    def write(folder: Path) -> None:
        for path in model.iterdir():
            if path.name not in ("manifest.json", *left_out):
                (folder / path.name).write_bytes(content if path.name == name else path.read_bytes())

    write_directory(new, write)
    return new


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    folder = corpus("translator")
    pairs = Pairs.from_files(folder / "train.en", folder / "train.fr")
    tokenizer = load_model(trained("translator") / "model").tokenizer
    assert tokenizer is not None
    path = tmp_path_factory.mktemp("store") / "pairs"
    return build_store(path, pairs, tokenizer, DataConfig.model_validate({"train": {"src": "a", "tgt": "b"}}))


def test_a_model_is_asked_as_its_run_was_set(translator: Translator) -> None:
    assert (translator.decode.beam, translator.decode.max_extra) == (2, 8)
    own = DecodeConfig(beam=5)
    assert Translator.from_pretrained(trained("translator"), decode=own).decode == own
    assert LanguageModel.from_pretrained(trained("language model")).context == 24


def test_alignments_are_read_where_they_are_right(translator: Translator) -> None:
    """The corpus is translated word by word, so the right alignment is the diagonal."""
    lines = (corpus("translator") / "valid.en").read_text().splitlines()
    found = translator.translate(lines, alignment=True)
    right = [line for line, each in zip(lines, found, strict=True) if each.text == french(line)]
    diagonal = sum(
        each.alignment is not None and all(link.source == link.target for link in each.alignment.links)
        for line, each in zip(lines, found, strict=True)
        if line in right
    )
    stored = json.loads((trained("translator") / "model" / FILE).read_text())["reading"]

    assert len(right) >= 0.8 * len(lines)
    assert diagonal >= 0.85 * len(right)
    assert translator.reading == Reading(stored["layer"], stored["fed"])


def test_saving_keeps_how_a_model_is_asked(translator: Translator, tmp_path: Path) -> None:
    listed = Translator.from_pretrained(trained("translator"), shortlist=True)
    listed.reading, listed.decode = Reading(1, fed=True), DecodeConfig(beam=3)
    listed.save_pretrained(tmp_path / "saved")
    again = Translator.from_pretrained(tmp_path / "saved", shortlist=True)

    assert (again.reading, again.decode) == (Reading(1, fed=True), DecodeConfig(beam=3))
    assert again.shortlist is not None and listed.shortlist is not None
    assert again.shortlist.to_bytes() == listed.shortlist.to_bytes()
    translator.save_pretrained(tmp_path / "without")
    with pytest.raises(CheckpointError) as error:
        Translator.from_pretrained(tmp_path / "without", shortlist=True)
    assert str(error.value) == (f"{tmp_path / 'without'}: no {SHORTLIST} here; translate without a shortlist")


def test_a_model_without_companions_is_read_as_before(model: Path) -> None:
    """Models of before this file was written have none."""
    old = rewritten(model, "", b"", left_out=(FILE, SHORTLIST))
    found = Translator.from_pretrained(old)

    assert found.decode == DecodeConfig() and found.reading == Reading(0)


def test_a_damaged_companion_is_refused(model: Path) -> None:
    for name, options in ((FILE, {}), (SHORTLIST, {"shortlist": True})):
        data = (model / name).read_bytes()
        (model / name).write_bytes(data[:-2] + b" \n")
        with pytest.raises(CheckpointError, match="it is damaged"):
            Translator.from_pretrained(model, **options)  # type: ignore[arg-type]
        (model / name).write_bytes(data)


HOSTILE = {
    "a huge beam": (
        Defaults(decode=DecodeConfig(beam=10**6)),
        "beam = 1000000 is more than the 128 a model may ask for",
    ),
    "a layer that is not there": (
        Defaults(reading=AlignmentLayer(layer=7)),
        "layer = 7, but the decoder has 2 layers, counted from 0",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_model_may_not_ask_for_everything(kind: str, model: Path) -> None:
    defaults, message = HOSTILE[kind]
    hostile = rewritten(model, FILE, defaults.to_bytes())

    with pytest.raises(CheckpointError) as error:
        Translator.from_pretrained(hostile)

    assert str(error.value) == f"{hostile}/{FILE}: {message}"


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"beem": 3}', b'{"decode": {"beam": "4"}}', b'{"decode": {"beam": 0}}']
)
def test_what_does_not_say_how_to_ask_is_refused(content: bytes, model: Path) -> None:
    with pytest.raises(CheckpointError, match=FILE):
        Translator.from_pretrained(rewritten(model, FILE, content))


def test_a_shortlist_of_another_model_is_refused(model: Path) -> None:
    other = rewritten(model, SHORTLIST, b"junk")

    with pytest.raises(CheckpointError, match="no shortlist"):
        Translator.from_pretrained(other, shortlist=True)


def test_the_lexicon_finds_the_dictionary(store: TokenStore, translator: Translator) -> None:
    """Expectation maximisation must find word translations that the corpus never states."""
    found = learn_lexicon(store)
    tokenizer = translator.tokenizer
    line = " ".join(WORDS)
    source, target = (np.array(ids) for ids in tokenizer.encode_batch([line, french(line)]))
    links = found.links(source, target)
    words = (
        [tokenizer.decode([int(i)]).strip() for i in source],
        [tokenizer.decode([int(i)]).strip() for i in target],
    )
    whole = [(s, t) for s, t in links if words[0][s] in DICTIONARY and words[1][t] in DICTIONARY.values()]

    assert len(whole) >= 8  # of twelve words, most are one token on both sides
    assert all(DICTIONARY[words[0][s]] == words[1][t] for s, t in whole)


def test_a_bound_on_the_work_leaves_pairs_out_evenly(
    store: TokenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = learn_lexicon(store)
    monkeypatch.setattr(lexicon, "MEETINGS", 3000)
    monkeypatch.setattr(lexicon, "CHUNK", 500)
    part = learn_lexicon(store)

    assert 0 < len(part.keys) <= len(whole.keys)
    assert part.counts.sum() < whole.counts.sum()


def test_chunks_do_not_change_the_lexicon(store: TokenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = learn_lexicon(store)
    monkeypatch.setattr(lexicon, "CHUNK", 100)
    parts = learn_lexicon(store)

    assert np.array_equal(whole.keys, parts.keys)
    assert np.allclose(whole.counts, parts.counts, atol=1e-9)


def test_outputs_with_the_shortlist_are_those_without(translator: Translator) -> None:
    folder = corpus("translator")
    lines = [
        *(folder / "valid.en").read_text().splitlines(),
        *(folder / "train.en").read_text().splitlines()[:160],
    ]
    listed = Translator.from_pretrained(trained("translator"), shortlist=True)
    same = sum(a == b for a, b in zip(translator(lines), listed(lines), strict=True))
    shortlist = listed.shortlist
    assert shortlist is not None
    tokenizer = listed.tokenizer
    sizes = [len(shortlist.candidates(ids)) for ids in tokenizer.encode_source(lines)]
    print(f"{same} of {len(lines)} equal; {np.mean(sizes):.0f} of {tokenizer.size} tokens considered")

    assert same >= 0.99 * len(lines)


def test_an_average_has_companions_of_its_own(tmp_path: Path) -> None:
    run = RunDirectory(Path(shutil.copytree(trained("translator"), tmp_path / "runs" / "run-01")))
    average_run(run, 1, tmp_path / "mean")
    names = {path.name for path in (tmp_path / "mean").iterdir()}

    assert {FILE, SHORTLIST} <= names
    assert Translator.from_pretrained(tmp_path / "mean", shortlist=True).decode.beam == 2


def test_an_average_keeps_companions_where_the_text_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunDirectory(Path(shutil.copytree(trained("translator"), tmp_path / "runs" / "run-01")))
    config = run.settings()
    gone = config.data.train.model_copy(update={"src": str(tmp_path / "gone.en")})
    run.write_settings(config.model_copy(update={"data": config.data.model_copy(update={"train": gone})}))
    average_run(run, 1, tmp_path / "mean")
    del monkeypatch

    for name in (FILE, SHORTLIST):
        assert (tmp_path / "mean" / name).read_bytes() == (run.model / name).read_bytes()
