"""tokenizer.json: everything is in it, nothing else is accepted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tokenizers import Tokenizer as LibraryTokenizer

from glassformer.config import TokenizerConfig
from glassformer.errors import CheckpointError
from glassformer.text import Pairs, Tokenizer, tokenizer_file
from glassformer.text.vocabulary import Kind
from tests.unit.text.trained import CORPUS, KINDS, texts, tokenizer

every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@every_kind
@pytest.mark.parametrize("lowercase", [False, True])
def test_what_is_saved_is_loaded(kind: Kind, lowercase: bool) -> None:  # T7
    trained = tokenizer(kind, lowercase=lowercase)
    trained.save("tokenizer.json")
    loaded = Tokenizer.load("tokenizer.json")
    loaded.save("again.json")

    assert loaded.vocabulary == trained.vocabulary
    assert loaded.joint
    assert loaded.languages == ("fr", "de")
    assert loaded.encode_batch(CORPUS) == trained.encode_batch(CORPUS)
    assert loaded.fingerprint == trained.fingerprint
    assert Tokenizer.from_json(trained.to_json()).vocabulary == trained.vocabulary
    assert Path("tokenizer.json").read_bytes() == Path("again.json").read_bytes()
    assert sorted(path.name for path in Path().iterdir()) == ["again.json", "tokenizer.json"]


def test_two_vocabularies_are_one_file() -> None:
    pairs = Pairs.from_list([("the cat sat", "le chat s'assit"), ("a dog", "un chien")] * 9)
    trained = Tokenizer.train(pairs, TokenizerConfig(vocab_size=260, joint=False))
    trained.save("tokenizer.json")
    loaded = Tokenizer.load("tokenizer.json")

    assert not loaded.joint
    assert loaded.vocabulary == trained.vocabulary
    assert loaded.source.vocabulary == trained.source.vocabulary
    assert loaded.to_json() == Tokenizer.from_json(trained.to_json()).to_json() == trained.to_json()


@every_kind
@settings(deadline=None, max_examples=80)
@given(text=texts())
def test_the_file_works_in_the_library_alone(kind: Kind, text: str) -> None:
    trained = tokenizer(kind)
    library = LibraryTokenizer.from_str(trained.to_json())
    library.encode_special_tokens = True
    ids = library.encode(text, add_special_tokens=False).ids

    if trained.unk_id not in ids:  # only word pieces give up a word
        assert ids == trained.encode(text)
        assert library.decode(ids) == trained.decode(ids)
    else:
        assert kind == "wordpiece"


def break_by(change: Callable[[dict[str, Any]], None]) -> None:
    table = json.loads(tokenizer("bpe").to_json())
    change(table)
    Path("tokenizer.json").write_text(json.dumps(table), encoding="utf-8")


def rename(old: str, new: str) -> Callable[[dict[str, Any]], None]:
    def change(table: dict[str, Any]) -> None:
        table["model"]["vocab"][new] = table["model"]["vocab"].pop(old)

    return change


CHANGED = (
    "tokenizer.json: this file was changed, or written by another program; load the one that training wrote"
)
FOREIGN = "tokenizer.json: glassformer did not write this tokenizer; 'glassformer import' may read it"
BEGIN = "tokenizer.json: this vocabulary is damaged (it does not begin with the special tokens and the bytes)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("model"), FOREIGN),
        (lambda t: t.update(model=[]), FOREIGN),
        (lambda t: t.update(normalizer=None), FOREIGN),
        (lambda t: t["pre_tokenizer"]["pretokenizers"][1]["pattern"].update(Regex="(a+)+$"), FOREIGN),
        (lambda t: t["model"].update(type="WordLevel"), FOREIGN),
        (lambda t: t["model"].update(dropout=0.5), CHANGED),
        (lambda t: t.update(truncation={"max_length": 4}), CHANGED),
        (lambda t: t["added_tokens"][0].update(id=900), CHANGED),
        (lambda t: t["model"]["vocab"].update({"new": 999}), CHANGED),
        (lambda t: t["model"]["vocab"].update({"new": 300}), CHANGED),
        (rename("<pad>", "<PAD>"), BEGIN),
        (rename("<0xE2>", "<0xe2>"), BEGIN),
        (lambda t: t["added_tokens"].pop(), BEGIN),
        (
            lambda t: t["model"]["vocab"].update({"": 999}),
            "tokenizer.json: this vocabulary is damaged (a piece is empty or stands there twice)",
        ),
    ],
)
def test_a_changed_file_is_refused(change: Callable[[dict[str, Any]], None], message: str) -> None:
    break_by(change)

    with pytest.raises(CheckpointError) as error:
        Tokenizer.load("tokenizer.json")

    assert str(error.value) == message


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t["model"]["vocab"].update({"x": "7"}),
        lambda t: t["model"].update(vocab=5),
        lambda t: t["model"].update(merges=[["a"]]),
        lambda t: t["model"].update(merges=[["no such", "piece"]]),
        lambda t: t["model"]["vocab"].update({"\ud800": 999}),
        lambda t: t.update(added_tokens=None),
    ],
)
def test_a_damaged_file_is_refused(change: Callable[[dict[str, Any]], None]) -> None:
    break_by(change)

    with pytest.raises(
        CheckpointError, match=r"^tokenizer\.json: this (vocabulary is damaged|file was changed)"
    ):
        Tokenizer.load("tokenizer.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "this is not the JSON of a tokenizer (Expecting value: line 1 column 1 (char 0))"),
        (b"[]", "this is not the JSON of a tokenizer (no object)"),
        (b"{}", "glassformer did not write this tokenizer; 'glassformer import' may read it"),
        (b'{"a": 1, "a": 2}', 'this is not the JSON of a tokenizer ("a" stands there twice)'),
    ],
)
def test_what_is_no_tokenizer_is_refused(content: bytes, message: str) -> None:
    Path("tokenizer.json").write_bytes(content)

    with pytest.raises(CheckpointError) as error:
        Tokenizer.load("tokenizer.json")

    assert str(error.value) == f"tokenizer.json: {message}"


def test_bombs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("deep.json").write_bytes(b"[" * 1_000_000)
    Path("large.json").write_bytes(b" " * 101)

    with pytest.raises(CheckpointError, match=r"^deep\.json: this is not the JSON of a tokenizer \("):
        Tokenizer.load("deep.json")
    monkeypatch.setattr(tokenizer_file, "MAX_BYTES", 100)
    with pytest.raises(
        CheckpointError, match=r"^large\.json: a tokenizer of more than 100 bytes is refused$"
    ):
        Tokenizer.load("large.json")


def test_files_that_cannot_be_had() -> None:
    Path("folder").mkdir()

    with pytest.raises(CheckpointError, match=r"^missing\.json: there is no such file$"):
        Tokenizer.load("missing.json")
    with pytest.raises(CheckpointError, match=r"^folder: Is a directory$"):
        Tokenizer.load("folder")
    with pytest.raises(CheckpointError, match=r"^nowhere/t\.json: No such file or directory$"):
        tokenizer("char").save("nowhere/t.json")


def test_a_failed_save_leaves_the_old_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("tokenizer.json").write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(CheckpointError, match=r"^tokenizer\.json: No space left on device$"):
        tokenizer("char").save("tokenizer.json")

    assert [path.read_text() for path in Path().iterdir()] == ["old"]
