"""Imported encoder-decoders are trained on in the frame that they know: source, start, forced tokens, end."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from typer.testing import CliRunner

from glassformer.checkpoint import load_model
from glassformer.cli.app import app
from glassformer.config import DataConfig, TrainConfig
from glassformer.data import Batches, StoreOptions, build_store
from glassformer.data.batch import NO_LABEL, Batch
from glassformer.decoding import Translator
from glassformer.decoding.framing import Wishes
from glassformer.errors import CheckpointError
from glassformer.interop import import_hugging_face
from glassformer.nn import EncoderDecoder, padding_mask
from glassformer.text import Pairs
from glassformer.text.imported import ImportedTokenizer
from glassformer.training.events import read_metrics
from tests.support.foreign_tokenizers import bart, marian, mbart, t5
from tests.support.hostile import edit

pytest.importorskip("transformers", reason="the originals are written by transformers")
pytest.importorskip("sentencepiece", reason="it trains their vocabularies")

Maker = Callable[[Path], Any]
PAIRS = [("low lower lowest", "new newer"), ("wide", "wider widest low"), ("newest new low", "lower")]


def imported(make: Maker, folder: Path) -> tuple[Path, Any]:
    """An imported model, and the tokenizer of the original."""
    (folder / "theirs").mkdir()
    theirs = make(folder / "theirs")
    import_hugging_face(folder / "theirs").save(folder / "ours")
    return folder / "ours", theirs


def first_batch(folder: Path, tokenizer: ImportedTokenizer) -> Batch:
    data, languages = DataConfig.model_validate({"train": {"pairs": "x.tsv"}}), tokenizer.languages
    options = StoreOptions(language=languages[0] if languages else None)
    store = build_store(folder / "store", Pairs.from_list(PAIRS), tokenizer, data, options)
    return Batches(store, tokenizer, TrainConfig(), shuffle=False).batch(0)


def rows(ids: torch.Tensor, padding: int) -> list[list[int]]:
    return sorted([token for token in row if token != padding] for row in ids.tolist())


@pytest.mark.parametrize("make", [bart, t5], ids=lambda make: make.__name__)
@torch.no_grad()
def test_the_loss_is_that_of_the_original(make: Maker, tmp_path: Path) -> None:
    """Sources, decoder inputs and labels are those that transformers makes of the same texts."""
    transformers: Any = import_module("transformers")
    directory, theirs = imported(make, tmp_path)
    found = load_model(directory)
    assert isinstance(found.model, EncoderDecoder) and isinstance(found.tokenizer, ImportedTokenizer)
    batch = first_batch(tmp_path, found.tokenizer)
    sources = [theirs(source)["input_ids"] for source, _ in PAIRS]
    labels = [theirs(text_target=target)["input_ids"] for _, target in PAIRS]

    assert rows(batch.labels, NO_LABEL) == sorted(labels)
    lengths = batch.source_lengths.tolist()
    shown = [row[:n] for row, n in zip(batch.source.tolist(), lengths, strict=True)]
    assert sorted(shown) == sorted(sources)

    original = transformers.AutoModelForSeq2SeqLM.from_pretrained(str(tmp_path / "theirs")).eval()
    mask = padding_mask(batch.source_lengths, batch.source.size(1))
    expected = original(
        input_ids=batch.source,
        attention_mask=mask[:, 0, 0].long(),
        labels=batch.labels.masked_fill(batch.labels == NO_LABEL, -100),
    ).loss
    logits = found.model(batch.source, batch.target, mask)
    ours = F.cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), ignore_index=NO_LABEL)
    assert float(ours) == pytest.approx(float(expected), abs=1e-4)


def test_mbart_is_told_both_languages(tmp_path: Path) -> None:
    """The source language stands behind the source, the target language starts the decoder."""
    directory, theirs = imported(mbart, tmp_path)
    tokenizer = load_model(directory).tokenizer
    assert isinstance(tokenizer, ImportedTokenizer)
    batch = first_batch(tmp_path, tokenizer)
    target_language = tokenizer.raw_pieces.index("ro_RO")
    lengths = batch.source_lengths.tolist()
    shown = [row[:n] for row, n in zip(batch.source.tolist(), lengths, strict=True)]

    assert sorted(shown) == sorted(theirs(source)["input_ids"] for source, _ in PAIRS)
    assert batch.target[:, 0].tolist() == [target_language] * len(PAIRS)
    expected = [[*tokenizer.encode_target([target])[0], tokenizer.eos_id] for _, target in PAIRS]
    assert rows(batch.labels, NO_LABEL) == sorted(expected)


def test_mbart_50_has_its_languages_in_front(tmp_path: Path) -> None:
    mbart(tmp_path)
    edit("config.json", decoder_start_token_id=2)(tmp_path)
    languages = {"src_lang": "fr_XX", "tgt_lang": "ro_RO", "tokenizer_class": "MBart50Tokenizer"}
    edit("tokenizer_config.json", **languages)(tmp_path)
    tokenizer = import_hugging_face(tmp_path).tokenizer
    french, romanian = (tokenizer.raw_pieces.index(name) for name in ("fr_XX", "ro_RO"))

    assert (tokenizer.source_before, tokenizer.source_after) == ((french,), (tokenizer.eos_id,))
    assert (tokenizer.bos_id, tokenizer.target_before) == (tokenizer.eos_id, (romanian,))
    edit("tokenizer_config.json", tgt_lang=None)(tmp_path)
    with pytest.raises(CheckpointError, match=r"tokenizer_config\.json names no tgt_lang"):
        import_hugging_face(tmp_path)


@pytest.mark.parametrize("make", [bart, mbart, t5, marian], ids=lambda make: make.__name__)
def test_a_few_updates_lower_the_loss(make: Maker, tmp_path: Path) -> None:
    """Through the command; what is trained is then asked in the same frame."""
    directory, _ = imported(make, tmp_path)
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS * 8), encoding="utf-8")
    arguments = ["train", "--init-from", str(directory), "--data", str(tmp_path / "pairs.tsv")]
    arguments += ["--runs", str(tmp_path / "runs"), "--name", "tuned", "--steps", "12"]
    settings = {
        "train.learning_rate": 0.01,
        "train.warmup_steps": 1,
        "train.schedule": "constant",
        "train.log_every": 1,
        "data.max_length": 30,
        "data.langs": ["en", "fra"] if make is marian else ["en", "fr"],
    }
    for key, value in settings.items():
        shown = str(value).replace("'", '"')
        arguments += ["--set", f"{key}={shown}"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    run = tmp_path / "runs" / "tuned-01"
    losses = [float(line["loss"]) for line in read_metrics(run / "metrics.jsonl") if line["split"] == "train"]

    assert losses[-1] < losses[0]
    translator = Translator.from_pretrained(run, engine="pytorch")
    tokenizer = translator.tokenizer
    assert isinstance(tokenizer, ImportedTokenizer)
    cut = translator.framing.cut(["low"], Wishes(), split=False)
    (query,) = translator.framing.queries(cut, Wishes()).values()
    (found,) = translator.translate(["low"], beam=2)
    ids = [token.id for token in found.tokens]
    assert query.ids[len(query.ids) - len(tokenizer.source_after) :] == tokenizer.source_after
    assert tuple(ids[: len(tokenizer.target_before)]) == tokenizer.target_before
    assert not set(ids[len(tokenizer.target_before) : -1]) & set(tokenizer.control_ids)
